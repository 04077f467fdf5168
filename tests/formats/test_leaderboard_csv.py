from datetime import date
from pathlib import Path

import pytest

from prefjudge.errors import InputError
from prefjudge.evaluation.audit import audit
from prefjudge.evaluation.findings import Rule
from prefjudge.formats.leaderboard_csv import read_aliases, read_leaderboard

PASSAGE = """id,,description,team,paper,code,type,date,eval,dev,tweet
,🏆,Model One,"Ada Lovelace, Mary Shelley — Somewhere",,,full ranking,2020/09/18,0.426,0.439,1
20210101-two,🏛,"Two
lines",anonymous,,,reraking,2021/1/1,0.345,,
"""
DOCUMENT = """id,date,,description,team,paper,code,type,MRR@100 (Dev),MRR@100 (Eval),tweet
20200811a,2020/08/11,🏛,"Query, likelihood",The Organisers,,,full ranking,,0.192,
20200820-x,2020/08/20,,BM25,Someone,,,full ranking,0.294,0.256,
"""


def write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "leaderboard.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_the_passage_layout(tmp_path: Path) -> None:
    first, second = read_leaderboard(write(tmp_path, PASSAGE, "utf-8-sig"))
    assert (first.submission_id, first.date, first.public, first.held_out) == (
        "",
        date(2020, 9, 18),
        0.439,
        0.426,
    )
    assert (first.record, first.baseline) == (True, False)
    assert first.team == "Ada Lovelace, Mary Shelley — Somewhere"
    assert first.name == "20200918 (line 2)"
    assert (second.line, second.description, second.public) == (3, "Two\nlines", None)
    assert (second.type, second.baseline) == ("reraking", True)


def test_the_document_layout(tmp_path: Path) -> None:
    first, second = read_leaderboard(write(tmp_path, DOCUMENT.replace("\n", "\r\n")))
    assert (first.submission_id, first.public, first.held_out) == ("20200811a", None, 0.192)
    assert first.description == "Query, likelihood"
    assert (second.public, second.held_out, second.date) == (0.294, 0.256, date(2020, 8, 20))


def test_every_problem_is_named_with_its_place(tmp_path: Path) -> None:
    text = (
        DOCUMENT
        + "x,2020/02/30,,d,t,,,full ranking,,0.1,\n"
        + "y,2020/03/01,,d,t,,,full ranking,0.1,n/a,\nz,1\n"
    )
    with pytest.raises(InputError) as refused:
        read_leaderboard(write(tmp_path, text))
    problems = " ".join(refused.value.problems)
    assert "leaderboard.csv:4:2: not a date: '2020/02/30'" in problems
    assert "leaderboard.csv:5:10: not a score: 'n/a'" in problems
    assert "leaderboard.csv:6: 2 cells for 11 columns" in problems


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("id,date,team\n", "lacks description, eval"),
        ("", "lacks date"),
        (DOCUMENT.splitlines()[0] + "\n\n", "no entries"),
    ],
)
def test_files_that_are_no_leaderboards_are_refused(tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        read_leaderboard(write(tmp_path, text))


def test_other_encodings_and_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not UTF-8"):
        read_leaderboard(write(tmp_path, PASSAGE, "utf-16"))
    with pytest.raises(InputError, match="there is no"):
        read_leaderboard(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="is a folder, not a file"):
        read_leaderboard(tmp_path)


def test_aliases_are_lines_of_a_name_and_its_team(tmp_path: Path) -> None:
    (tmp_path / "aliases").write_bytes("\ufeffCafé\tThe team\r\n\r\n".encode())
    assert read_aliases(tmp_path / "aliases") == {"Café": "The team"}
    (tmp_path / "aliases").write_bytes("Café\tThe team\n".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_aliases(tmp_path / "aliases")
    with pytest.raises(InputError, match="there is no"):
        read_aliases(tmp_path / "absent")


def test_the_document_leaderboard_of_ms_marco(data_dir: Path) -> None:
    result = audit(read_leaderboard(data_dir / "msmarco" / "document-leaderboard.csv"))
    assert (result.submissions, result.first, result.last) == (117, date(2020, 8, 11), date(2022, 6, 2))
    gaps = {finding.submissions[0] for finding in result.findings if finding.rule is Rule.GAP}
    assert gaps == {"20201110-ance-d", "20210225-djpa"}
    frequent = [finding for finding in result.findings if finding.rule is Rule.FREQUENCY]
    assert len({finding.team for finding in frequent}) == 7
    waterloo = next(finding for finding in frequent if "Jimmy Lin" in finding.team)
    assert waterloo.value == 7
    luyu = next(team for team in result.teams if "20220208-cmu" in team.submissions)
    assert len(luyu.submissions) == 6
    assert result.records[-1] == "20220208-cmu"
    # Lin et al. (SIGIR 2021) count 13 runs that set a record until the end of April 2021
    assert len([name for name in result.records if name < "20210501"]) == 13
    assert result.tau == pytest.approx(0.886, abs=0.001)
