"""``prefjudge board``: the step is in board.py, its helpers are beside it."""
