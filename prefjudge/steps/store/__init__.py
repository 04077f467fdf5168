"""``prefjudge store``: the step is in store.py, its actions are beside it."""
