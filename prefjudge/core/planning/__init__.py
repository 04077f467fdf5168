"""Planning: the votes to ask for next, what they will cost, and what they will find."""
