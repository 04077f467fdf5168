"""Texts: queries and collections, in every form that the field keeps them in."""
