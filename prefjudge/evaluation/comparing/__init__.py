"""Comparing: runs by which of their top passages people prefer."""
