"""No verb writes over what it reads, by whatever name, nor do the files that go with what it writes."""

import inspect
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from prefjudge import VERBS, step_module
from prefjudge.cli.step_options import step_options
from prefjudge.errors import InputError
from prefjudge.findings.outputs import check_outputs
from prefjudge.steps.agreement import agreement
from prefjudge.steps.audit import audit
from prefjudge.steps.board.board import board as in_git
from prefjudge.steps.compare import compare
from prefjudge.steps.export import export
from prefjudge.steps.gold import gold
from prefjudge.steps.pool import pool
from prefjudge.steps.report.report import report
from prefjudge.steps.resolve import resolve
from prefjudge.steps.score import score
from prefjudge.steps.stability import stability
from prefjudge.steps.winratio import winratio
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION
from tests.steps.repositories import commit_all

RUNS = sorted((COLLECTION / "runs").iterdir())
BOARD = "id,date,description,team,eval\n1,2021/01/02,one,A,0.30\n2,2021/02/03,two,B,0.32\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """What the verbs read, each under the name of its option."""
    (tmp_path / "run.txt").write_bytes(RUNS[0].read_bytes())
    (tmp_path / "other.txt").write_bytes(RUNS[1].read_bytes())
    for name in ("qrels.txt", "queries.tsv", "collection.tsv"):
        (tmp_path / name).write_bytes((COLLECTION / name).read_bytes())
    (tmp_path / "judgments").write_text("q01 p25 p34 p25\nq02 p25 p34 p34\n")
    (tmp_path / "board.csv").write_text(BOARD)
    (tmp_path / "aliases").write_text("A\tX\n")
    (tmp_path / "held").write_text("q01\n")
    return {path.name.partition(".")[0]: path for path in tmp_path.iterdir()}


def verbs(at: dict[str, Path]) -> dict[str, tuple[Callable[..., Any], list[str]]]:
    """Each verb that writes where it is told, called on everything that it reads."""
    both = [at["run"], at["other"]]
    asked: dict[str, Any] = {"runs": both, "qrels": [f"x={at['qrels']}"], "queries": at["queries"]}
    votes = at["judgments"]
    named = ["run", "qrels", "queries"]
    board = at["board"]

    def bind(verb: Callable[..., Any], *args: object, **options: object) -> Callable[..., Any]:
        return lambda **outputs: verb(*args, **options, **outputs)

    compared = {**asked, "runs": ()}
    texts = {"queries": at["queries"], "collection": at["collection"]}
    return {
        "agreement": (bind(agreement, **asked), named),
        "audit": (bind(audit, board, runs=both, aliases=at["aliases"]), ["board", "run", "aliases"]),
        "compare": (bind(compare, *both, **compared), [*named, "other"]),
        "board": (lambda **outputs: in_git("check", repository(at["study"].parent), **outputs), ["study"]),
        "export": (lambda **outputs: export(at["study"].parent, to="choix", **outputs), ["study"]),
        "pool": (bind(pool, runs=both, qrels=at["qrels"], **texts), [*named, "collection"]),
        "report": (lambda **outputs: report(at["study"].parent, **outputs), ["study"]),
        "resolve": (bind(resolve, judgments=votes, runs=both), ["judgments", "run"]),
        "score": (bind(score, judgments=votes, per_query=True, **asked), [*named, "judgments"]),
        "stability": (
            bind(stability, judgments=[votes], held_out=at["held"], **asked),
            [*named, "judgments", "held"],
        ),
        "winratio": (
            bind(winratio, runs=both, judgments=votes, qrels=at["qrels"], queries=at["queries"]),
            [*named, "judgments"],
        ),
    }


def repository(study: Path) -> Path:
    commit_all(study)
    return study


WRITING = {
    verb.function: {"out", "plot"} & {option.name for option in step_options(verb.function)}
    for verb in VERBS
    if verb.name not in ("release", "reproduce")  # which write into a folder of their own
}


@pytest.mark.parametrize(("verb", "option"), [(v, o) for v, names in WRITING.items() for o in sorted(names)])
def test_no_verb_writes_over_what_it_reads(
    verb: str, option: str, files: dict[str, Path], pooled: Path
) -> None:
    """A verb with ``--out`` or ``--plot`` that is not called here fails, so that none is forgotten."""
    files["study"] = pooled / "study.toml"
    call, inputs = verbs(files)[verb]
    assert option in inspect.signature(getattr(import_module(step_module(verb)), verb)).parameters
    before = {name: path.read_bytes() for name, path in files.items()}
    for name in inputs:
        link = files[name].with_name(f"link-to-{name}{'.html' if verb == 'report' else '.svg'}")
        link.symlink_to(files[name])
        around = link.parent / ".." / link.parent.name / link.name
        for path in (link, around, *([files[name]] if verb != "report" else [])):  # a report ends in .html
            with pytest.raises(InputError, match=r"would replace .*, which is read"):
                call(**{option: path})
        assert link.is_symlink()
    assert {name: path.read_bytes() for name, path in files.items()} == before
    assert not [path for path in files["run"].parent.iterdir() if path.suffix == ".part"]


@pytest.mark.parametrize(
    ("verb", "option", "name", "asked"),
    [
        ("score", "out", "x.provenance.json", "x.csv"),
        ("score", "out", "x.per-query.csv", "x.csv"),
        ("score", "plot", "x.against.svg", "x.svg"),
        ("compare", "out", "x.outcomes.csv", "x.csv"),
        ("stability", "plot", "x.2.svg", "x.svg"),
        ("stability", "plot", "x.side-by-side.svg", "x.svg"),
    ],
)
def test_nor_do_the_files_beside_it(
    verb: str, option: str, name: str, asked: str, files: dict[str, Path]
) -> None:
    files["qrels"] = files["qrels"].rename(files["qrels"].with_name(name))
    with pytest.raises(InputError, match=f"would replace .*{name}, which is read"):
        verbs(files)[verb][0](**{option: files["qrels"].with_name(asked)})


def test_names_that_only_look_alike_are_free(files: dict[str, Path]) -> None:
    files["qrels"] = files["qrels"].rename(files["qrels"].with_name("x.qrels.csv"))
    out = files["qrels"].with_name("x.csv")
    for _ in range(2):  # what was written once is written again
        verbs(files)["score"][0](out=out, plot=out.with_suffix(".svg"))
    assert json.loads(out.with_name("x.provenance.json").read_text())["inputs"]


def test_a_study_keeps_its_files(pooled: Path, tmp_path: Path) -> None:
    (tmp_path / "judgments").write_text("q01 p25 p34 p25\n")
    for name in ("study.toml", "study.db"):
        with pytest.raises(InputError, match=name):
            check_outputs(pooled / name, study=Study(pooled))
    with pytest.raises(InputError, match=r"qrels\.txt would replace"):
        check_outputs(COLLECTION / "qrels.txt", study=Study(pooled))
    with pytest.raises(InputError, match=r"collection\.tsv would replace"):
        gold(pooled, suggest=2, file=COLLECTION / "collection.tsv")


def test_a_folder_that_is_read_is_not_written_into(tmp_path: Path) -> None:
    part = tmp_path / "runs.parquet" / "part-0.parquet"
    part.parent.mkdir()
    part.write_bytes(b"")
    for path in (part, part.parent):
        with pytest.raises(InputError, match="which is read"):
            check_outputs(path, inputs=[part.parent], engine="spark")
    with pytest.raises(InputError, match="which is read"):
        check_outputs("s3a://b/x.parquet/", inputs=["s3a://b/x.parquet"], engine="spark")
    check_outputs(tmp_path / "y.parquet", "s3a://b/y.parquet", inputs=[part.parent, "-"], engine="spark")
