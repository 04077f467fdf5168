"""``prefjudge reproduce``: the step is in reproduce.py, its helpers are beside it."""
