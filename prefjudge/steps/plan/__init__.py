"""``prefjudge plan``: the step is in plan.py, its helpers are beside it."""
