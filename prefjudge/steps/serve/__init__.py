"""``prefjudge serve``: the step is in serve.py, its helpers are beside it."""
