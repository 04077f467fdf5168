"""Fieldwork: what the verbs that publish, collect and pay share."""
