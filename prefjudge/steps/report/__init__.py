"""``prefjudge report``: the step is in report.py, its helpers are beside it."""
