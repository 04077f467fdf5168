"""``prefjudge workers``: the step is in workers.py, its helpers are beside it."""
