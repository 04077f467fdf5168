"""The command line: one file for each verb, which prints what its step returns."""
