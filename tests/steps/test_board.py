"""Three months of a leaderboard that is kept in Git, as docs/board.md tells them: real Git, real make."""

import gzip
import json
import os
import subprocess
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from shutil import which

import pytest

from prefjudge import board, import_votes, init, resolve
from prefjudge.errors import InputError, StudyError
from prefjudge.reading.votes.votes import read_log, write_lines
from prefjudge.steps.board.repository import LOG_FILE, extend_log
from prefjudge.study.pools import load_inputs
from prefjudge.study.store import Study
from tests.cli.conftest import program_of_that_name
from tests.steps.conftest import COLLECTION, contents, edit, fix_key, let_all_work_at_once
from tests.steps.repositories import NOBODY, TODAY, write_submission
from tests.steps.test_run import RUNS, pool_runs


class Workshop:
    """Runs make and Git."""

    def __init__(self, prefjudge: Path) -> None:
        self.env = {**os.environ, **NOBODY, "PREFJUDGE": str(prefjudge)}

    def __call__(self, folder: Path, *words: str, fails: bool = False) -> str:
        """Run a program, and return what it said."""
        done = subprocess.run(
            words, cwd=folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False,
        )  # fmt: skip
        assert bool(done.returncode) == fails, (words, done.stdout)
        return done.stdout


def submit(repository: Path, cacm: Path, run: str, **about: str) -> str:
    """Put a run into submissions/, and what is said of it; return its name."""
    name = f"{TODAY:%Y%m%d}-{run}"
    with gzip.open(cacm / "runs" / f"{run}.txt.gz", "rt") as file:
        rows = [line.split() for line in file]
    queries = {line.split("\t")[0] for line in (repository / "data" / "queries.tsv").read_text().splitlines()}
    kept = [[*row[:5], name] for row in rows if row[0] in queries and int(row[3]) <= 10]
    write_submission(repository, name, "".join(" ".join(row) + "\n" for row in kept), **about)
    return name


def answers_of(study: Path) -> dict[str, object]:
    """All versions of the answers, and how each was found."""
    stored = contents(study)
    with Study(study).transaction(write=False) as db:
        for table in ("duels", "challengers"):
            stored[table] = sorted(db.execute(f"SELECT * FROM {table}"), key=repr)
        for table, key in (("answers", "version"), ("pooled", "source")):  # without the times of this store
            stored[table] = sorted(db.execute(f"SELECT query_id, doc_id, {key} FROM {table}"))
    kept = ("answers", "duels", "challengers", "pooled", "pairs")
    return {table: stored[table] for table in kept}


def runs_of(study: Path) -> list[str]:
    with Study(study).transaction(write=False) as db:
        return [one.name for one in load_inputs(db) if one.kind == "run"]


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    if missing := [name for name in ("git", "make", "xargs") if which(name) is None]:
        pytest.skip(f"no {missing[0]}: a board's months are walked with it")
    with program_of_that_name() as prefjudge:
        yield Workshop(prefjudge)


@pytest.fixture(scope="module")
def walked(data_dir: Path, workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository after three months."""
    place = tmp_path_factory.mktemp("board") / "leaderboard"
    cacm, git = data_dir / "cacm", lambda *words, **how: workshop(place, "git", *words, **how)
    make = lambda *words, **how: workshop(place, "make", *words, **how)  # noqa: E731
    simulated = "JUDGE=--sandbox --yes --workers 4 --error 0"

    # month 1: the first board, with the house's own runs
    board("init", place)
    fix_key(place)
    let_all_work_at_once(place)
    edit(place, ("maintainers = []", 'maintainers = ["ada"]'), ("gold_per_hit = 3", "gold_per_hit = 0"))
    queries = (cacm / "queries.tsv").read_text().splitlines()[:3]
    (place / "data" / "queries.tsv").write_text("\n".join(queries) + "\n")
    for name in ("qrels.txt", "collection.tsv"):
        (place / "data" / name).symlink_to(cacm / name)
    for run in ("bm25", "tfidf", "lsi100"):
        submit(place, cacm, run)
    git("init", "-q", "-b", "main")
    make("hooks")
    git("add", ".")
    git("commit", "-qm", "The board")
    assert "study.db" not in git("ls-files")
    make("pool")
    make("judge", f"{simulated} --strategy round-robin:1")
    make("log")
    git("add", "log")
    git("commit", "-qm", "What was judged in month 1")

    # month 2: a run comes as a pull request
    git("checkout", "-qb", "eve-1")
    name = submit(place, cacm, "char4", team="Eve's", submitter="eve")
    git("add", "submissions")
    git("commit", "-qm", "A run")
    assert f"{name} (Eve's): shown" in make("check", "BASE=main", "SUBMITTER=eve")
    assert f"| `{name}` | `Eve's` | shown | 30 | 3 |" in (place / "comment.md").read_text()
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-ff", "--no-edit", "eve-1")
    assert "best-known answers of" in make("challenge")
    assert "the challenge that is under way" in make("cost", "PLAN=--trials 1 --error 0.1")
    make("judge", simulated)
    make("log")
    git("add", "log")
    git("commit", "-qm", "What was judged in month 2")

    # month 3: one is withdrawn, one comes under an embargo, one is bad
    git("checkout", "-qb", "eve-2")
    until = (TODAY + timedelta(days=30)).isoformat()
    taken = {"withdrawn": TODAY.isoformat(), "withdrawn_because": "trained on the labels"}
    submit(place, cacm, "char4", team="Eve's", submitter="eve", **taken)
    later = submit(place, cacm, "ql-jm", team="Eve's", submitter="eve", embargo_until=until)
    git("add", "submissions")
    git("commit", "-qm", "Withdraw one, and one for later")
    assert f"{later} (Eve's): embargoed" in make("check", "BASE=main", "SUBMITTER=eve")
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-ff", "--no-edit", "eve-2")
    assert "newcomer" not in make("challenge")
    git("checkout", "-qb", "mallory")
    bad = submit(place, cacm, "bm25-rm3", submitter="mallory", type="magic")
    run = place / "submissions" / f"{bad}.txt"
    run.write_text(run.read_text() + "one line too short\n")
    git("add", "submissions")
    git("commit", "-qm", "A bad run")
    said = make("check", "BASE=main", "SUBMITTER=mallory", fails=True)
    assert "type 'magic' is none of: full ranking, reranking" in said
    assert f"error: submissions/{bad}.txt: 31:1: " in said
    git("checkout", "-q", "main")
    make("site")
    # what a careless `git add .` would commit is what the maintainer wrote
    assert "?? " not in git("status", "--short")
    return place


def test_what_is_shown_follows_the_embargo_and_who_withdrew(walked: Path) -> None:
    def shown(day: date) -> list[str]:
        found = board("runs", walked, as_of=day.isoformat()).submissions
        return [one.name.partition("-")[2] for one in found]

    assert shown(TODAY) == ["bm25", "lsi100", "tfidf"]
    assert shown(TODAY + timedelta(days=30)) == ["bm25", "lsi100", "ql-jm", "tfidf"]
    new = board("runs", walked, new=True, as_of=(TODAY + timedelta(days=30)).isoformat())
    assert [one.name.partition("-")[2] for one in new.submissions] == ["ql-jm"]


def test_the_site_shows_who_is_shown(walked: Path) -> None:
    pages = "".join(path.read_text() for path in (walked / "site").rglob("*.html"))
    assert "bm25" in pages
    assert not [run for run in ("char4", "ql-jm", "bm25-rm3") if f"{TODAY:%Y%m%d}-{run}" in pages]
    # the house submitted three at once, which the check allows a maintainer
    assert "The audit found nothing." in pages
    assert "within 30 days" not in pages


def test_a_fresh_clone_is_the_same_study(walked: Path, workshop: Workshop, tmp_path: Path) -> None:
    workshop(tmp_path, "git", "clone", "-q", str(walked), "clone")
    clone = tmp_path / "clone"
    (clone / "data").symlink_to(walked / "data")
    workshop(clone, "make", "rebuild")
    assert answers_of(clone) == answers_of(walked)
    for study in (walked, clone):
        resolve(study, out=tmp_path / f"{study.name}.qrels")
    assert (tmp_path / "clone.qrels").read_bytes() == (tmp_path / "leaderboard.qrels").read_bytes()
    assert board("runs", clone, new=True).submissions == ()
    met = [[run.rpartition("-")[2] for run in runs_of(study)] for study in (walked, clone)]
    assert met[0] == met[1] == ["bm25", "lsi100", "tfidf", "char4"], "as they came, and not by name"
    assert board("log", clone).logged == 0, "the log says the same of the study that is made of it"
    assert "?? " not in workshop(clone, "git", "status", "--short")


def test_the_log_holds_nobody(walked: Path) -> None:
    log = (walked / LOG_FILE).read_text()
    with Study(walked).transaction(write=False) as db:
        private = [
            row[0] for row in db.execute("SELECT worker_id FROM assignments UNION SELECT hit_id FROM hits")
        ]
    assert private
    assert not [one for one in private if one in log]
    assert str(walked) not in log


def test_a_log_written_at_once_has_the_runs_as_they_came(walked: Path, tmp_path: Path) -> None:
    extend_log(Study(walked), tmp_path / "log.jsonl")
    lines, _ = read_log((tmp_path / "log.jsonl").read_bytes(), "")
    assert [line.row["name"] for line in lines if line.kind == "run"] == runs_of(walked)


def test_a_line_that_is_changed_removed_or_moved_is_found(walked: Path, tmp_path: Path) -> None:
    lines = (walked / LOG_FILE).read_bytes().splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if b'"choice": "left"' in line)
    turned = [*lines]
    turned[place] = turned[place].replace(b'"left", "strength"', b'"right", "strength"')
    swapped = [*lines]
    swapped[place], swapped[place + 1] = swapped[place + 1], swapped[place]
    for number, wrong in (
        (place + 1, turned),
        (place + 1, lines[:place] + lines[place + 1 :]),
        (place + 1, swapped),
    ):
        assert wrong != lines
        (tmp_path / "log.jsonl").write_bytes(b"".join(wrong))
        board("init", tmp_path / "new")
        with pytest.raises(InputError, match=rf"log\.jsonl:{number}: the chain is broken"):
            import_votes(tmp_path / "new", tmp_path / "log.jsonl")
        with Study(tmp_path / "new").transaction(write=False) as db:
            assert not db.execute("SELECT 1 FROM pooled LIMIT 1")


def test_a_log_goes_with_its_own_study_into_an_empty_one(walked: Path, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="has a pool or judgments already"):
        import_votes(walked, walked / LOG_FILE)
    board("init", tmp_path / "other")
    (tmp_path / "log.jsonl").write_bytes((walked / LOG_FILE).read_bytes())
    with pytest.raises(StudyError, match="is a judgment that the study's store does not have"):
        extend_log(Study(tmp_path / "other"), tmp_path / "log.jsonl")


STRANGE = {
    "which is not in the study's folder": '"kind": "run", "path": "../../x", "digest": "", "name": "r"',
    "a candidate of other": '"kind": "candidate", "query_id": "q", "doc_id": "d\\u0000", "source": "s"',
    "a pair of other": '"kind": "pair", "query_id": "q", "doc_a": "a", "doc_b": "b", "pair_id": 9e99',
    "two pairs of one": (
        '"kind": "pair", "query_id": "q", "doc_a": "a", "doc_b": "b", "pair_id": 1, "votes": 1'
    ),
    "a challenger of": '"kind": "challenger", "challenge": 9, "query_id": "q", "doc_id": "d", "source": "s"',
    "is a 'settings' without its key": '"kind": "settings", "key": "secret", "value": "00"',
    "a strategy of other": '"kind": "strategy", "key": "strategy", "value": "x", "target": "y"',
    "not an assignment": '"kind": "assignment", "assignment": "x", "answered": 1e99',
}


def test_a_strangers_log_with_a_chain_that_is_right_stores_nothing(walked: Path, tmp_path: Path) -> None:
    data = (walked / LOG_FILE).read_bytes()
    _, chain = read_log(data, "")
    board("init", tmp_path / "new")
    for words, row in STRANGE.items():
        (tmp_path / "log.jsonl").write_bytes(data + write_lines([json.loads(f"{{{row}}}")], chain))
        with pytest.raises((InputError, StudyError), match=words):
            import_votes(tmp_path / "new", tmp_path / "log.jsonl")
    with Study(tmp_path / "new").transaction(write=False) as db:
        for table in ("pooled", "pairs", "judgments", "inputs"):
            assert not db.execute(f"SELECT 1 FROM {table} LIMIT 1")


def test_a_log_of_what_is_not_judged_yet_makes_the_study_again(tmp_path: Path) -> None:
    """With the texts of its candidates, which nobody has compared: they are to be shown next."""
    for name in ("first", "again"):
        init(tmp_path / name, config="demo", name="board")
    pool_runs(tmp_path / "first", RUNS[:2])
    assert extend_log(Study(tmp_path / "first"), tmp_path / "log.jsonl")
    texts = {name: COLLECTION / f"{name}.tsv" for name in ("queries", "collection")}
    made = import_votes(tmp_path / "again", tmp_path / "log.jsonl", **texts)
    assert (made.votes, made.read_as) == (0, "board-log")
    first, again = (contents(tmp_path / name) for name in ("first", "again"))
    for table, columns in (("pooled", 3), ("pairs", 5), ("queries", 2), ("passages", 3)):
        assert [row[:columns] for row in first[table]] == [row[:columns] for row in again[table]], table
    assert first["passages"]
    assert extend_log(Study(tmp_path / "again"), tmp_path / "log.jsonl") == 0
