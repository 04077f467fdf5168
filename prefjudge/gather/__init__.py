"""Gather: what the verbs that compute share: their inputs, their outputs, and how a result was made."""
