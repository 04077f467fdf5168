"""Testing: intervals, significance tests and agreement of tests."""
