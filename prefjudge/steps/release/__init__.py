"""``prefjudge release``: the step is in release.py, its helpers are beside it."""
