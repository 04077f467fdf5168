"""``prefjudge import``: the step is in import_votes.py, its helpers are beside it."""
