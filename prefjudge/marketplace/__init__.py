"""The marketplace: a server that speaks Mechanical Turk's API, with a site for workers and an admin page."""
