"""Text: tables and words for terminals, files and LaTeX."""
