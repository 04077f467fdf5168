"""Crowds: what a study needs of one, and a module for each."""
