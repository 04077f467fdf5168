"""Checks of files: what is an error, what is a surprise, and what a manifest finds."""

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prefjudge.cli.app import app
from prefjudge.errors import InputError
from prefjudge.reading.manifest import ListedFile, find_listed, read_manifest
from prefjudge.show.tables import annotation
from prefjudge.steps.check import check
from tests.steps.conftest import COLLECTION

RUNS = str(COLLECTION / "runs" / "*.txt")


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_sound_files_are_told_apart_and_have_no_errors() -> None:
    result = check([RUNS, COLLECTION / "qrels.txt"], qrels=COLLECTION / "qrels.txt")
    assert result.ok
    assert [file.kind for file in result.files] == ["run"] * 6 + ["qrels"]
    assert all(file.health and not file.health.missing for file in result.files[:6])
    assert result.files[6].counts["queries"] == 15


def test_a_label_set_is_told_as_papers_tell_it(tmp_path: Path) -> None:
    sparse = write(tmp_path / "sparse", "q1 0 a 1", "q2 0 a 1", "q2 0 b 1")
    graded = write(tmp_path / "graded", "q1 0 a 0", "q1 0 b 3", "q1 0 c 3", "q2 0 a 0")
    one, other = check([sparse, graded]).files
    assert one.words.endswith("; 1.50 relevant a query, and 50.0% of the queries have one")
    assert other.words.endswith("at most, 2 of grade 0, 2 of grade 3; 1.00 relevant a query")
    deep = write(tmp_path / "deep", *(f"q1 Q0 d{n} {n} {-n} r" for n in range(1, 1002)))
    labels = write(tmp_path / "labels", "q1 0 d700 1", "q1 0 d701 2", "q2 0 d9 1")
    (run,) = check(deep, qrels=labels).files
    assert run.words.endswith("is in the first 10 of 0 and anywhere in 1, in half of these by place 700")
    assert any("up to 1,001 documents: TREC's Deep Learning track" in one for one in run.warnings)
    (none,) = check(deep, qrels=write(tmp_path / "none", "q1 0 x 1")).files
    assert none.words.endswith("is in the first 10 of 0 and anywhere in 0")


def test_a_run_that_re_ranks_holds_the_candidates_alone(tmp_path: Path) -> None:
    texts = write(tmp_path / "top.tsv", "q1\ta\twhat?\ttext", "q1\tb\twhat?\tmore text", "q2\ta\twho?\ttext")
    run = write(tmp_path / "top.run", "q1 Q0 a 1 2 r", "q1 Q0 b 2 1 r", "q2 Q0 a 1 1 r")
    other = write(tmp_path / "other", "q1 Q0 b 1 3 r", "q1 Q0 c 2 2 r", "q2 Q0 b 1 1 r", "q3 Q0 a 1 1 r")
    two = write(tmp_path / "two.tsv", "q1\ta \r", "q1\tb\r", "q2\ta\r")
    for candidates in (texts, run, two):
        good, bad = check([run, other], candidates=candidates).files
        assert (good.ok, bad.ok) == (True, False)
        assert "3 results of 3 queries are no candidates, such as 'c' of query 'q1'" in bad.errors[0]
    less = write(tmp_path / "less", "q1 Q0 b 1 3 r")
    assert (
        check(less, candidates=texts)
        .files[0]
        .warnings[-1]
        .endswith("2 of 3 candidates are in no place, of 2 queries")
    )
    with pytest.raises(InputError, match="there is no tab"):
        check([run], candidates=write(tmp_path / "odd", "q1\ta\twhat?\ttext", "q1 a"))
    (bad,) = check([run], candidates=write(tmp_path / "swapped", "a\tq1", "b\tq1")).files
    assert "Is it the right file of candidates?" in bad.hint
    with pytest.raises(InputError, match="no run is given"):
        check([write(tmp_path / "qrels", "q1 0 a 1")], candidates=texts)


def test_a_bad_file_is_a_result_with_every_problem(tmp_path: Path) -> None:
    bad = write(tmp_path / "bad.txt", "q1 Q0 d1 1 0.5 r", "q1 Q0 d2 2 abc r", "q1 Q0 d3 3 x,y r")
    result = check([bad])
    assert not result.ok
    (file,) = result.files
    assert len(file.errors) == 2
    assert all(text.startswith(f"{bad}:{line}:") for text, line in zip(file.errors, (2, 3), strict=True))
    assert "Write a score as a number" in file.hint
    shown = CliRunner().invoke(app, ["check", str(bad)])
    assert shown.exit_code == 1
    assert "Write a score as a number" in shown.stdout


def test_parquet_is_told_by_its_columns(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    tables = {
        "run": {"path": ["r"], "tag": ["r"], "query": ["q1"], "doc": ["d1"], "rank": [1], "score": [0.5]},
        "qrels": {"query-id": ["q1"], "corpus-id": ["d1"], "score": [1]},
        "texts": {"ID": ["q1"], "Text": ["what is it"]},
        "parquet": {"a": [1]},
    }
    for kind, columns in tables.items():
        pq.write_table(pa.table(columns), tmp_path / f"{kind}.parquet")
    found = {file.kind: file for file in check([tmp_path / f"{kind}.parquet" for kind in tables]).files}
    assert {kind: file.ok for kind, file in found.items()} == {kind: kind != "parquet" for kind in tables}
    assert found["run"].counts == {"runs": 1, "queries": 1}
    (file,) = check([tmp_path / "qrels.parquet"], kind="run").files
    assert "holds no runs: it has no column path" in file.errors[0]
    other = write(tmp_path / "other", "q2 0 d2 1")
    (file,) = check([tmp_path / "run.parquet"], qrels=other).files
    assert "none of the 1 judged queries" in file.errors[0]


def test_surprises_are_said_in_sentences(tmp_path: Path) -> None:
    run = write(
        tmp_path / "odd.txt",
        "q1 Q0 d1 0 -1.5 odd",
        "q1 Q0 d2 1 -1.5 odd",
        "q1 Q0 d3 2 -0.5 odd",
        "q3 Q0 d1 1 1.0 odd",
        "q3 Q0 d2 2 1.0 odd",
    )
    queries = write(tmp_path / "queries.tsv", "q1\tone", "q2\ttwo")
    (file,) = check([run], queries=queries, cutoff=1).files
    one = write(tmp_path / "one.txt", "q1 0 d1 1")
    assert check([one]).files[0].words.startswith("1 query, 1 document, 1 label, 1 relevant, 1 query with ")
    said = "\n".join(file.warnings)
    for words in (
        "1 query (q2) of those expected is missing",
        "1 query (q3) is beyond those expected",
        "1 query has a tie at the first place",
        "ranks that contradict the scores",
        "numbered from 0",
        "3 scores are negative",
        "queries hold 2 to 3 documents",
    ):
        assert words in said, said
    assert file.ok


def test_qrels_and_judgments_have_surprises_too(tmp_path: Path) -> None:
    qrels = write(tmp_path / "qrels.txt", "q1 0 d1 0", "q2 0 d1 0.5", "q3 0 d2 1", "q3 0 d1 -1")
    (file,) = check([qrels]).files
    said = "\n".join(file.warnings)
    assert "2 queries (q1, q2) have no relevant document" in said
    assert "1 grades are negative" in said
    assert "fractions" in said
    votes = write(tmp_path / "votes.txt", "q1 d1 d2 d1", "q1 d1 d2 d3")
    assert not check([votes], kind="judgments").ok


def test_three_columns_of_small_numbers_may_be_grades(tmp_path: Path) -> None:
    grades = write(tmp_path / "qrels.tsv", "q1\td1\t1", "q2\td2\t0")
    alike = write(tmp_path / "alike.tsv", "q1\td1\t1", "q2\td2\t1")
    ranks = write(tmp_path / "run.tsv", *(f"q1\td{rank}\t{rank}" for rank in range(1, 9)))
    first, second, third = check([grades, alike, ranks]).files
    assert [file.kind for file in (first, second, third)] == ["qrels", "qrels", "run"]
    assert first.counts["queries"] == 2
    assert any("add --kind run" in text for text in second.warnings)
    assert not any("--kind" in text for text in (*first.warnings, *third.warnings))
    (file,) = check([grades], kind="run").files
    assert file.kind == "run"


def test_runs_that_rank_alike_are_named(tmp_path: Path) -> None:
    for name, scores in {"a": (9, 8), "b": (0.2, 0.1), "c": (1, 2)}.items():
        write(tmp_path / f"{name}.txt", f"q1 Q0 d1 1 {scores[0]} {name}", f"q1 Q0 d2 2 {scores[1]} {name}")
    result = check([str(tmp_path / "*.txt")])
    assert [[Path(path).stem for path in group] for group in result.identical] == [["a", "b"]]
    alike = replace(result, identical=(tuple(f"run{number}" for number in range(1000)),))
    assert "the same ranking: run0, run1, run2, run3, run4, … and 995 more: --details\n" in str(alike)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"files": []}, "check needs a file"),
        ({"files": [RUNS], "kind": "notes"}, "'notes' is not a kind of file"),
        ({"files": [RUNS], "manifest": "trec-dl-2020"}, "against one folder"),
        ({"files": [str(COLLECTION)], "manifest": "trec-dl-1999"}, "trec-dl-2020"),
    ],
)
def test_what_is_missing_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        check(**options)  # type: ignore[arg-type]
    assert message in str(error.value)


CONTENT = b"one\ntwo\nthree"
MD5 = hashlib.md5(CONTENT).hexdigest()


def listed(name: str, **facts: object) -> ListedFile:
    return ListedFile(**{"name": name, "size": len(CONTENT), "md5": MD5, "records": 3, "record": "", **facts})  # type: ignore[arg-type]


def test_a_listed_file_is_compared_by_size_digest_and_records(tmp_path: Path) -> None:
    (tmp_path / "good").write_bytes(CONTENT)
    assert find_listed(tmp_path, listed("good")).status == "ok"
    assert find_listed(tmp_path, listed("good", size=4096)).status == "ok"  # listed in whole blocks
    assert find_listed(tmp_path, listed("other")).status == "absent"
    wrong = find_listed(tmp_path, listed("good", size=8192, md5="0" * 32, records=4))
    assert wrong.status == "wrong"
    assert len(wrong.problems) == 3
    assert find_listed(tmp_path, listed("good", record="two", records=1)).status == "ok"


def test_a_listed_file_is_known_packed_and_unpacked(tmp_path: Path) -> None:
    (tmp_path / "packed.gz").write_bytes(gzip.compress(CONTENT))
    found = find_listed(tmp_path, listed("packed"))
    assert (found.status, found.md5, found.records) == ("ok", MD5, 3)
    (tmp_path / "plain").write_bytes(CONTENT)
    assert find_listed(tmp_path, listed("plain.gz", md5="of the packed file", size=1)).status == "ok"
    (tmp_path / "cut.gz").write_bytes(gzip.compress(CONTENT * 1000)[:-9])
    assert find_listed(tmp_path, listed("cut.gz")).status == "wrong"


def test_the_shipped_manifest_knows_a_real_file(data_dir: Path, tmp_path: Path) -> None:
    assert len(read_manifest("trec-dl-2020")) == 29
    packed = (data_dir / "msmarco" / "qrels.dl19-passage.txt.gz").read_bytes()
    (tmp_path / "2019qrels-pass.txt").write_bytes(gzip.decompress(packed))
    result = check([tmp_path], manifest="trec-dl-2020")
    assert result.ok
    assert [found.name for found in result.manifest if found.status == "ok"] == ["2019qrels-pass.txt"]
    (tmp_path / "2019qrels-pass.txt").write_bytes(gzip.decompress(packed)[:-20])
    assert not check([tmp_path], manifest="trec-dl-2020").ok


def test_annotations_stand_beside_the_line() -> None:
    assert annotation("error", "runs/a.txt", "runs/a.txt:3:7: not a score: 'x%'") == (
        "::error file=runs/a.txt,line=3,col=7::not a score: 'x%25'"
    )
    assert annotation("warning", "a.txt", "a.txt: ties\nand more") == "::warning file=a.txt::ties%0Aand more"


def test_bytes_that_are_not_utf8_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(b"q1 Q0 d\xe9 1 2 t\n")
    (tmp_path / "qrels").write_bytes(b"q1 0 d\xe9 1\n")
    run, qrels = check([tmp_path / "run", tmp_path / "qrels"]).files
    assert run.ok
    assert qrels.ok
    assert any("some bytes are not UTF-8" in text for text in run.warnings)
    assert any("some ids are not UTF-8" in text for text in qrels.warnings)
    (tmp_path / "run").write_text("q1 Q0 d\u00e9 1 2 t\n")
    assert not any("UTF-8" in text for text in check([tmp_path / "run"]).files[0].warnings)
