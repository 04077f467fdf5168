"""What is told of runs: MS MARCO's JSON and ir_metadata, from strangers."""

import gzip
import json
from datetime import date
from pathlib import Path

import pytest

from prefjudge.evaluation.submissions import Submission
from prefjudge.reading.files import Notice
from prefjudge.reading.leaderboards import (
    RunMetadata,
    leaderboard_text,
    read_leaderboard,
    read_measure,
    read_run_metadata,
)

LINE = "q1 Q0 d1 1 9.5 the-tag\n"
HEADER = """\
# ir_metadata.start
# schema-version: 0.1
# tag: h2oloo.core17
# actor:
#   name: Ada Lovelace
#   team: engines
#   mail: ada@example.org
# research goal:
#   publication:
#     doi: https://doi.org/10.1007/x
# implementation:
#   source:
#     repository: https://github.com/x/y
# method:
#   automatic: NO
#   retrieval:
#   - name: bm25
#   - name: reranker
# ir_metadata.end
"""


def read(path: Path) -> tuple[RunMetadata, list[Notice]]:
    notices: list[Notice] = []
    return read_run_metadata(path, notices), notices


def test_a_header_is_read_whatever_the_file_is_packed_in(tmp_path: Path) -> None:
    (tmp_path / "run.txt.gz").write_bytes(gzip.compress((HEADER + LINE).encode()))
    found, notices = read(tmp_path / "run.txt.gz")
    assert found == RunMetadata(
        run="h2oloo.core17",
        team="engines",
        description="bm25, reranker",
        paper="https://doi.org/10.1007/x",
        code="https://github.com/x/y",
    )
    assert notices == []


def test_json_lies_beside_the_run_or_beside_its_folder(tmp_path: Path) -> None:
    told = {"team": "Ada", "model_description": "BM25", "paper": "", "code": "c", "type": "reranking"}
    own = tmp_path / "20210120-ada"
    own.mkdir()
    (own / "eval.txt").write_text(LINE)
    (tmp_path / "20210120-ada-metadata.json").write_text(json.dumps(told))
    (tmp_path / "20210120-ada.txt").write_text(HEADER + LINE)
    expected = RunMetadata(
        run="20210120-ada",
        team="Ada",
        description="BM25",
        code="c",
        type="reranking",
        submitted=date(2021, 1, 20),
    )
    for path in (own / "eval.txt", tmp_path / "20210120-ada.txt"):
        assert read(path) == (expected, [])


def test_a_run_of_which_nothing_is_told_has_the_name_in_its_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"# a comment\n\n{LINE}")
    (tmp_path / "b.tsv").write_text("q1\td1\t1\n")
    assert [read(tmp_path / name)[0] for name in ("a.txt", "b.tsv")] == [
        RunMetadata(run="the-tag"),
        RunMetadata(run="b"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[" * 50_000, "not JSON"),
        (" " * 70_000, "more than 65,536 bytes"),
        ("[]", "a JSON object"),
        (b"\xff\xfe\x00", "not UTF-8"),
        ('{"team": 7, "date": "2026-13-01", "paper": {"a": 1}, "withdrawn": ""}', ""),
    ],
)
def test_what_cannot_be_read_is_said_and_stops_nobody(text: str | bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text(LINE)
    (tmp_path / "r-metadata.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    found, notices = read(tmp_path / "r.txt")
    assert found == RunMetadata(run="r")
    assert [said in str(one) for one in notices] == ([True] if said else [])


def test_nothing_is_told_of_what_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(f"{HEADER}{LINE}")
    (tmp_path / "secret.json").write_text('{"team": "secret"}')
    (tmp_path / "a.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "b.txt").write_text(LINE)
    (tmp_path / "b-metadata.json").symlink_to(tmp_path / "secret.json")
    assert read(tmp_path / "a.txt") == (RunMetadata(run="a"), [])
    found, notices = read(tmp_path / "b.txt")
    assert found == RunMetadata(run="b")
    assert "this is a link" in str(notices[0])


@pytest.mark.parametrize(
    "yaml", ["a: [", "!!python/object/apply:os.system [x]", "- a", "[" * 500, "actor: &a [*a]\ntag: x: y"]
)
def test_hostile_yaml_is_no_metadata_and_runs_nothing(yaml: str, tmp_path: Path) -> None:
    body = "".join(f"# {line}\n" for line in yaml.splitlines())
    (tmp_path / "r.txt").write_text(f"# ir_metadata.start\n{body}# ir_metadata.end\n{LINE}")
    found, _ = read(tmp_path / "r.txt")
    assert found == RunMetadata(run="the-tag")


def test_a_leaderboard_is_written_as_it_is_read(tmp_path: Path) -> None:
    entries = [
        Submission(
            line=number,
            submission_id=f"2026010{number}-x",
            date=date(2026, 1, number),
            team='Ada, "and" Bob',
            description="BM25\nand more",
            type="full ranking",
            dev=None if number == 2 else 0.25,
            eval=0.5,
            baseline=number == 2,
            record=number == 3,
            paper="https://x.org",
            code="y",
        )
        for number in (2, 3)
    ]
    (tmp_path / "board.csv").write_text(leaderboard_text(entries, "RR@10"))
    read_back = read_leaderboard(tmp_path / "board.csv")
    assert [(one.description, one.team) for one in read_back] == [("BM25 and more", 'Ada, "and" Bob')] * 2
    same = ("submission_id", "date", "type", "dev", "eval", "baseline", "record", "paper", "code")
    assert [[getattr(one, name) for name in same] for one in read_back] == [
        [getattr(one, name) for name in same] for one in entries
    ]
    assert read_measure(tmp_path / "board.csv") == "RR@10"
