"""Gather: what the verbs share that compute: their inputs, their outputs, and how a result was made."""
