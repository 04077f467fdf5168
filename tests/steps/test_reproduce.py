"""``reproduce``: every table and figure of the papers, and the commands that make each alone."""

import csv
import html
import json
import re
import shlex
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from zlib import crc32

import pytest
from typer.testing import CliRunner

import prefjudge
from prefjudge.cli.app import app
from prefjudge.core.judgments import ModelVote
from prefjudge.errors import InputError
from prefjudge.resources import resource_dir
from prefjudge.steps.demo import demo
from prefjudge.steps.reproduce.exhibits import hits_of, paper_price
from prefjudge.steps.reproduce.papers import PAPERS, Exhibit, Paper, load_paper
from prefjudge.study.imports import save_votes
from prefjudge.study.pools import load_pairs_by_number
from prefjudge.study.store import Study
from tests.render.tex import overfull
from tests.steps.conftest import COLLECTION

RUNS, QRELS = COLLECTION / "runs", COLLECTION / "qrels.txt"
BOARD = (
    "id,date,description,team,eval\n"
    "lexical,2021/01/02,words,A,0.30\nreranker-large,2021/02/03,a BERT of size,B,0.40\n"
)
EXHIBITS = [(paper.name, one) for paper in map(load_paper, PAPERS) for one in paper.exhibits]


def told(paper: str, *names: str, **keys: object) -> Path:
    """Write a paper's own file into the working directory, with more keys that hold for all experiments.

    It has all exhibits, or some alone.
    """
    path = Path(f"{paper}.toml")
    own = (resource_dir("configs") / "papers" / path.name).read_text(encoding="utf-8")
    if names:
        head, *exhibits = own.split("[[exhibits]]\n")
        kept = (text for text in exhibits for name in names if f'name = "{name}"' in text)
        own = "[[exhibits]]\n".join([head, *kept])
    path.write_text("".join(f"{key} = {json.dumps(said)}\n" for key, said in keys.items()) + own)
    return path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demo's judged study, its judgments as a file, a leaderboard and held-out queries."""
    folder = tmp_path_factory.mktemp("papers")
    demo(folder / "demo")
    prefjudge.release(folder / "demo" / "study", out=folder / "release", rehearsal=True)
    with Study(folder / "demo" / "study").transaction() as db:  # a model that prefers what has the lesser id
        pairs = load_pairs_by_number(db)
        save_votes(db, "gpt-4o", [(n, ModelVote(pair=p, a_first=1, b_first=1)) for n, p in pairs.items()])
    (folder / "JUDGMENTS").write_bytes((folder / "release" / "judgments.txt").read_bytes())
    (folder / "LEADERBOARD.csv").write_text(BOARD)
    (folder / "QUERIES").write_text("q01\nq02\nq03\nq04\n")
    (folder / "LABELLED.tsv").write_bytes((COLLECTION / "queries.tsv").read_bytes())
    prefjudge.pool(runs=RUNS, qrels=QRELS, out=folder / "POOL")
    (folder / "runs").symlink_to(RUNS)
    (folder / "CANDIDATES").write_bytes((RUNS / "lexical.txt").read_bytes())
    for name in ("QRELS", "NIST"):
        (folder / name).write_bytes(QRELS.read_bytes())
    (folder / "PREFERENCE.qrels").write_bytes((folder / "demo" / "study" / "preference.qrels").read_bytes())
    (folder / "FOLDER").mkdir()
    (folder / "MANY" / "runs").mkdir(parents=True)
    for path in (QRELS, *RUNS.iterdir()):  # five times the demo's queries: enough to tell shares of ranks
        lines = [f"{copy}-{line}" for copy in range(5) for line in path.read_text().splitlines(keepends=True)]
        (folder / "MANY" / ("QRELS" if path == QRELS else f"runs/{path.name}")).write_text("".join(lines))
    held_out = [f"{copy}-q{query:02}\n" for copy in (3, 4) for query in range(1, 16)]
    (folder / "MANY" / "QUERIES").write_text("".join(held_out))
    return folder


@pytest.mark.usefixtures("unfigured")
def test_few_queries_tell_no_share_of_a_rank(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    found = prefjudge.reproduce(
        told("benchmarking", held_out="QUERIES"), out="few", runs="runs", qrels="QRELS"
    )
    missing = {one.name: one.missing for one in found.exhibits}
    for name in ("Table 1", "Table 2", "Figure 3"):
        assert "fewer than 30 queries tell no share of a rank" in missing[name]
    assert not missing["Figure 4"], "rank intervals are told of any"


@pytest.fixture
def unfigured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures that are files and show nothing; all of them are drawn where each exhibit is looked at."""
    monkeypatch.setattr(
        "prefjudge.steps.reproduce.reproduce.write_figure", lambda path, figure, stamp: path.write_text("x")
    )


GIVEN = {
    "shallow-pooling": {"study": "demo/study", "leaderboard": "LEADERBOARD.csv"},
    "significant-improvements": {
        "runs": ["runs"],
        "qrels": ["QRELS"],
        "leaderboard": "LEADERBOARD.csv",
        "baseline": ["lexical"],
    },
    "benchmarking": {
        "runs": ["MANY/runs"],
        "qrels": ["sparse=MANY/QRELS", "graded=MANY/QRELS"],
        "held_out": "MANY/QUERIES",
        "leaderboard": "LEADERBOARD.csv",
        "highlight": "bert",
    },
    "assessors": {"study": "demo/study"},
}


@pytest.mark.usefixtures("unfigured")
def test_people_models_and_labels_stand_side_by_side(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a study, and in files; a second crowd that votes as the first does agrees with it in all."""
    monkeypatch.chdir(home)
    prefjudge.reproduce("assessors", study="demo/study", out=tmp_path / "study")
    rows = _table(tmp_path / "study" / "table-1.csv")
    kinds = {"people again": "people", "gpt-4o": "model", "original": "labels"}
    assert {row["assessor"]: row["kind"] for row in rows} == kinds
    assert rows[1]["gate"].startswith("not told: ")
    assert rows[0]["pairs"] == rows[1]["pairs"], "as many as in one round of voting"
    assert 0.5 < float(rows[0]["same"]) < 1 > float(rows[0]["alike"]) > float(rows[1]["alike"])
    assert 0 < float(rows[1]["same"]) < 1 > float(rows[1]["tau"]) > -1
    assert len({row["two_votings"] for row in rows}) == 1
    parted = _table(tmp_path / "study" / "table-3.csv")
    assert {row["assessor"] for row in parted} == {"gpt-4o", "original"}
    assert all(row["preferred_text"] != row["preferred"] != row["other"] for row in parted)
    votes, labels = (Path(name).read_text().splitlines(keepends=True) for name in ("JUDGMENTS", "QRELS"))
    few, other = ([line for line in votes if (line < "q09") is early] for early in (True, False))
    cut = [line for line in labels if line < "q09"]
    for name, lines in {"FEW": few, "TWICE": few * 2, "OTHER": other, "cut.qrels": cut}.items():
        Path(name).write_text("".join(lines))
    crowds = {"one": "FEW", "two": "JUDGMENTS", "again": "TWICE", "other": "OTHER"}
    file = told("assessors", runs=["runs"], qrels=["preference=QRELS", "cut.qrels"])
    experiments = "".join(f"[experiments.{name}]\njudgments = '{path}'\n" for name, path in crowds.items())
    file.write_text(file.read_text().replace("[[exhibits]]", f"{experiments}[[exhibits]]", 1))
    found = prefjudge.reproduce(file, out=tmp_path / "files")
    first, two, again, other, whole, cut = _table(tmp_path / "files" / "table-1.csv")
    assert [float(two[one]) for one in ("alike", "same", "tau", "tau_queries")] == [1, 1, 1, 7]
    assert two["gate"] == two["own_kind"] == first["tau"] == other["tau"] == ""
    assert first["two_votings"] == two["two_votings"] > "", "of the same queries"
    for name in ("tau", "tau_queries", "two_votings", "pairs", "same"):
        assert whole[name] == cut[name], "labels of other queries say nothing here"
    assert (whole["assessor"], int(again["votes"])) == ("preference", 2 * int(first["votes"]))
    for what in (
        "one and again: the same votes on each pair",
        "one and other: they share no query",
        "one and two: 7 queries, too few for any figure to say much",
        "TWICE: its second half repeats the first, line by line: is each vote in it twice?",
    ):
        assert what in found.notices
    with pytest.raises(InputError, match="two assessors are called 'one'"):
        prefjudge.reproduce(file, qrels="one=QRELS", out=tmp_path / "twice")
    with pytest.raises(InputError, match="a model's votes, or another crowd's"):
        prefjudge.reproduce("assessors", runs="runs", judgments="JUDGMENTS", out=tmp_path / "alone")


def _table(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return [*csv.DictReader(file)]


@pytest.mark.parametrize("paper", [*map(load_paper, GIVEN)], ids=lambda paper: paper.name)
def test_every_table_and_figure_is_made(paper: Paper, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    name = paper.name
    found = prefjudge.reproduce(told(name, **GIVEN[name]), out=f"out-{name}")
    impossible = {one.name for _, one in EXHIBITS if one.impossible}
    assert {one.name: one.missing for one in found.exhibits if not one.files} == {
        one.name: one.impossible for one in paper.exhibits if one.impossible
    }
    shown = [one.name for one in paper.exhibits if one.make or one.impossible]
    assert [one.name for one in found.exhibits] == shown
    folder = Path(found.folder)
    for one in found.exhibits:
        stem = re.sub("[^a-z0-9]+", "-", one.name.lower()).strip("-")
        assert all(file.startswith(stem) for file in one.files)
        assert all((folder / file).stat().st_size for file in one.files)
        assert one.files or one.name in impossible
    assert overfull([path.read_text() for path in folder.glob("*.tex")], paper.column, paper.text) == []
    page = Path(found.index).read_text(encoding="utf-8")
    places = [page.index(f">{one.name}</h3>") for one in found.exhibits]
    assert places == sorted(places)
    listed = set(json.loads((folder / "reproduce.json").read_text())["files"])
    assert {path.name for path in folder.iterdir()} - {"reproduce.json"} <= listed


@pytest.mark.parametrize(
    ("paper", "exhibit"),
    [(paper, exhibit) for paper, exhibit in EXHIBITS if exhibit.command and not exhibit.make],
    ids=lambda one: getattr(one, "name", one),
)
def test_commands_of_what_is_no_exhibit_run_alone(
    paper: str, exhibit: Exhibit, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = _words_of(exhibit)
    written = _written(words)
    for one in home.iterdir():
        if one.name not in written:
            (tmp_path / one.name).symlink_to(one)
    monkeypatch.chdir(tmp_path)
    before = {one.name for one in tmp_path.iterdir()}
    _printed(words)
    made = {one.name for one in tmp_path.iterdir()} - before
    assert set(written) <= made
    _, _, promised = exhibit.command.partition("# in ")
    assert not promised or promised in made


def _words_of(exhibit: Exhibit) -> list[str]:
    named = {"RUN": "lexical", "R1": "lexical", "R9": "reranker-large", "RUNFILE": "runs/lexical.txt"}
    named |= {"R11": "reranker-large", "R12": "reranker-small", "STUDY": "demo/study"}
    return [named.get(word, word) for word in shlex.split(exhibit.command, comments=True)]


def _written(words: Sequence[str]) -> list[str]:
    return [word for place, word in enumerate(words) if words[place - 1] in ("--out", "--plot")]


def _printed(words: Sequence[str]) -> str:
    """Run a command, and return what it prints."""
    done = CliRunner().invoke(app, words[1:])
    assert done.exit_code == 0, (words, done.output, done.exception)
    return done.stdout


SHALLOW = {one.name: one for one in load_paper("shallow-pooling").exhibits if one.make}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two more runs and three more labelled queries than were pooled and judged, and the paper.

    Of the judged queries some have no label.
    """
    folder = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("runs").mkdir()
        for run in ("lexical", "label-tuned", "late-interaction", "reranker-large"):
            Path("runs", f"{run}.txt").symlink_to(RUNS / f"{run}.txt")
        Path("QRELS").write_text("".join(QRELS.read_text().splitlines(keepends=True)[:12]))
        _printed([{"500": "9"}.get(word, word) for word in _words_of(SHALLOW["Figure 4"])])
        pooled = [line.split("\t")[:2] for line in Path("POOL").read_text().splitlines()[1:]]
        pairs = [(q, a, b) for (q, a), (other, b) in combinations(pooled, 2) if q == other]
        Path("JUDGMENTS").write_text(
            "".join(f"{q} {a} {b} {(a, b)[crc32((a + b).encode()) % 2]}\n" for q, a, b in pairs)
        )
        Path("LABELLED.tsv").write_text(
            "".join((COLLECTION / "queries.tsv").read_text().splitlines(keepends=True)[:12])
        )
        Path("LEADERBOARD.csv").write_text(BOARD)
        for run in ("first-try", "reranker-small"):
            Path("runs", f"{run}.txt").symlink_to(RUNS / f"{run}.txt")
        prefjudge.resolve(judgments="JUDGMENTS", out="PREFERENCE.qrels")
        prefjudge.reproduce(
            told("shallow-pooling", against_qrel="lexical"),
            runs="runs",
            qrels="QRELS",
            judgments="JUDGMENTS",
            pool="POOL",
            leaderboard="LEADERBOARD.csv",
            out="out",
        )
    return folder


PRINTED = {
    "pool": ("shallow-pooling", (), {}),
    "votes": (
        "shallow-pooling",
        ("Table 2", "Table 4", "Section 4.1", "Section 5.1", "Section 5.2", "Figure 6 (bottom)"),
        {"judgments": "JUDGMENTS", "order": "rank", "seed": 4},
    ),
    "runs": ("shallow-pooling", ("Table 1", "Figure 3", "Figure 4"), {}),
    "study": (
        "shallow-pooling",
        ("Table 1", "Figure 1", "Figure 3", "Table 4", "Section 5.1"),
        {"study": "demo/study", "runs": [], "qrels": []},
    ),
    "tests": ("significant-improvements", (), {"baseline": ["reranker-small", "lexical"]}),
    "ranks": ("benchmarking", (), GIVEN["benchmarking"] | {"until": "2021-01-31"}),
}
"""Papers, exhibits, and what they are made from beside runs and qrels; ``judged`` has the first."""


@pytest.mark.parametrize("case", PRINTED)
def test_each_command_on_the_page_makes_its_exhibit(
    case: str, judged: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is printed, whatever the experiment has and lacks."""
    monkeypatch.chdir(tmp_path)
    for one in (*judged.iterdir(), *home.iterdir()):
        if not Path(one.name).exists() and (case == "pool" or one.name not in ("out", "POOL")):
            Path(one.name).symlink_to(one)
    paper, names, given = PRINTED[case]
    if case != "pool":
        file = told(
            paper, *names, **{"runs": ["runs"], "qrels": ["QRELS"], "against_qrel": "lexical"} | given
        )
        called = '[names]\nZ = "lexical"\nA = "first-try"\n\n[[exhibits]]'
        if case == "tests":
            file.write_text(file.read_text().replace("[[exhibits]]", called, 1))
        prefjudge.reproduce(file, out="out")
    left = {one.name: one.file for name, one in EXHIBITS if name == paper and (one.name in names or one.make)}
    for part in Path("out", "index.html").read_text().split("<h3")[1:]:
        name = html.unescape(re.findall(r">(.*?)</h3>", part)[0])
        command = html.unescape("".join(re.findall(r"<pre>(.*?)</pre>", part, re.DOTALL)))
        if name not in left or not command:
            continue
        stem = Path("out", left.pop(name))
        words, _, promised = command.partition("# in ")
        typed = [word.replace(".tex", ".csv") for word in shlex.split(words)]
        said = _printed(typed)
        if not _written(typed):
            wanted = stem.with_suffix(".md").read_text()
            assert {*re.findall(r"\w+", wanted)} <= {*re.findall(r"\w+", said)}, name
        elif stem.name == "table-4" and paper == "shallow-pooling":  # the runs are in another order
            assert _cells(Path("table-4.csv")) == _cells(stem.with_suffix(".csv"))
        else:
            files = [promised.replace(".tex", ".csv")] if promised else _written(typed)
            for path in (path for path in files if "." in path):
                wrote, wanted = Path(path).read_text(), stem.with_suffix(Path(path).suffix).read_text()
                assert wrote == wanted or (path.endswith(".csv") and _numbers(wanted) <= _numbers(wrote)), (
                    name
                )
    assert {*left} & {*(names or left)} == BEYOND.get(case, set())


BEYOND = {"pool": {"Figure 1", "Figure 4"}, "runs": {"Table 1"}, "study": {"Figure 3"}}
BEYOND |= {"votes": {"Figure 6 (bottom)"}, "ranks": {"Table 3"}, "tests": {"Figure 1"}}
"""What no command makes of this."""


def _numbers(table: str) -> set[str]:
    """Return the numbers of a CSV but for whole ones, which are ranks."""
    return {*re.findall(r"\d\.\d+", table)} - {"0.0"}


def _cells(matrix: Path) -> dict[tuple[str, str], str]:
    return {
        (row["run beaten"], run): row[run]
        for row in _table(matrix)
        for run in row
        if run not in ("run beaten", "number of the run")
    }


def test_exhibits_are_of_the_judged_pool_and_say_so(judged: Path) -> None:
    out = judged / "out"
    labelled = {line.split()[0] for line in (judged / "QRELS").read_text().splitlines()}
    both = {line.split()[0] for line in (judged / "JUDGMENTS").read_text().splitlines()} & labelled
    assert int(_table(out / "table-1.csv")[-1]["queries"]) == len(labelled) > len(both)
    assert (out / "figure-4.svg").read_bytes() == (judged / "figure-4.svg").read_bytes()
    pairs = len((judged / "JUDGMENTS").read_text().splitlines())
    assert f"Judging each pair once takes {pairs:,} comparisons" in (out / "index.html").read_text()
    pooled = {"lexical", "label-tuned", "late-interaction", "reranker-large"}
    assert {run for run, _ in _cells(out / "table-4.csv")} == {"perfect ranking", "wins", *pooled}
    assert "correction for 10 pairs" in (out / "table-4.md").read_text()


@pytest.mark.parametrize(
    "exhibit",
    [one for paper, one in EXHIBITS if paper.startswith("significant") and one.name == "Figure 1"],
    ids=["SIGIR", "preprint"],
)
def test_the_public_leaderboard_has_the_best_runs_of_both_versions(exhibit: Exhibit, data_dir: Path) -> None:
    """Lin et al. (2021), section 3: R1 to R13 until the end of April; the preprint, R1 to R10."""
    words = shlex.split(exhibit.command)
    board = data_dir / "msmarco" / "document-leaderboard.csv"
    found = prefjudge.audit(board, until=words[words.index("--until") + 1])
    assert f" {len(found.audit.records)} submissions were the best of their day" in exhibit.own
    assert exhibit.own.endswith(f"R1 to R{len(found.audit.records)}.")


def few_queries(count: int) -> Path:
    """Write shallow pooling's file with a small sample."""
    path = told("shallow-pooling")
    path.write_text(path.read_text().replace("sample = 500", f"sample = {count}"))
    return path


@pytest.mark.usefixtures("unfigured")
def test_simulate_walks_the_paper_on_runs_and_qrels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paper = few_queries(10)
    found = prefjudge.reproduce(paper, runs=RUNS, qrels=QRELS, simulate=True, seed=3, out=tmp_path / "out")
    folder = tmp_path / "out"
    made = {one.name for one in found.exhibits if one.files}
    assert {"Table 1", "Table 2", "Figure 2", "Figure 4", "Table 4", "Figure 6 (top)"} <= made
    stamp = "every judgment is simulated"
    assert stamp in (folder / "index.html").read_text()
    assert stamp in (folder / "table-2.md").read_text()
    assert stamp in (folder / "table-2.tex").read_text()
    assert stamp in (folder / "table-2.rehearsal.txt").read_text()
    assert (folder / "simulated-judgments.txt").read_text().startswith("# rehearsal")
    first = (folder / "simulation.csv").read_bytes()
    again = prefjudge.reproduce(paper, runs=RUNS, qrels=QRELS, simulate=True, seed=3, out=tmp_path / "out")
    assert again == found
    assert (folder / "simulation.csv").read_bytes() == first
    listed = json.loads((folder / "reproduce.json").read_text())["files"]
    assert {path.name for path in folder.iterdir()} <= {*listed, "reproduce.json"}, "a repeat clears the rest"
    text = told("shallow-pooling", "Table 2", runs=[str(RUNS)], qrels=[str(QRELS)]).read_text()
    design = 'design = "top-against-qrel"\n'
    paper.write_text(text.replace(design, f"{design}simulate = true\n"))
    prefjudge.reproduce(paper, out=folder)
    rows = (folder / "simulation.csv").read_text()
    assert ("1. " in rows, "2. " in rows) == (True, False), "what is simulated of one experiment alone"
    assert not (folder / "simulated-judgments-of-pools.txt").exists()


@pytest.mark.parametrize("option", ["runs", "qrels", "judgments", "leaderboard", "pool"])
def test_a_file_that_cannot_be_read_is_named_once_and_nothing_is_written(option: str, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_bytes(b"q01 \xff\x00\n")
    given = {"runs": RUNS, "qrels": QRELS, option: wrong}
    with pytest.raises(InputError) as raised:
        prefjudge.reproduce("shallow-pooling", out=tmp_path / "out", **given)  # type: ignore[arg-type]
    assert str(raised.value).splitlines()[0].count(str(wrong)) == 1
    assert "nothing of" not in str(raised.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("unfigured")
def test_pools_and_the_best_run_are_those_of_all_labelled_queries(tmp_path: Path) -> None:
    """Judgments on one query choose neither; queries without a qrel are in no pool."""
    lines = QRELS.read_text().splitlines()
    few = [line for line in lines if line.split()[0] in {"q01", "q02", "q03"}]
    (tmp_path / "qrels").write_text("\n".join(few) + "\n")
    scored = prefjudge.score(runs=RUNS, qrels=tmp_path / "qrels", measure="RR@10")
    board = [row.run for row in scored.leaderboards[0].ranked]
    judged = few[0].split()
    (tmp_path / "judgments").write_text(f"q01 {judged[2]} other {judged[2]}\n")
    found = prefjudge.reproduce(
        "shallow-pooling",
        runs=RUNS,
        qrels=tmp_path / "qrels",
        judgments=tmp_path / "judgments",
        out=tmp_path / "out",
    )
    page = Path(found.index).read_text()
    assert "3 queries;" in page
    assert "1 query;" in page  # the selected one
    assert f"the top results of {board[0]}" in (tmp_path / "out" / "table-1.md").read_text()


@pytest.mark.usefixtures("unfigured")
def test_table_4_and_figure_6_are_in_the_official_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The better run on the leaderboard is the worse one under the qrels."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "board.csv").write_text(BOARD.replace("0.30", "0.90"))
    runs = [RUNS / "reranker-large.txt", RUNS / "lexical.txt"]
    prefjudge.reproduce(
        few_queries(20),
        runs=runs,
        qrels=QRELS,
        leaderboard=tmp_path / "board.csv",
        simulate=True,
        seed=1,
        out=tmp_path / "out",
    )
    rows = _table(tmp_path / "out" / "table-4.csv")
    assert list(rows[0])[-3:] == ["perfect ranking", "lexical", "reranker-large"]
    assert [row["run beaten"] for row in rows] == ["perfect ranking", "lexical", "reranker-large", "wins"]
    order = [row["run"] for row in _table(tmp_path / "out" / "figure-6-middle.csv")]
    assert order[-2:] == ["lexical", "reranker-large"]


def test_comparisons_cost_what_the_paper_says() -> None:
    """Section 4.1: over $34,000 for 141,887 comparisons; 3.1: 698 HITs of $2.40 in a total of $1,720."""
    assert paper_price(141_887) == "$34,053.60"
    assert (hits_of(6_980), paper_price(6_980)) == (698, "$1,675.20")
    assert paper_price(4_210) == "$1,010.40"


@pytest.mark.usefixtures("unfigured")
def test_what_is_missing_is_said_for_each_exhibit_and_files_in_the_folder_stay(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        prefjudge.reproduce("shallow-pooling", runs=RUNS, qrels=QRELS, out=tmp_path)
    (tmp_path / "reproduce.json").write_text('{"files": ["../outside", "mine.txt/.."]}')
    (tmp_path.parent / "outside").write_text("kept")
    found = prefjudge.reproduce("shallow-pooling", runs=RUNS, qrels=QRELS, out=tmp_path)
    missing = {one.name: one.missing for one in found.exhibits if not one.files}
    assert missing["Table 2"] == "it needs side-by-side judgments (--judgments or --study)"
    assert "--leaderboard" in missing["Table 3"]
    assert {one.name for one in found.exhibits if one.files} == {"Table 1", "Figure 3", "Figure 4"}
    assert (tmp_path.parent / "outside").read_text() == "kept"
    assert (tmp_path / "mine.txt").read_text() == "mine"
    (tmp_path / "qrels").write_bytes(QRELS.read_bytes())
    with pytest.raises(InputError, match=r"is in the output folder"):
        prefjudge.reproduce("shallow-pooling", runs=RUNS, qrels=tmp_path / "qrels", out=tmp_path)
    with pytest.raises(InputError, match="nothing of"):
        prefjudge.reproduce("shallow-pooling", runs=RUNS, out=tmp_path)
    assert all((tmp_path / name).exists() for name in ("qrels", "figure-3.svg", "index.html")), "as it was"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "needs a study, or runs and qrels"),
        ({"simulate": True, "study": "s"}, "--simulate is for"),
        ({"simulate": True}, "--simulate is for"),
        ({"runs": RUNS}, "nothing of shallow-pooling can be made"),
    ],
)
def test_too_little_is_said_and_nothing_is_written(
    given: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        prefjudge.reproduce("shallow-pooling", out=tmp_path / "out", **given)  # type: ignore[arg-type]
    assert not list((tmp_path / "out").glob("*.html"))


@pytest.mark.usefixtures("unfigured")
def test_each_experiment_has_its_own_votes_and_the_runs_have_the_papers_names(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Section 3's votes are no tournaments: given apart they change no board; joined, it is said."""
    monkeypatch.chdir(judged)
    labels = [line.split() for line in Path("QRELS").read_text().splitlines()]
    duels = "".join(f"{query} {doc} {doc}x {doc}x\n" for query, _, doc, _ in labels)
    text = told("shallow-pooling", runs=["runs"], qrels=["QRELS"]).read_text()
    names = '[names]\nB = "lexical"\nA = "reranker-large"\n\n[experiments.spare]\n'
    names += '[experiments.top]\njudgments = "duels"\n'
    apart = text.replace("[experiments.top]\n", names).replace("sample = 500", 'judgments = "JUDGMENTS"')
    (tmp_path / "duels").write_text(duels)
    Path("duels").write_text(duels)
    duels += "".join(f"more{number} a b a\n" for number in range(20))
    Path("joined").write_text(Path("JUDGMENTS").read_text() + duels)
    Path("apart.toml").write_text(apart)
    made = prefjudge.reproduce("apart.toml", judgments="joined", out=tmp_path / "apart")
    for name in ("top", "pools"):
        assert f"--judgments is not used for {name}, which has its own" in made.notices
    assert "no exhibit is made of the experiment spare" in made.notices
    assert "no exhibit" not in str(made.tables()), "notices are lines before"
    assert "--judgments duels" in Path(made.index).read_text(), "Table 2, whichever experiment comes first"
    alone = prefjudge.score(
        runs="runs", qrels=["original=QRELS", "preference=PREFERENCE.qrels"], measure="RR@10", common=True
    )
    scores = {row.run: row.score for row in alone.leaderboards[1].rows}
    board = _table(tmp_path / "apart" / "figure-6-bottom.csv")
    rows = {row["run"]: float(row["score"]) for row in board}
    assert {"A", "B"} < set(rows)
    assert "lexical" not in rows
    assert [rows["B"], rows["A"]] == pytest.approx([scores["lexical"], scores["reranker-large"]])
    assert not any("a single pair" in one for one in made.notices)
    joined = prefjudge.reproduce(
        "shallow-pooling", runs="runs", qrels="QRELS", judgments="joined", out=tmp_path / "joined"
    )
    assert any("a single pair" in one for one in joined.notices)


@pytest.mark.usefixtures("unfigured")
def test_the_votes_of_a_stage_count_alone(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second stage has turned every vote, so that it wins where the first loses."""
    monkeypatch.chdir(judged)
    rows = [line.split() for line in Path("JUDGMENTS").read_text().splitlines()]
    turned = "".join(f"{query} {a} {b} {b if won == a else a}\n" for query, a, b, won in rows)
    (tmp_path / "turned").write_text(turned)
    prefjudge.import_votes(tmp_path / "study", "JUDGMENTS", phase="first")
    prefjudge.import_votes(tmp_path / "study", tmp_path / "turned", phase="again")
    given = {"runs": "runs", "qrels": "QRELS", "study": str(tmp_path / "study")}
    wins = {}
    for stage in ("first", "again"):
        file = told("shallow-pooling", "Table 4", stage=[stage])
        prefjudge.reproduce(file, out=tmp_path / stage, **given)
        wins[stage] = _cells(tmp_path / stage / "table-4.csv")
    decided = {key: float(ratio) for key, ratio in wins["first"].items() if ratio and "wins" not in key}
    assert decided
    assert {key: 1 - ratio for key, ratio in decided.items()} == pytest.approx(
        {key: float(wins["again"][key]) for key in decided}
    )
    with pytest.raises(InputError, match="no votes of the stage third"):
        prefjudge.reproduce(told("shallow-pooling", stage=["third"]), out=tmp_path / "no", **given)


@pytest.mark.usefixtures("unfigured")
def test_pooled_and_shown_runs_are_those_of_the_file(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Table 4 tests the pairs of the pooled runs alone, and prints those that are to be shown."""
    monkeypatch.chdir(judged)
    pooled = ["lexical", "label-tuned", "late-interaction"]
    names = ("Table 4", "Figure 3", "Section 5.2")
    file = told("shallow-pooling", *names, pooled=pooled, shown=["late-interaction", "lexical"])
    found = prefjudge.reproduce(file, runs="runs", qrels="QRELS", judgments="JUDGMENTS", out=tmp_path / "out")
    page = Path(found.index).read_text()
    files = [f"runs/{run}.txt" for run in pooled]
    sizes = prefjudge.pool(runs=files, qrels="QRELS", queries="LABELLED.tsv", depth=1).sizes
    told_sizes = {int(row["documents"]): int(row["queries"]) for row in _table(tmp_path / "out/figure-3.csv")}
    assert told_sizes == sizes
    assert all(f"--runs {path}" in page for path in files), "the command of Figure 3, too"
    assert {row["run"] for row in _table(tmp_path / "out" / "section-5-2.csv")} == {*pooled}
    assert "--leave-one-out" not in page, "no option says who gave the pools"
    printed = tmp_path / "out" / "table-4.csv"
    assert {run for run, _ in _cells(printed)} == {"perfect ranking", "late-interaction", "lexical", "wins"}
    assert "--runs-shown 'perfect ranking' --runs-shown late-interaction" in html.unescape(page)
    words = printed.with_suffix(".md").read_text()
    assert "correction for 6 pairs" in words, "three runs and the perfect ranking"
    alone = prefjudge.winratio(runs=files, qrels="QRELS", judgments="JUDGMENTS").winratio
    two = prefjudge.winratio(runs=files[:2], judgments="JUDGMENTS").tables()[0]
    assert re.search(r"; \d+ of them compare a pair", two.notes[0]), "of one pair there is no range"
    decided = [pair.wins_a + pair.wins_b for pair in alone.pairs]
    assert f"{min(decided)} to {max(decided)} of them compare a pair" in words


def test_init_writes_the_papers_own_file_with_what_is_given(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    folder = tmp_path / "g[1]🙂"
    folder.mkdir()
    Path("k1=0.9").symlink_to("runs")
    given = ["--runs", "k1=0.9/*", "--qrels", "QRELS", "--leaderboard", "LEADERBOARD.csv", "--init"]
    _printed(["prefjudge", "reproduce", "significant-improvements", *given, "--out", str(folder / "my.toml")])
    with pytest.raises(InputError, match="there already"):
        prefjudge.reproduce("significant-improvements", init=True, out=folder / "my.toml")
    text = (folder / "my.toml").read_text()
    (folder / "runs").symlink_to(RUNS)
    own = re.sub("runs = .*", 'runs = ["runs/*"]', text, count=1)
    (folder / "own.toml").write_text(f'{own}[[exhibits]]\nname = "Table-1"\nshows = "s"\nmake = "outcomes"\n')
    found = prefjudge.reproduce(folder / "own.toml", out=tmp_path / "own")
    (twice,) = (one.missing for one in found.exhibits if not one.files)
    assert twice.startswith("table-1.csv is a file of another exhibit")
    monkeypatch.chdir(folder)  # its paths are seen from the file, wherever one stands
    Path("my.toml").write_text(f'until = "2021-01-31"\ntested = [["lexical", "first-try"]]\n{text}')
    found = prefjudge.reproduce("my.toml")
    assert found.folder == "my"
    assert [row["name"] for row in _table(Path("my", "figure-1.csv"))] == ["lexical"]
    (row,) = _table(Path("my", "table-2.csv"))
    assert (row["a"], row["b"]) == ("lexical", "first-try")
    assert "0.05 (bold)" in Path("my", "table-2.md").read_text(), "of one pair the level is not divided"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("runs = [", "Invalid|Unclosed|Expected|my.toml"),
        ("name = 'x'\nexhibits = []\ncolour = 'red'", "colour: there is no such key"),
        ("name = 'x'\nexhibits = [{name='T', shows='s', experiment='two'}]", "no experiment 'two'"),
        ("name = 'x'\nexhibits = []\nsample = 0", "sample: it must be greater"),
        (
            "name = 'x'\nexhibits = []\ntested = ['A', 'B']",
            r'pairs of runs are wanted: tested = \[\["A", "B"\]\]',
        ),
        ("name = 'x'\nexhibits = []\nruns = 'r'", r'runs: a list is wanted: runs = \["…"\]'),
        ("name = 'x'\nexhibits = []\nnames = {A = 'r', B = 'r'}", "gives the run r two names"),
        ("name = 'x'\nexhibits = []", r"reproduce \S+my\.toml --runs"),
        ("name = 'x'\nexhibits = [{name='T', shows='s', make='magic'}]", "nothing makes 'magic'"),
        (
            f"name = 'x'\nruns = ['{RUNS}']\nqrels=['{QRELS}']\nexhibits = [{{name='T', shows='s', "
            "make='naive', columns=['a', 'colour']}]",
            "has no column 'colour'. Choose among: ",
        ),
        *(
            (
                f"name = 'x'\nruns = ['{RUNS}']\nqrels=['one={QRELS}', 'two={QRELS}']\n"
                f"exhibits = [{{name='T', shows='s', make='{make}'}}]",
                f"nothing of x can be made: it needs {need}",
            )
            for make, need in {
                "win-ratios": "side-by-side judgments",
                "assessors": "side-by-side judgments",
                "official": "the leaderboard's CSV",
                "progress": "the leaderboard's CSV",
            }.items()
        ),
        (
            f"name = 'x'\nruns = ['{RUNS}']\nexhibits = []\nnames = {{lexical = 'reranker-large'}}",
            "names: lexical is also the tag of another run",
        ),
        (f"name = 'x'\nexhibits = []\nstage = ['s']\nruns = ['{RUNS}']", "stage names votes of a study"),
        (
            f"name = 'x'\npooled = ['no']\nruns = ['{RUNS}']\nqrels=['{QRELS}']\nexhibits = [{{name='T', "
            "shows='s', make='selected-sizes'}]",
            "pooled: there is no run 'no'",
        ),
    ],
)
def test_what_is_wrong_in_a_papers_file_is_said(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(text)
    with pytest.raises(InputError) as raised:
        prefjudge.reproduce(tmp_path / "my.toml")
    assert re.search(message, str(raised.value))


def test_section_3_takes_all_queries_in_a_study_that_samples(tmp_path: Path) -> None:
    prefjudge.init(tmp_path / "study", config="paper2021")
    config = tmp_path / "study" / "study.toml"
    config.write_text(config.read_text().replace("sample = 500", "sample = 4"))
    given = {name: COLLECTION / f"{name}.tsv" for name in ("queries", "collection")} | {"qrels": QRELS}
    found = prefjudge.pool(tmp_path / "study", runs=RUNS / "lexical.txt", design="top-against-qrel", **given)
    assert found.queries == len({line.split()[0] for line in QRELS.read_text().splitlines()})
