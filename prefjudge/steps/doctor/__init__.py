"""``prefjudge doctor``: the step is in doctor.py, its helpers are beside it."""
