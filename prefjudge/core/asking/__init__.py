"""Asking: what is asked of people, in which HITs, at what price, by which strategy."""
