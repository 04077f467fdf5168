"""A study on disk: its config, its store and their migrations."""
