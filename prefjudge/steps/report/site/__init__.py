"""The pages of ``report --site``: what they say, and how they are written."""
