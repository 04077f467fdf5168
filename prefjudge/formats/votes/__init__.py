"""Votes that were collected elsewhere, in every form that the field keeps them in."""
