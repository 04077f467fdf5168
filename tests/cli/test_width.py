"""Every verb's tables fit the screen, on runs with long tags."""

import ast
import re
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import prefjudge
import prefjudge.cli
from prefjudge import VERBS as REGISTER
from prefjudge.cli.app import app
from prefjudge.cli.commands import _printed
from prefjudge.cli.output import _first_clauses
from prefjudge.core.judgments import ModelVote
from prefjudge.study.imports import save_votes
from prefjudge.study.pools import load_pairs_by_number
from prefjudge.study.store import Study
from tests.steps.conftest import COLLECTION, pool_demo

TRUTH = COLLECTION / "truth.tsv"
LABELS = ("--qrels", f"labels={COLLECTION / 'qrels.txt'}")
LABELS_FILE = ("--qrels", str(COLLECTION / "qrels.txt"))
BOTH = (*LABELS, "--qrels", "preference=PLACE/driven/preference.qrels", "--measure", "RR@10")
VERBS = {
    "score": ("--runs", "PLACE/runs", *BOTH),
    "compare": ("--runs", "PLACE/runs", "--baseline", "PLACE/runs/03.txt", *LABELS, "--measure", "RR@10"),
    "stability": ("--runs", "PLACE/runs", *BOTH, "--trials", "20"),
    "agreement": ("--runs", "PLACE/runs", *BOTH, "--trials", "5"),
    "winratio": ("PLACE/driven", "--runs", "PLACE/runs", "--against-qrel", "first-try", "--runs-shown", "30"),
    "judge": ("PLACE/driven", "--worth"),
    "pool": ("--runs", "PLACE/runs/03.txt", *LABELS_FILE, "--design", "top-against-qrel"),
    "resolve": (
        "PLACE/driven",
        "--out",
        "PLACE/winners.qrels",
        *["--rule", "most-wins", "--rule", "smith", "--per-query", "--sensitivity"],
    ),
    "plan": ("--sizes", "2:120,4:200,6:180", "--error", "0.33", "--budget", "1500", "--trials", "20"),
    "workers": ("PLACE/driven",),
    "status": ("PLACE/driven", "--history"),
    "pay": ("PLACE/judged", "--dry-run"),
    "work": ("PLACE/driven", "--panel", "prolific"),
    "audit": ("PLACE/leaderboard.csv",),
}
BOARD = "id,date,,description,team,paper,code,type,MRR@100 (Dev),MRR@100 (Eval),tweet\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 runs with long tags, a leaderboard, and two studies: one with work to pay, one that was run."""
    folder = tmp_path_factory.mktemp("wide")
    (folder / "runs").mkdir()
    originals = sorted((COLLECTION / "runs").glob("*.txt"))
    tags = [f"the_retrieval_group_of_some_university_{number:02}_dense_rerank_large" for number in range(24)]
    for number, tag in enumerate(tags):
        lines = [line.split() for line in originals[number % len(originals)].read_text().splitlines()]
        kept = [[*line[:5], tag] for place, line in enumerate(lines) if (place + number) % (2 + number % 7)]
        (folder / "runs" / f"{number:02}.txt").write_text("".join(" ".join(line) + "\n" for line in kept))
    tops = [path.read_text().split()[:3] for path in originals]
    pairs = {
        (query, min(docs), max(docs)) for query, _, one in tops for _, _, two in tops for docs in [(one, two)]
    }
    (folder / "votes.txt").write_text(
        "".join(f"{q} {a} {b} {a} {who}\n" for q, a, b in sorted(pairs) if a != b for who in ("ann", "gpt"))
    )
    rows = (
        f"{tag},2021/01/{n + 1:02},,Ranker {n},Group {tag},,,full ranking,0.{n + 10},0.{50 - n},"
        for n, tag in enumerate(tags)
    )
    (folder / "leaderboard.csv").write_text(BOARD + "\n".join(rows) + "\n")
    for study in (folder / "judged", folder / "driven"):
        prefjudge.init(study, config="demo")
        pool_demo(study)
        prefjudge.gold(study, accept=True, file=COLLECTION / "gold.tsv")
    prefjudge.publish(folder / "judged", yes=True)
    prefjudge.work(folder / "judged", workers=6, truth=TRUTH)
    with pytest.MonkeyPatch.context() as paid_later:
        paid_later.setenv("PREFJUDGE_PAY__WHEN", "pay")
        prefjudge.collect(folder / "judged")
    prefjudge.run(folder / "driven", strategy="round-robin:1", yes=True, workers=6, truth=TRUTH)
    with Study(folder / "driven").transaction() as db:
        said = (
            (number, ModelVote(pair=pair, a_first=1, b_first=1))
            for number, pair in load_pairs_by_number(db).items()
        )
        save_votes(db, "some-maker/a-model-with-a-long-name-70b-instruct", list(said))
    return folder


@pytest.fixture(scope="module", autouse=True)
def _computed_once() -> Iterator[None]:
    """What a verb found is shown at many widths."""
    found: dict[str, object] = {}

    def kept(name: str) -> Callable[..., object]:
        work = prefjudge.step(name)

        @wraps(work)
        def once(*given: object, **named: object) -> object:
            asked = f"{name} {given} {named}"
            if asked not in found:
                found[asked] = work(*given, **named)
            return found[asked]

        return once

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("prefjudge.cli.commands.step", kept)
        yield


def typed(verb: str, place: Path, columns: int | None, *more: str) -> Result:
    arguments = [text.replace("PLACE", str(place)) for text in (*VERBS[verb], *more)]
    environment = {"COLUMNS": str(columns) if columns else None}
    return CliRunner().invoke(app, [verb, *arguments], env=environment, catch_exceptions=False)


def shown(verb: str, place: Path, columns: int | None) -> str:
    result = typed(verb, place, columns, *(["--details"] if verb not in ("judge", "work") else []))
    assert "──" in result.stdout, verb
    return re.sub(r"\d\d:\d\d", "", result.stdout)


def test_every_verb_that_prints_tables_is_tried() -> None:
    """They have one way to print them, so that none is forgotten here, nor goes its own way."""
    files = [path for path in Path(prefjudge.cli.__path__[0]).glob("*.py") if path.stem != "output"]
    printers = {
        node.name: ast.unparse(node)
        for path in files
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    # what is printed by a function of its own
    parts = {
        "split": "pool",
        "history": "status",
        "plans": "plan",
        "scores": "score",
    }
    said = {name.removeprefix("_show_") for name, text in printers.items() if "print_tables(" in text}
    said = {name.removeprefix("show_") for name in said}
    plain = {verb.name for verb in REGISTER if _printed(verb.function) is None}  # by `print_result`
    assert {parts.get(name, name) for name in said} | plain - {"reproduce"} == set(VERBS)
    assert not [
        name for name, text in printers.items() if "render_terminal" in text or "render_table(" in text
    ]


@pytest.mark.parametrize("verb", VERBS)
def test_tables_fit_the_screen_and_break_no_word(verb: str, place: Path) -> None:
    whole = set(shown(verb, place, None).split())
    assert not any(word.startswith("Fitted") for word in whole)
    for columns in (60, 80, 120):
        text = shown(verb, place, columns)
        assert [line for line in text.splitlines() if len(line) > columns] == []
        fitted = re.sub(r"Fitted to .*?\sshows\s+all\.", "", text, flags=re.DOTALL)
        broken = {word for word in fitted.split() if "…" not in word and set(word) != {"─"}} - whole
        assert not broken, columns


@pytest.mark.parametrize("verb", VERBS)
def test_one_screen_is_enough_for_any_input(verb: str, place: Path) -> None:
    asked = {"resolve", "status", "pool", "judge"}  # whose tables were asked for by an option
    columns = 100
    result = typed(verb, place, columns)
    lines = [line for line in result.output.splitlines() if line]
    taken = sum(-(-len(line) // columns) for line in lines)
    assert taken <= 24 or verb in asked, result.output
    assert all(len(line) <= columns for line in result.stdout.splitlines())


@pytest.mark.parametrize("verb", VERBS)
def test_a_narrow_screen_says_which_columns_it_leaves_out(verb: str, place: Path) -> None:
    heads, narrow = (typed(verb, place, columns).stdout for columns in (200, 40))
    said = re.search(r"^… a wider window also shows: (.+?)(?=^[A-Z…])", narrow, re.MULTILINE | re.DOTALL)
    if verb == "score":
        assert said
    for head in said[1].replace("\n", " ").strip().split(", ") if said else ():
        assert all(word in heads for word in head.split()), head


def test_what_is_piped_has_its_whole_width_unless_columns_says_otherwise(place: Path) -> None:
    tag = "the_retrieval_group_of_some_university_07_dense_rerank_large"
    piped = shown("agreement", place, None)
    assert "Fitted" not in piped
    assert tag in shown("winratio", place, None)
    assert tag not in shown("winratio", place, 60)


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        ("short", 9, "short"),
        ("seven words; and (in a bracket, with a clause) more", 37, "seven words; and …"),
        ("words (in a bracket, with a clause) and more", 40, "words (in a bracket, with a clause) …"),
        ("the workers' queries, of which 'one is long' and not", 40, "the workers' queries …"),
        ("it is asked for by `prefjudge score my-study` and not else", 42, "it is asked for by …"),
        ("(in brackets from the first to the last word)", 20, "(in brackets from  …"),
    ],
)  # fmt: skip
def test_a_note_is_cut_where_it_reads_well(text: str, width: int, cut: str) -> None:
    assert _first_clauses(text, width) == cut


def test_no_sentence_holds_a_tag_of_thousands_of_characters(tmp_path: Path) -> None:
    run, tag = tmp_path / "run.txt", "x" * 4_000
    run.write_text(f"q1 Q0 d1 1 2.5 {tag}\n")
    result = CliRunner().invoke(app, ["check", str(run)])
    assert "xxx…xxx" in result.stdout
    assert max(map(len, result.output.split())) <= 400
