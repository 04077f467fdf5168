"""``prefjudge stability``: the step is in stability.py, its helpers are beside it."""
