"""``prefjudge resolve``: the step is in resolve.py, its helpers are beside it."""
