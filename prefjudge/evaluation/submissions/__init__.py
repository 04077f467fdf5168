"""Submissions: the entries of a leaderboard, their teams, and the audit of them."""
