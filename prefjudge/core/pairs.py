"""Pairs: unordered comparisons to be judged, ``doc_a < doc_b``."""
