"""Questions and answers in Mechanical Turk's XML: read, checked and written."""
