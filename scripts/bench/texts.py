"""Texts: the passages of a pool out of a large collection."""

from __future__ import annotations

from collections.abc import Iterable

import inputs
from harness import Contest, Lab, shell

TITLE = "texts: passages out of a sorted collection"

OURS = """
import sys
from prefjudge.reading.texts.collections import read_texts
with open(sys.argv[2]) as file:
    read_texts(sys.argv[1], file.read().split())
"""
SCAN = """
import sys
with open(sys.argv[2]) as file:
    wanted = {name.encode() for name in file.read().split()}
with open(sys.argv[1], "rb") as file:
    found = {name: text for name, _, text in (line.partition(b"\\t") for line in file) if name in wanted}
"""


def contests(lab: Lab) -> Iterable[Contest]:
    """Yield the contest."""
    docs, count = (2000, 50) if lab.short else (inputs.DOCS, 3000)
    path = inputs.collection(lab.folder, docs)
    ids = lab.folder / f"ids-{count}-of-{docs}.txt"
    ids.write_text("\n".join(map(str, lab.rng("texts").choice(docs, count, replace=False).tolist())))
    yield Contest(
        name=f"{count} texts out of {docs} lines",
        ours=lab.ours(OURS, path, ids),
        rivals={"wc -l": shell(["wc", "-l", path]), "a scan with a set": lab.ours(SCAN, path, ids)},
        goals={"wc -l": "<= 0.5", "a scan with a set": ">= 30"},
    )
