"""HITs and the work on them: offered, accepted, submitted, decided, paid."""
