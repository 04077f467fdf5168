"""Leaderboards: runs in order, how firm the order is, and how alike two orders are."""
