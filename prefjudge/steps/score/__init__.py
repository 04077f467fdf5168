"""``prefjudge score``: the step is in score.py, its helpers are beside it."""
