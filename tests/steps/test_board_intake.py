"""What strangers send to a leaderboard in Git: each attack is refused, with the file and the reason."""

import gzip
import json
import os
import re
import subprocess
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from shutil import which

import pytest
import yaml
from typer.testing import CliRunner

from prefjudge.cli.app import app
from prefjudge.errors import InputError, StudyError
from prefjudge.reading.votes.votes import read_log, write_lines
from prefjudge.steps.board.board import BoardResult, board
from prefjudge.steps.board.repository import LOG_FILE, Git
from prefjudge.steps.board.submissions import FOLDER
from tests.steps.repositories import TODAY, commit_all, git, write_submission

BOARD = Path(__file__).parents[2] / "configs" / "board"
OLD = f"{TODAY - timedelta(days=60):%Y%m%d}-old"
NEW = f"{TODAY:%Y%m%d}-new"
ROWS = [{"kind": "candidate", "query_id": "q1", "doc_id": doc, "source": "old"} for doc in "abc"]
Change = Callable[[Path], None]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board with one run, of eve's, and a log."""
    place = tmp_path_factory.mktemp("intake") / "board"
    board("init", place)
    config = place / "study.toml"
    tight = {
        "maintainers = []": 'maintainers = ["ada"]',
        "megabytes = 50 ": "megabytes = 0.02 ",
        "unpacked_megabytes = 1000": "unpacked_megabytes = 0.05",
    }
    text = config.read_text()
    for old, new in tight.items():
        assert old in text
        text = text.replace(old, new)
    config.write_text(text)
    until = (TODAY + timedelta(days=9)).isoformat()
    write_submission(place, OLD, submitter="eve", team="Eve's", embargo_until=until)
    (place / "log").mkdir()
    (place / LOG_FILE).write_bytes(write_lines(ROWS, ""))
    commit_all(place)
    git(place, "branch", "base")
    return place


def attempt(repository: Path, change: Change, submitter: str = "eve") -> BoardResult:
    """Return what the check says of a change."""
    git(repository, "checkout", "-qf", "-B", "attempt", "base")
    git(repository, "clean", "-qffd")  # also other repositories
    change(repository)
    git(repository, "add", "-Af")
    git(repository, "commit", "-q", "--allow-empty", "--no-verify", "-m", "An attempt")
    return board("check", repository, base="base", submitter=submitter)


def new(**about: object) -> Change:
    return lambda place: write_submission(place, NEW, **{"submitter": "eve", "team": "Eve's", **about})


def said(**about: object) -> Change:
    """Change what is said of the run that is in."""

    def change(place: Path) -> None:
        path = place / FOLDER / f"{OLD}-metadata.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **about}))

    return change


def file(path: str, text: str = "x") -> Change:
    def change(place: Path) -> None:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)

    return change


def packed(place: Path) -> None:
    new()(place)
    run = place / FOLDER / f"{NEW}.txt"
    with gzip.open(f"{run}.gz", "wb") as packed:
        packed.write(b"q1 Q0 d1 1 2.5 tag\n" * 10_000)
    run.unlink()


def torn(place: Path) -> None:
    packed(place)
    run = place / FOLDER / f"{NEW}.txt.gz"
    run.write_bytes(run.read_bytes()[:100])


def linked(place: Path) -> None:
    new()(place)
    run = place / FOLDER / f"{NEW}.txt"
    run.unlink()
    run.symlink_to("/etc/passwd")


def program(place: Path) -> None:
    new()(place)
    (place / FOLDER / f"{NEW}.txt").chmod(0o755)


def turned(place: Path) -> None:
    log = place / LOG_FILE
    log.write_bytes(log.read_bytes().replace(b'"doc_id": "b"', b'"doc_id": "z"'))


def made_anew(place: Path) -> None:
    """A line less, and every link of the chain right."""
    (place / LOG_FILE).write_bytes(write_lines(ROWS[1:], ""))


def many_teams(place: Path) -> None:
    for number in range(3):
        write_submission(place, f"{TODAY:%Y%m%d}-n{number}", submitter="eve", team=f"Team {number}")


def removed_later(place: Path) -> None:
    """A store in one commit, which the next one removes."""
    (place / FOLDER / f"{NEW}.txt").write_bytes(b"SQLite format 3\0 and so on")
    git(place, "add", "-A")
    git(place, "commit", "-q", "--no-verify", "-m", "Oh")
    new()(place)


def another_repository(path: str) -> Change:
    """A link to a commit of another repository in the place of a file."""

    def change(place: Path) -> None:
        inner = place / path
        inner.unlink(missing_ok=True)
        inner.mkdir(parents=True)
        git(inner, "init", "-q")
        git(inner, "commit", "-q", "--allow-empty", "-m", "x")

    return change


def in_utf_16(place: Path) -> None:
    """Metadata that JSON's reader takes, and the site does not."""
    new(embargo_until=LATER)(place)
    (place / ABOUT).write_bytes((place / ABOUT).read_text().encode("utf-16"))


def both(*changes: Change) -> Change:
    def change(place: Path) -> None:
        for one in changes:
            one(place)

    return change


def rows(text: str) -> Change:
    """A new submission whose run is this text."""
    return lambda place: write_submission(place, NEW, text, submitter="eve")


def on(days: int) -> Change:
    """A new submission with the date of another day."""
    name = f"{TODAY + timedelta(days=days):%Y%m%d}-new"
    return lambda place: write_submission(place, name, submitter="eve")


def rules(line: str) -> Change:
    return file("study.toml", f'name = "x"\nid = "y"\n[board]\n{line}\n')


def without(path: str) -> Change:
    return lambda place: (place / path).unlink()


ABOUT = f"{FOLDER}/{NEW}-metadata.json"
LATER = (TODAY + timedelta(days=30)).isoformat()
ATTACKS: dict[str, tuple[Change, str]] = {
    "a folder": (file(f"{FOLDER}/deep/{NEW}.txt"), "not the name of a submission's file"),
    "capitals": (file(f"{FOLDER}/{NEW.upper()}.txt"), "not the name of a submission's file"),
    "only capitals": (file(f"{FOLDER}/{OLD[:-3]}Old.txt"), "only in capital letters"),
    "another folder's capitals": (file(f"Submissions/{NEW}.txt"), "not the name of a submission's file"),
    "no date": (file(f"{FOLDER}/20260231-new.txt"), "20260231 is not a date"),
    "a newline": (file(f"{FOLDER}/{NEW}\n.txt"), "not the name of a submission's file"),
    "a link": (linked, "is a symbolic link, and not a plain file"),
    "a program": (program, "is a program, and not a plain file"),
    "too large": (
        rows("q1 Q0 d1 1 2.5 {name}\n" * 2000),
        "bytes; at most 20,000 are allowed",
    ),
    "unpacks to more": (packed, "has more than 0.05 MB unpacked"),
    "torn": (torn, "the gz data ends before its end"),
    "another's tag": (rows("q1 Q0 d1 1 2.5 bm25\n"), f"its tag is 'bm25', and should be '{NEW}'"),
    "not a run": (rows("<html>\n"), ""),
    "two runs": (both(new(), file(f"{FOLDER}/{NEW}.txt.gz")), "is its run already"),
    "no metadata": (file(f"{FOLDER}/{NEW}.txt", "q1 Q0 d1 1 2.5 x\n"), "-metadata.json is missing"),
    "no run": (file(f"{FOLDER}/{NEW}-metadata.json", "{}"), "its run submissions/"),
    "not JSON": (both(new(), file(ABOUT, "[" * 60_000)), "not JSON"),
    "a key twice": (
        both(new(), file(ABOUT, '{"team": "a", "team": "b"}')),
        "a key appears twice",
    ),
    "unknown key": (new(score=1), "score: there is no such key"),
    "not text": (new(team=3), "team: Input should be a valid string (got '3')"),
    "another type": (new(type="magic"), "type 'magic' is none of: full ranking, reranking"),
    "a script as a link": (new(paper="javascript:alert(1)"), "paper: "),
    "somebody else": (new(submitter="bob"), "submitter is 'bob', and 'eve' submits it"),
    "backdated": (
        on(-9),
        "must be one of the last 7 days",
    ),
    "too early": (
        on(3),
        "must be one of the last 7 days",
    ),
    "an embargo in the past": (new(embargo_until="2020-01-01"), "embargo_until 2020-01-01 must be after"),
    "an embargo for ever": (new(embargo_until="9999-12-31"), "embargo_until 9999-12-31 must be after"),
    "withdrawn at once": (
        new(withdrawn="2026-01-01", withdrawn_because="x"),
        "a new submission cannot be withdrawn",
    ),
    "withdrawn on a day to come": (
        said(withdrawn="2099-01-01", withdrawn_because="x"),
        "withdrawn 2099-01-01 is in the future",
    ),
    "withdrawn without a word": (said(withdrawn="2026-01-01"), "go together"),
    "a longer embargo": (said(embargo_until=LATER), "an embargo may be shortened, not added or made longer"),
    "another team": (said(team="Bob's"), 'team stays "Eve\'s"'),
    "another owner": (said(submitter="bob"), "submitter stays 'eve'"),
    "an edited run": (file(f"{FOLDER}/{OLD}.txt", "q1 Q0 d9 1 2.5 x\n"), "an accepted run cannot be changed"),
    "a removed run": (without(f"{FOLDER}/{OLD}.txt"), "an accepted run cannot be changed"),
    "removed metadata": (without(f"{FOLDER}/{OLD}-metadata.json"), "take the run back"),
    "what explains how to submit": (file(f"{FOLDER}/README.md", "Mail it to me"), "only a maintainer"),
    "another repository as a run": (another_repository(f"{FOLDER}/{NEW}.txt"), "is another repository"),
    "another repository as metadata": (another_repository(ABOUT), "is another repository"),
    "another repository as the log": (another_repository(LOG_FILE), "must stay, as a plain file"),
    "UTF-16": (in_utf_16, "not UTF-8 text"),
    "a team like another but for what nobody sees": (new(team="Eve\u200b's"), "has the character U+200B"),
    "a team that reads like another": (
        new(team="Ev\u0435's"),
        "has letters of CYRILLIC and LATIN in one word",
    ),
    "a team that breaks the line": (new(team="x\n::error::y"), "has the character U+000A"),
    "looser rules": (rules("per_team = 99"), "only a maintainer"),
    "its own maintainer": (rules('maintainers = ["eve"]'), "only a m"),
    "the workflow": (file(".github/workflows/submission.yml"), "only a maintainer changes this"),
    "a turned line": (turned, "earlier lines of the log were changed"),
    "a chain made anew": (made_anew, "earlier lines of the log were changed"),
    "no log": (without(LOG_FILE), "the log of judgments must stay"),
    "many teams of one": (
        many_teams,
        "3 submissions within 30 days: at most 2 are allowed, unless a maintainer submits them",
    ),
    "a store by its name": (file("study.db"), "named like a store"),
    "gold": (file(f"{FOLDER}/gold.tsv"), "named like a store, a secret, gold pairs"),
    "a store that was removed": (removed_later, "a store, whatever its name"),
    "a key in a text": (new(model_description="with AKIA" + "B" * 16), "contains a key"),
}


def test_each_attack_is_refused_and_says_where(repository: Path) -> None:
    """In one test: each takes some 20 calls of Git, and no more of anything."""
    for name, (change, words) in ATTACKS.items():
        found = attempt(repository, change)
        assert not found.ok, name
        assert any(words in one.what for one in found.problems), (name, found.problems)
        assert all(one.path and "\0" not in one.path for one in found.problems), name


def test_what_may_come_in(repository: Path) -> None:
    allowed: dict[str, tuple[Change, str]] = {
        "a run": (new(embargo_until=LATER), "eve"),
        "a shorter embargo": (said(embargo_until=TODAY.isoformat()), "eve"),
        "withdrawn": (said(withdrawn=TODAY.isoformat(), withdrawn_because="a fault"), "eve"),
        "withdrawn for another": (said(withdrawn=TODAY.isoformat(), withdrawn_because="a fault"), "ada"),
        "a maintainer's": (file("README.md"), "ada"),
        "a team of two scripts": (new(team="北京 University, α-team Москва"), "eve"),
        "a longer log": (longer_log, "ada"),
        "many of the house": (
            both(*(partial(write_submission, name=f"{TODAY:%Y%m%d}-h{n}") for n in range(4))),
            "ada",
        ),
    }
    for name, (change, submitter) in allowed.items():
        assert attempt(repository, change, submitter).problems == (), name


def longer_log(place: Path) -> None:
    data = (place / LOG_FILE).read_bytes()
    (place / LOG_FILE).write_bytes(data + write_lines([{**ROWS[0], "doc_id": "d"}], read_log(data, "")[1]))


def test_nobody_changes_anothers(repository: Path) -> None:
    for submitter, words in (("bob", "is changed by bob"), ("", "by a submitter whom nobody named")):
        found = attempt(repository, said(model_description="worse"), submitter)
        assert [words in one.what for one in found.problems] == [True]
    found = attempt(repository, new(submitter="bob", team="EVE'S"), "bob")
    assert found.ok
    assert [one.what for one in found.warnings if "team" in one.what] == [
        "so far eve submitted for this team, and now bob"
    ]


def test_rules_that_cannot_be_read_do_not_come_in_and_can_be_mended(repository: Path) -> None:
    """Where they came in all the same, the last ones that could be read say who may mend them."""
    mend, named = rules('maintainers = ["ada"]'), rules('maintainers = ["mallory"]')
    found = attempt(repository, rules("maintainers = 5"), "ada")
    (problem,) = found.problems
    assert (problem.path, "maintainers" in problem.what) == ("study.toml", True)
    git(repository, "branch", "-f", "broken")
    for submitter, change, problems in (("ada", mend, 0), ("mallory", named, 1), ("eve", new(), 0)):
        git(repository, "checkout", "-qf", "-B", "attempt", "broken")
        change(repository)
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "--no-verify", "-m", "On it")
        found = board("check", repository, base="broken", submitter=submitter)
        assert "cannot be read in the base, so the rules of" in found.warnings[0].what
        assert len(found.problems) == problems, submitter


def test_a_new_run_is_held_beside_those_that_are_in(repository: Path) -> None:
    copied = attempt(repository, new())
    assert copied.audit == (f"twins: {NEW} and {OLD} return the same documents in the same places",)
    found = attempt(repository, rows("q2 Q0 d1 1 2.5 {name}\n"))
    assert found.audit == ()
    assert "has no answer to 1 of 2 queries that other runs answer, such as q1" in str(found.warnings)
    git(repository, "checkout", "-qf", "-B", "torn", "base")
    (repository / FOLDER / f"{OLD}.txt").write_text("torn\n")
    git(repository, "commit", "-qam", "x", "--no-verify")
    git(repository, "checkout", "-qb", "after")
    new()(repository)
    commit_all(repository)
    found = board("check", repository, base="torn", submitter="eve")
    assert (found.ok, found.audit) == (True, ())
    assert "some runs of the board cannot be read" in str(found.warnings)


def test_logins_and_teams_are_the_same_in_other_letters(repository: Path) -> None:
    assert attempt(repository, file("README.md"), "ADA").ok
    for submitter, team in (("Eve", "Eve's"), ("bob", "Ｅｖｅ's ")):
        found = attempt(repository, new(submitter=submitter, team=team), submitter)
        notes = [one.what for one in found.warnings if "for this team" in one.what]
        assert (found.problems, len(notes)) == ((), submitter == "bob")


def test_a_submitter_whom_nobody_verified_is_a_note(repository: Path) -> None:
    found = attempt(repository, new(submitter="ada"), "")
    assert found.ok
    assert any("nobody has verified that ada submits it" in one.what for one in found.warnings)


def test_the_terminal_and_the_workflow_read_no_command_in_a_name(repository: Path) -> None:
    attempt(repository, both(*(file(f"{FOLDER}/{name}.txt") for name in ("\n::error::x", "\x9b31m\x07y"))))
    words = ["board", "check", str(repository), "--base", "base", "--submitter", "eve"]
    for form in ("terminal", "github"):
        done = CliRunner().invoke(app, [*words, "--format", form])
        assert done.exit_code == 1
        assert not re.search(r"^::error::", done.output, re.MULTILINE)
        assert form == "github" or not re.search("[\x07\x9b]", done.output)


def test_all_small_files_are_read_by_one_program(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    run = Git._run
    monkeypatch.setattr(
        Git, "_run", lambda git, *words, feed=b"": (calls.append(words[0]), run(git, *words, feed=feed))[1]
    )
    counts = []
    for files in (1, 20):
        attempt(repository, both(*(file(f"{FOLDER}/{n}.txt", str(n)) for n in range(files))))
        counts.append(len(calls))
        calls.clear()
    assert counts[0] == counts[1]


def test_the_workflows_give_no_right_and_no_word_to_a_stranger() -> None:
    """Their text, as GitHub reads it: what a stranger names is in no script, and nobody else's code moves."""
    flows = {path.name: yaml.safe_load(path.read_text()) for path in (BOARD / "workflows").iterdir()}
    assert set(flows) == {"submission.yml", "comment.yml", "board.yml"}
    for flow in flows.values():
        assert "pull_request_target" not in flow[True], "`on` is a truth of YAML"
        steps = [step for job in flow["jobs"].values() for step in job["steps"]]
        assert not [step for step in steps if "${{" in step.get("run", "")]
        assert all(
            re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"]) for step in steps if "uses" in step
        )
        assert "secrets." not in str(flow)
    assert flows["submission.yml"]["permissions"] == {"contents": "read"}
    assert "permissions" not in flows["submission.yml"]["jobs"]["check"]
    assert flows["comment.yml"]["permissions"] == flows["board.yml"]["permissions"] == {}
    (comment,) = flows["comment.yml"]["jobs"].values()
    assert comment["permissions"] == {"actions": "read", "pull-requests": "write"}
    assert not [step for step in comment["steps"] if "checkout" in step.get("uses", "")]


def test_make_gives_no_shell_what_others_chose(repository: Path, tmp_path: Path) -> None:
    if which("make") is None:
        pytest.skip("no make")
    planted = tmp_path / "planted"
    for name in ("BASE", "SUBMITTER"):
        hostile = f"x'\"; touch {planted} #$(touch {planted})"
        env = {**os.environ, "PREFJUDGE": "echo", name: hostile}
        done = subprocess.run(
            ["make", "-f", BOARD / "Makefile", "check"],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            check=True,
        )
        assert hostile.encode() in done.stdout.splitlines()[-1]
    assert not planted.exists()


def test_make_pools_nothing_before_a_run_is_in(tmp_path: Path) -> None:
    if which("make") is None:
        pytest.skip("no make")
    done = subprocess.run(
        ["make", "-f", BOARD / "Makefile", "pool", "PREFJUDGE=true"],  # a board whose `runs` prints nothing
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "no run is in yet: put one under submissions/ and commit it" in done.stderr


def test_a_large_file_is_not_read(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    run = Git.blob
    monkeypatch.setattr(Git, "blob", lambda git, one, most=-1: (asked.append(most), run(git, one, most))[1])
    large = ATTACKS["too large"][0]
    assert not attempt(repository, large).ok
    assert asked
    unbounded = asked.count(-1)
    asked.clear()
    attempt(repository, lambda place: None)
    assert asked.count(-1) == unbounded, "its bytes were asked for without a limit"


def test_two_that_are_merged_at_once_are_found_on_the_main_branch(repository: Path) -> None:
    def one(name: str) -> Change:
        return lambda place: write_submission(place, f"{TODAY:%Y%m%d}-{name}", submitter="eve", team="Eve's")

    for name in ("one", "two"):
        assert attempt(repository, both(one("zero"), one(name))).ok
        git(repository, "branch", "-f", name)
    git(repository, "checkout", "-qf", "one")
    git(repository, "merge", "-q", "--no-edit", "two")
    found = board("check", repository)
    assert any("has 3 submissions within 30 days" in one.what for one in found.problems)
    with pytest.raises(StudyError, match="things are wrong with what is there"):
        board("runs", repository)
    # the second one, checked again once the first is in, does not come in
    late = board("check", repository, base="one^", head="two", submitter="eve")
    assert any("has 3 submissions within 30 days" in one.what for one in late.problems)


def test_a_tree_that_no_working_copy_can_have_is_refused(repository: Path) -> None:
    """Git itself would not check it out: a path that leaves the folder."""
    git(repository, "checkout", "-qf", "-B", "attempt", "base")
    blob = git(repository, "hash-object", "-w", "--stdin", feed=b"q1 Q0 d1 1 2.5 x\n")
    tree = git(repository, "rev-parse", "base:submissions")
    entry = b"40000 ..\0" + bytes.fromhex(tree) + f"100644 {NEW}.txt\0".encode() + bytes.fromhex(blob)
    inner = git(repository, "hash-object", "-t", "tree", "-w", "--stdin", "--literally", feed=entry)
    outer = f"040000 tree {inner}\tsubmissions\n".encode()
    kept = git(repository, "ls-tree", "base").encode().split(b"\n")
    outer += b"\n".join(line for line in kept if not line.endswith(b"\tsubmissions")) + b"\n"
    commit = git(repository, "commit-tree", "-p", "base", "-m", "x", git(repository, "mktree", feed=outer))
    found = board("check", repository, base="base", head=commit, submitter="eve")
    assert any(one.path.startswith("submissions/../") for one in found.problems)
    assert any("not the name of a submission's file" in one.what for one in found.problems)


def test_the_hook_refuses_a_store_and_a_changed_log(repository: Path) -> None:
    git(repository, "checkout", "-qf", "-B", "attempt", "base")
    for change, words in ((file("notes.db"), "a store"), (turned, "lines may only be added")):
        git(repository, "reset", "-q", "--hard", "base")
        assert board("check", repository, staged=True).ok
        change(repository)
        git(repository, "add", "-Af")
        assert words in str(board("check", repository, staged=True).problems[0])


def test_the_comment_names_and_links_nobody(repository: Path, tmp_path: Path) -> None:
    hostile = "@all `x` | <img src=https://example.org/x>\n# head [a](https://example.org)"
    attempt(repository, new(team=hostile, type="`@all`"))
    board("check", repository, base="base", submitter="eve", out=tmp_path / "comment.md")
    said = (tmp_path / "comment.md").read_text()
    outside = "".join(part for place, part in enumerate(said.split("`")) if place % 2 == 0)
    assert not [one for one in ("@", "<", "[", "https:") if one in outside]
    assert said.count("`") % 2 == 0


def test_annotations_stand_beside_the_files(repository: Path) -> None:
    attempt(repository, new(type="magic"))
    done = CliRunner().invoke(
        app, ["board", "check", str(repository), "--base", "base", "--submitter", "eve", "--format", "github"]
    )
    assert done.exit_code == 1
    assert f"::error file=submissions/{NEW}-metadata.json::type 'magic'" in done.stdout


def test_what_is_not_a_board_is_said(tmp_path: Path, repository: Path) -> None:
    with pytest.raises(StudyError, match="is not a board"):
        board("check", tmp_path)
    for ref in ("nowhere", "--output=x", ""):
        with pytest.raises(InputError, match="has no commit"):
            board("check", repository, base=ref or " ")
    board("init", repository / "inner")
    with pytest.raises(StudyError, match="is inside a repository"):
        board("check", repository / "inner")
    with pytest.raises(InputError, match="not a date"):
        board("runs", repository, as_of="tomorrow")


def test_a_repository_is_made_once_and_what_is_in_it_stays(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "made")
    made = tmp_path / "made"
    assert "Makefile" in board("init", made).written
    with pytest.raises(InputError) as without_commit:
        board("check", made)
    assert "git commit" in (without_commit.value.hint or "")
    (made / "Makefile").write_text("mine")
    before = (made / "study.toml").read_text(), (made / ".gitignore").read_text()
    assert board("init", made).written == ()
    assert (made / "Makefile").read_text() == "mine"
    assert ((made / "study.toml").read_text(), (made / ".gitignore").read_text()) == before
    assert os.access(made / ".githooks" / "pre-commit", os.X_OK)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thing").write_text("x")
    with pytest.raises(StudyError, match="is not a study"):
        board("init", tmp_path / "full")
