"""Runs: run files in chunks of whole queries, whatever columns they have."""
