"""Fieldwork: what the verbs share that spend and collect."""
