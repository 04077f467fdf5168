"""Prolific: people are recruited there, and work at the study's own marketplace."""
