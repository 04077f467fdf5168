"""``prefjudge site``: the step is in site.py; what its pages say, and how they are written, is beside it."""
