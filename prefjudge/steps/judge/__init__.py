"""``prefjudge judge``: the step is in judge.py, its helpers are beside it."""
