"""What a verb advises to do next can be done: each hint is taken and run as printed, by a shell."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from prefjudge.fieldwork.crowds import keep_marketplace_open
from prefjudge.study.answers import save_challenge
from prefjudge.study.study import Study
from tests.cli.conftest import prefjudge
from tests.steps.conftest import COLLECTION

ADVISED = re.compile(r"prefjudge [a-z]+ (?:'[^']*'|\S+)(?: --[a-z-]+(?: \d+)?)*")
FILES = {
    "--runs": COLLECTION / "runs" / "*.txt", "--qrels": COLLECTION / "qrels.txt",
    "--queries": COLLECTION / "queries.tsv", "--collection": COLLECTION / "collection.tsv",
}  # fmt: skip


def files(*options: str) -> list[str]:
    return [text for option in options for text in (option, str(FILES[option]))]


def take(said: str) -> subprocess.CompletedProcess[str]:
    """Run the first command that was advised."""
    found = ADVISED.search(said[said.rindex("next: ") :] if "next: " in said else said)
    assert found, said
    command = shlex.split(found[0])
    return subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False, env={**os.environ}
    )


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A new study whose path holds a blank."""
    folder = tmp_path / "my study"
    made = prefjudge("init", folder, "--config", "demo")
    assert made.returncode == 0, made.stderr
    return folder


def pooled(study: Path) -> str:
    return prefjudge("pool", study, *files(*FILES)).stderr


def accepted(study: Path) -> str:
    pooled(study)
    return prefjudge("gold", study, "--accept", "--file", COLLECTION / "gold.tsv").stderr


def published(study: Path) -> str:
    accepted(study)
    return prefjudge("publish", study, "--sandbox", "--yes").stderr


def worked(study: Path) -> str:
    published(study)
    return prefjudge("work", study, "--workers", 8, "--error", 0, "--truth", COLLECTION / "truth.tsv").stderr


def collected(study: Path) -> str:
    worked(study)
    return prefjudge("collect", study).stderr


def resolved(study: Path) -> str:
    collected(study)
    return prefjudge("resolve", study).stderr


def suggested(study: Path) -> str:
    pooled(study)
    return prefjudge("gold", study, "--suggest", 12).stderr


def planned(study: Path) -> str:
    accepted(study)
    return prefjudge("plan", study, "--error", 0.2).stderr


STATES: dict[str, Callable[[Path], str]] = {
    "pooled": pooled, "suggested": suggested, "accepted": accepted, "published": published, "worked": worked,
    "collected": collected, "resolved": resolved,
    "publish before gold": lambda study: (pooled(study), prefjudge("publish", study, "--sandbox").stderr)[1],
    "collect before publish": lambda study: (accepted(study), prefjudge("collect", study).stderr)[1],
    "work before publish": lambda study: (accepted(study), prefjudge("work", study).stderr)[1],
    "resolve before collect": lambda study: (worked(study), prefjudge("resolve", study).stderr)[1],
    "workers before collect": lambda study: (worked(study), prefjudge("workers", study).stderr)[1],
    "score before resolve": lambda study: (collected(study), prefjudge("score", study).stderr)[1],
}  # fmt: skip


@pytest.mark.parametrize("state", STATES)
def test_what_is_advised_works(study: Path, state: str) -> None:
    with keep_marketplace_open(Study(study)):
        said = STATES[state](study)
        done = take(said)
    asked = "it was not confirmed" in done.stderr  # publish asks on a terminal, and there is none
    assert done.returncode in (0, 3) or asked, f"{said}\n{done.args}\n{done.stderr}"
    assert "Traceback" not in done.stderr


def test_without_qrels_publish_leads_to_gold_pairs(study: Path) -> None:
    said = prefjudge("pool", study, *files("--runs", "--queries", "--collection")).stderr
    assert "next: write gold pairs" in said
    refused = prefjudge("publish", study, "--sandbox", "--yes").stderr
    assert "--suggest" not in refused
    assert "query_id, query, good_id, good, bad_id, bad" in refused
    shutil.copy(COLLECTION / "gold.tsv", study / "gold.tsv")
    assert take(refused).returncode == 0
    assert prefjudge("publish", study, "--sandbox", "--yes").returncode == 0


def test_a_pool_without_texts_says_what_it_lacks(study: Path) -> None:
    said = prefjudge("pool", study, *files("--runs", "--qrels")).stderr
    assert "warning: the study has no texts to show" in said
    assert "next: " not in said
    pooled(study)
    assert prefjudge("gold", study, "--suggest", 12).returncode == 0


def test_a_run_is_not_taken_for_a_study(tmp_path: Path) -> None:
    run = COLLECTION / "runs" / "lexical.txt"
    refused = prefjudge("score", run, cwd=tmp_path)
    assert refused.returncode == 1
    assert "is a file, not a study's folder" in refused.stderr
    assert "--runs" in refused.stderr
    assert "init" not in refused.stderr


def test_during_a_challenge_collect_leads_to_run(study: Path) -> None:
    with keep_marketplace_open(Study(study)):
        published(study)
        for _ in range(9):
            prefjudge("work", study, "--workers", 8, "--error", 0, "--truth", COLLECTION / "truth.tsv")
            if prefjudge("collect", study).returncode == 0:
                break
    with Study(study).transaction() as db:
        save_challenge(db, "lead:5", {("q1", "d1"): ["new"]}, 0.0)
    said = prefjudge("collect", study).stderr
    assert f"next: prefjudge run {shlex.quote(str(study))}" in said
