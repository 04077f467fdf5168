"""``prefjudge run``: the step is in run.py, its helpers are beside it."""
