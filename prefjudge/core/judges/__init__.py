"""Judges: what they said, and how far they can be relied on."""
