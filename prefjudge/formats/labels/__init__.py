"""Labels: qrels, judgments, pools and what was resolved from them."""
