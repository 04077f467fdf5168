"""Money: amounts in whole cents, and the ledger in which they move."""
