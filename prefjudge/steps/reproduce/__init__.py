"""``prefjudge reproduce``: the verb, the papers that it knows, and what makes their exhibits."""
