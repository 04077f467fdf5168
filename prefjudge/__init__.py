"""prefjudge: from runs and sparse qrels to trusted preference qrels and re-scored leaderboards."""

__version__ = "0.1.0"
