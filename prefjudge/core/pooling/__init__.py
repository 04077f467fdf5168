"""Pooling: documents, runs, qrels, and the pools and pairs made of them."""
