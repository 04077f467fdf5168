"""``prefjudge pool``: the step is in pool.py, its helpers are beside it."""
