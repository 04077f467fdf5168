"""Steps: one for each verb, with one public function and one result record."""
