from datetime import date
from pathlib import Path

import pytest

from prefjudge.errors import InputError
from prefjudge.evaluation.submissions import Rule, audit
from prefjudge.reading.leaderboards import (
    read_aliases,
    read_leaderboard,
    read_measure,
)

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
    assert (first.submission_id, first.date, first.dev, first.eval) == (
        "",
        date(2020, 9, 18),
        0.439,
        0.426,
    )
    assert (first.record, first.baseline) == (True, False)
    assert first.team == "Ada Lovelace, Mary Shelley — Somewhere"
    assert first.name == "20200918 (line 2)"
    assert (second.line, second.description, second.dev) == (3, "Two\nlines", None)
    assert (second.type, second.baseline) == ("reraking", True)


def test_the_document_layout(tmp_path: Path) -> None:
    first, second = read_leaderboard(write(tmp_path, DOCUMENT.replace("\n", "\r\n")))
    assert (first.submission_id, first.dev, first.eval) == ("20200811a", None, 0.192)
    assert first.description == "Query, likelihood"
    assert (second.dev, second.eval, second.date) == (0.294, 0.256, date(2020, 8, 20))


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
    (tmp_path / "aliases").write_bytes("\ufeff# known\r\nCafé\tThe team\r\n\r\n".encode())
    assert read_aliases(tmp_path / "aliases") == {"Café": "The team"}
    (tmp_path / "aliases").write_bytes("Café\tThe team\n".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_aliases(tmp_path / "aliases")
    with pytest.raises(InputError, match="there is no"):
        read_aliases(tmp_path / "absent")


def test_the_document_leaderboard_of_ms_marco(data_dir: Path) -> None:
    entries = read_leaderboard(data_dir / "msmarco" / "document-leaderboard.csv")
    result = audit(entries)
    assert (result.submissions, result.first, result.last) == (117, date(2020, 8, 11), date(2022, 6, 2))
    frequent = [finding for finding in result.findings if finding.rule is Rule.FREQUENCY]
    assert len({finding.team for finding in frequent}) == 8
    assert max(frequent, key=lambda finding: finding.value or 0).team == "OpenMatch - THU-MSR"
    assert result.records[-1] == "20220208-cmu"
    # Lin et al. (SIGIR 2021) count 13 runs that set a record until the end of April 2021
    assert len([name for name in result.records if name < "20210501"]) == 13
    assert result.tau == pytest.approx(0.886, abs=0.001)


def test_institutions_are_counted_as_the_paper_counts_them(data_dir: Path, tmp_path: Path) -> None:
    """Craswell et al., section 3.3: the three institutions with the most submissions had 12, 11 and 7.

    The leaderboard said so from 21 January to 9 February 2021. Its last version, which we have, names the
    teams of three submissions that were anonymous then.
    """
    path = data_dir / "msmarco" / "document-leaderboard.csv"
    entries, then = read_leaderboard(path), date(2021, 1, 29)
    now = audit(entries, until=then).institutions
    assert [(one.name, len(one.submissions)) for one in now[:3]] == [
        ("THU-MSR", 15),
        ("University of Waterloo", 11),
        ("Leonid Boytsov, Bosch Center for AI", 7),
    ]
    names = tmp_path / "names.tsv"
    hidden = ("20201110-ance-d", "20201120-ance-d-1", "20210128-ance-d-2")
    lines = ["Leonid Boytsov, Bosch Center for AI\tBosch", *(f"{name}\tAnonymous" for name in hidden)]
    names.write_text("\n".join(lines))
    found = audit(entries, until=then, aliases=read_aliases(names))
    assert [(one.name, len(one.submissions)) for one in found.institutions[:3]] == [
        ("THU-MSR", 12),
        ("University of Waterloo", 11),
        ("Bosch", 7),
    ]
    assert found.anonymous == hidden
    board = sorted((entry for entry in entries if entry.date <= then), key=lambda entry: -(entry.eval or 0))
    assert next(place for place, entry in enumerate(board, 1) if entry.baseline) == 38  # section 3.1
    assert read_measure(path) == "MRR@100"


def test_the_measure_is_read_from_the_header(tmp_path: Path) -> None:
    assert read_measure(write(tmp_path, DOCUMENT)) == "MRR@100"
    assert read_measure(write(tmp_path, PASSAGE)) == ""


def test_a_name_stands_for_one_thing(tmp_path: Path) -> None:
    """The last line won, whatever the others said."""
    (tmp_path / "aliases").write_text("a\tone\na\tone\nb\tone\na\ttwo\n")
    with pytest.raises(InputError, match="each name once") as wrong:
        read_aliases(tmp_path / "aliases")
    assert "aliases:4: 'a' is 'one' already, and not 'two'" in str(wrong.value)
