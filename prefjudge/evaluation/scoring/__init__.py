"""Scoring: measures, from where a run placed the judged documents."""
