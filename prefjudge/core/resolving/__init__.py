"""Resolving: from judgments to the best answers, and how sure they are."""
