"""Evaluation: what runs score, how firm that is, and how leaderboards compare; no side effects."""
