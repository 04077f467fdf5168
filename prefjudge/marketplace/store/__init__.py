"""The store of the marketplace: its schema, its transactions, and the threads on which they run."""
