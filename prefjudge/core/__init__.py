"""Core: from pools over judgments to best answers. Values in, records out; no side effects."""
