"""The page that goes with a release."""

from typing import Any

import pytest

from prefjudge.pages.release.cards import release_notes


@pytest.fixture
def record() -> dict[str, Any]:
    return {
        "name": "ours",
        "prefjudge": "0.1.0",
        "numbers": {"queries": 2, "answers": 2, "judgments": 1, "dropped": 0, "workers": 1},
        "rule": "schulze",
        "how": {"rule": "schulze"},
        "driven_by": None,
        "model": None,
        "version": None,
        "pool": {"depth": 1, "order": "score", "qrels": "first"},
        "design": {
            "question": "Which?",
            "pairs_per_hit": 10,
            "gold_per_hit": 3,
            "judgments_per_pair": 1,
            "allow_ties": False,
        },
        "screening": {"policy": "first-miss"},
        "reward": "2.00",
        "inputs": [],
        "notices": [],
        "files": [],
        "license": "",
        "language": "en",
        "about": {"title": "", "description": "", "authors": [], "url": "", "date": "", "keywords": []},
    }


def test_names_are_no_markup(record: dict[str, Any]) -> None:
    evil = "<script>alert(1)</script> | a\n# b"
    record |= {"name": evil, "notices": [evil], "inputs": [{"kind": "run", "name": evil, "digest": "sha"}]}
    page = release_notes(record)
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; \\| a # b") == 3


def test_the_command_that_resolves_again_names_the_rule(record: dict[str, Any]) -> None:
    assert "--rule schulze --out again.qrels" in release_notes(record)
    assert "Judgments of a pair" in release_notes(record)
    asked = release_notes(record | {"how": {"rule": "schulze", "sparse_rule": "unbeaten"}})
    assert "| Answers by | schulze, queries judged in part by unbeaten |" in asked
    kept = release_notes(
        record | {"rule": "sure:80", "driven_by": "sure:80", "version": 2, "model": "acme/m"}
    )
    assert "--rule bradley-terry --out again.qrels" in kept
    assert "The answers are version 2 of those that `prefjudge run` keeps" in kept
    assert "| Tried first, or vetoed, by | acme/m |" in kept
    assert "Judgments of a pair" not in kept
