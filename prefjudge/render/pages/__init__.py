"""Pages: what is read in a browser."""
