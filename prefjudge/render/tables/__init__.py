"""Tables: each result as rows and columns."""
