"""From bulk runs to the few rows that matter: the tops of rankings, and where judged documents stand."""
