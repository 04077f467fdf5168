"""``prefjudge status``: the step is in status.py, the history of the answers beside it."""
