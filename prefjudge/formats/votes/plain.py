"""Votes in a table of any make: its columns are known by their names, or by ``--map``."""

from prefjudge.formats.votes.form import VoteForm

# doc_a and doc_b are how documents are stored: only "left" says where one was shown
FORM = VoteForm(
    fits=lambda rows: True, sides=lambda parts: "left" in parts.get("left", parts.get("left_text", ""))
)
