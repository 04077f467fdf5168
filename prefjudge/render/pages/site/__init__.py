"""The pages of a living leaderboard: what a page holds, where it lies, how it looks, and the feeds."""
