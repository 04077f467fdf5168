"""Release."""
