"""``prefjudge recover``: the step is in recover.py, its helpers are beside it."""
