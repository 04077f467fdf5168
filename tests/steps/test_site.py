"""The living leaderboard: pages that say what the other verbs say, and a folder that is kept with care."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from shutil import copytree

import pytest

from prefjudge import audit, compare, gold, import_votes, init, pool, report, resolve, score
from prefjudge.core.planning.rounds import conclude_challenge, parse_strategy
from prefjudge.core.planning.sure import Sure
from prefjudge.core.runs import restrict
from prefjudge.errors import InputError, StudyError
from prefjudge.evaluation.boards import LeaderboardRow
from prefjudge.field.challenge import resume_challenge
from prefjudge.field.history import history
from prefjudge.reading.labels import write_qrels
from prefjudge.reading.leaderboards import read_leaderboard, read_measure
from prefjudge.show.cells import RING
from prefjudge.steps.report.site.runs_and_queries import in_order
from prefjudge.steps.report.site.site import SiteResult, check_folder, write_site
from prefjudge.study.answers import load_answers, load_open_challenge, save_answers, save_conclusion
from prefjudge.study.assignments import load_judgments
from prefjudge.study.pools import load_pools
from prefjudge.study.store import Study
from prefjudge.words import chance_text
from tests.steps.conftest import COLLECTION, fix_key
from tests.steps.test_road import TRUTH
from tests.steps.test_run import RUNS, pool_runs

ATOM = "{http://www.w3.org/2005/Atom}"


class Cells(HTMLParser):
    """The tables of a page, by their titles: their headings, then their rows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.title = self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.tables[self.title].append([])
        if tag in ("caption", "td", "th"):
            self.text = ""

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "caption":
            self.title = self.text.partition("rehearsal:")[0]
            self.tables[self.title] = []
        if tag in ("td", "th"):
            self.tables[self.title][-1].append(self.text)


def table(path: Path, title: str) -> list[dict[str, str]]:
    """The rows of the table whose title begins so, by their headings."""
    tables = Cells(path.read_text()).tables
    heads, *rows = next(rows for name, rows in tables.items() if name.startswith(title))
    return [dict(zip(heads, (cell.rstrip(RING) for cell in row), strict=True)) for row in rows]


def everything(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def places(rows: tuple[LeaderboardRow, ...], measure: str) -> list[dict[str, str]]:
    return [
        {"rank": str(row.rank or "–"), "run": row.run, measure: f"{row.score:.4f}", "low": f"{row.low:.4f}"}
        for row in rows
    ]


def vote(study: Path, folder: Path) -> None:
    """Have two workers compare all candidates of each query, without an error."""
    with Study(study).transaction(write=False) as db:
        pools = load_pools(db, newcomers=True)
    rows = (line.split("\t") for line in TRUTH.read_text().splitlines()[1:])
    worth = {(query, doc): float(utility) for query, doc, utility in rows}
    docs: dict[str, list[str]] = {}
    for query, doc in zip(pools.query.tolist(), pools.doc.tolist(), strict=True):
        docs.setdefault(pools.queries[query], []).append(pools.docs[doc])
    lines = [
        f"{query} {a} {b} {max(a, b, key=lambda doc: worth[query, doc])} {worker}\n"
        for query, several in docs.items()
        for a, b in combinations(several, 2)
        for worker in ("ann-the-worker", "ben-the-worker")
    ]
    import_votes(study, made_file(folder / f"votes-{len(lines)}", "".join(lines)), judge="simulated")


def made_file(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with two versions of its answers: of three runs, and of three more that challenged them."""
    study = tmp_path_factory.mktemp("driven") / "study"
    init(study, config="demo", name="trial")
    fix_key(study)
    pool_runs(study, RUNS[:3])
    gold(study, accept=True, file=COLLECTION / "gold.tsv")
    vote(study, study.parent)
    resolve(study)
    pool_runs(study, RUNS[3:], challenge=True)
    vote(study, study.parent)
    opened = Study(study)
    with opened.transaction(write=False) as db:
        challenge, log = load_open_challenge(db), load_judgments(db)
    assert challenge is not None
    strategy = parse_strategy(challenge.strategy)
    assert isinstance(strategy, Sure)
    after, duels = conclude_challenge(resume_challenge(opened, challenge), log, strategy)
    with opened.transaction() as db:
        # one query has no answer: the boards are over other queries than those of the labels
        answered = after.queries[1:]
        for version, answers in ((1, load_answers(db, 1, "preference")), (2, after)):
            save_answers(db, version, restrict(answers, answered))
        save_conclusion(db, challenge.number, duels, 1.8e9)
        write_qrels(study / "first.qrels", load_answers(db, 1, "preference"))
    return study


@pytest.fixture(scope="module")
def made(driven: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[SiteResult, Path]:
    folder = tmp_path_factory.mktemp("site") / "public"
    return report(driven, site=folder, contact="who@example.org", url="https://example.org/board"), folder


def test_the_pages_say_what_the_other_verbs_say(
    driven: Path, made: tuple[SiteResult, Path], tmp_path: Path
) -> None:
    result, folder = made
    assert (result.version, result.versions, result.runs) == (2, 2, 6)
    scored = score(driven, write=False)
    label, best = (board.leaderboard for board in scored.boards)
    shown = table(folder / "index.html", "RR@10 under preference")
    kept = ("rank", "run", "RR@10", "low")
    assert [{name: row[name] for name in kept} for row in shown] == places(best.rows, "RR@10")
    firm = {one.run: one for one in scored.boards[1].standings}
    ranked = [row for row in shown if row["rank"] != "–"]
    assert [row["tier"] for row in ranked] == [str(firm[row["run"]].tier) for row in ranked]
    beside = {row["run"]: row for row in table(folder / "index.html", "Leaderboards")}
    assert {row.run: beside[row.run][f"RR@10 original, {label.queries} queries"] for row in label.ranked} == {
        row.run: f"{row.score:.4f}" for row in label.ranked
    }

    (tau,) = scored.tau
    shown_taus = table(folder / "index.html", "Kendall")
    assert [(row["over"], row["τ"], row["two votings"]) for row in shown_taus] == [
        (over, f"{one.tau:.4f}", f"{one.two_votings.value:.4f}")
        for over, one in (("boards as printed", tau.printed), ("common queries", tau.common))
        if one.two_votings
    ]
    assert shown_taus

    found = resolve(driven, per_query=True, out=tmp_path / "other.qrels").per_query
    answers = history(driven, moves=False).versions
    listed = {row["query"]: row for row in table(folder / "queries.html", "Queries")}
    for one in found:
        docs = listed[one.query_id]["best-known answer"].replace("–", "").split()
        if not docs:
            assert listed[one.query_id]["P(best)"] == "–"
            continue
        assert listed[one.query_id]["P(best)"].split() == [chance_text(one.p_best[doc]) for doc in docs]
    for change in answers[1].changes:
        steps = table(folder / "query" / f"{change.query_id}.html", "Best-known answers")
        assert (steps[-1]["answer"], steps[-1]["replaced"]) == (
            " ".join(change.after),
            " ".join(change.before),
        )
    assert answers[1].changes

    (tested,) = compare(study=driven, test="t").comparisons[-1:]
    run_of = tested.significance.runs
    for pair in range(len(tested.significance)):
        a, b = (run_of[side[pair]] for side in (tested.significance.a, tested.significance.b))
        (row,) = (row for row in table(folder / "run" / f"{b}.html", "Against each") if row["other run"] == a)
        assert float(row["difference"]) == pytest.approx(tested.significance.difference[pair], abs=6e-5)
        assert row["adjusted p"] == f"{tested.significance.p_adjusted[pair]:.4f}" or "<" in row["adjusted p"]


def test_a_past_board_has_the_runs_and_the_answers_of_its_day(
    driven: Path, made: tuple[SiteResult, Path]
) -> None:
    _, folder = made
    (then,) = score(
        runs=RUNS[:3], qrels=[f"preference={driven / 'first.qrels'}"], measure=["RR@10"], write=False
    ).leaderboards
    shown = table(folder / "board" / "v1.html", "RR@10 under preference")
    ranked = [{name: row[name] for name in ("rank", "run", "RR@10", "low")} for row in shown]
    assert [row for row in ranked if row["rank"] != "–"] == places(then.ranked, "RR@10")
    newest = table(folder / "run" / f"{RUNS[3].stem}.html", "By version")
    oldest = table(folder / "run" / f"{RUNS[0].stem}.html", "By version")
    assert [row["version"] for row in newest] == ["2"]
    assert [(row["version"], row["of"]) for row in oldest] == [("1", "3"), ("2", "6")]


def test_nobody_who_worked_and_nothing_that_is_hidden_is_named(
    driven: Path, made: tuple[SiteResult, Path]
) -> None:
    study, whole = Study(driven), b"\n".join(everything(made[1]).values())
    with study.transaction(write=False) as db:
        workers = {worker for (worker,) in db.execute("SELECT DISTINCT worker_id FROM assignments")}
        pooled = {
            doc for (doc,) in db.execute("SELECT doc_id FROM pooled UNION SELECT doc_id FROM challengers")
        }
        hidden = {
            doc for row in db.execute("SELECT good_id, bad_id FROM gold") for doc in row if doc
        } - pooled
    assert workers
    named = [
        name
        for name in (*workers, *(study.opaque("worker", one) for one in workers))
        if name.encode() in whole
    ]
    assert named == []
    assert [doc for doc in hidden if re.search(rb"\b%s\b" % re.escape(doc.encode()), whole)] == []
    assert str(driven.parent).encode() not in whole
    assert str(COLLECTION).encode() not in whole


def test_the_same_study_gives_the_same_bytes_and_only_what_changed_is_written(
    driven: Path, made: tuple[SiteResult, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "site"
    copytree(made[1], folder)
    assert made[0].written == made[0].files == len(everything(folder))
    ours, gone = folder / "run" / f"{RUNS[0].stem}.html", folder / "query" / "gone.html"
    gone.write_bytes(ours.read_bytes())
    for other in ("run/notes.html", "query/mine.txt", "CNAME"):
        (folder / other).write_text("somebody's")
    ours.write_text(ours.read_text() + " ")
    before = {name: path.stat().st_mtime_ns for name in everything(folder) if (path := folder / name)}
    again = report(driven, site=folder, contact="who@example.org", url="https://example.org/board")
    assert (again.written, again.removed) == (1, 1)
    changed = {
        name
        for name, when in before.items()
        if (folder / name).exists() and (folder / name).stat().st_mtime_ns != when
    }
    assert changed == {f"run/{RUNS[0].stem}.html"}
    assert {"run/notes.html", "query/mine.txt", "CNAME"} <= everything(folder).keys()
    assert not gone.exists()


def test_what_is_somebody_elses_is_never_replaced(driven: Path, tmp_path: Path) -> None:
    def refused(words: str) -> None:
        before = everything(tmp_path)
        with pytest.raises(InputError, match=words):
            report(driven, site=tmp_path / "site", health=False)
        assert everything(tmp_path) == before

    folder = tmp_path / "site"
    folder.write_text("x")
    refused("is not a folder")
    folder.unlink()
    folder.mkdir()
    (folder / "thesis.html").write_text("years of work")
    refused("holds other files, not this study's site")
    (folder / "thesis.html").unlink()
    (folder / "index.html").write_text('<meta name="generator" content="prefjudge site abc">')
    refused("the site of another study")
    mark = Study(driven).mark
    (folder / "index.html").write_text(f'<meta name="generator" content="prefjudge site {mark}">')
    (tmp_path / "elsewhere").mkdir()
    (folder / "query").symlink_to(tmp_path / "elsewhere")
    refused("is a symbolic link")
    (folder / "query").unlink()
    (folder / "history.html").write_text("mine")
    page = (folder / "index.html").read_text()
    with pytest.raises(InputError, match="is not a page of this site"):
        write_site(folder, mark, [("index.html", page), ("history.html", page)])
    assert (folder / "history.html").read_text() == "mine"


def test_the_feed_has_each_version_once_and_for_ever(made: tuple[SiteResult, Path]) -> None:
    feed = ET.fromstring((made[1] / "feed.xml").read_text())
    entries = feed.findall(f"{ATOM}entry")
    links = [entry.find(f"{ATOM}link").get("href") for entry in entries]  # type: ignore[union-attr]
    assert links == [f"https://example.org/board/board/v{version}.html" for version in (2, 1)]
    when = [entry.findtext(f"{ATOM}updated") for entry in entries]
    assert feed.findtext(f"{ATOM}updated") == max(map(str, when))


HOSTILE = ("<script>alert(1)</script>", "../../up", "CON", "con", "a:b?c#d", "Ünï", "tag,with=comma")
"""Names of runs and queries; no blank can be in them."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of imported votes, of runs and queries with hostile names, and metadata beside the runs."""
    tmp_path = tmp_path_factory.mktemp("hostile")
    study, runs = tmp_path / "study", tmp_path / "submissions"
    runs.mkdir()
    queries = [*HOSTILE, "q1", "Q1"]
    tags = [*HOSTILE, "20260101-plain", "withheld-1", "withheld-2"]
    for number, tag in enumerate(tags):
        docs = ("d1", "d2") if number % 2 else ("d2", "d1")
        lines = [
            f"{q} Q0 {doc} {rank} {9 - rank} {tag}\n" for q in queries for rank, doc in enumerate(docs, 1)
        ]
        (runs / f"{number}.txt").write_text("".join(lines))
    (tmp_path / "qrels").write_text("".join(f"{q} 0 d1 1\n" for q in queries))
    (tmp_path / "queries").write_text("".join(f"{q}\tWhat is </p><b>{q}?\n" for q in queries))
    (tmp_path / "docs").write_text("d1\tone <img src=x onerror=alert(2)>\nd2\ttwo \u202eowt\n")
    init(study)
    pool(
        study,
        runs=[runs],
        qrels=tmp_path / "qrels",
        queries=tmp_path / "queries",
        collection=tmp_path / "docs",
    )
    told = {
        "team": "Ada <i>",
        "model_description": "=1+1",
        "paper": "javascript:alert(1)",
        "code": "https://x.org",
    }
    (runs / "7-metadata.json").write_text(json.dumps(told))
    (runs / "8-metadata.json").write_text(json.dumps({"team": "Secret", "embargo_until": "2999-01-01"}))
    (runs / "9-metadata.json").write_text(json.dumps({"withdrawn": "2026-01-01"}))
    (runs / "2-metadata.json").write_text("{not json")
    (runs / "nobody").mkdir()
    (runs / "nobody" / "eval.txt").write_text("q1 Q0 d1 1 1.0 late\n")
    (runs / "nobody-metadata.json").write_text(json.dumps({"team": "Late", "date": "2026-02-03"}))
    (tmp_path / "votes").write_text("".join(f"{q} d1 d2 d2 w{n}\n" for q in queries for n in range(3)))
    import_votes(study, tmp_path / "votes")
    resolve(study)
    return study


@pytest.fixture(scope="module")
def strange(hostile: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[SiteResult, Path]:
    folder = tmp_path_factory.mktemp("strange") / "site"
    return report(hostile, site=folder, runs=[hostile.parent / "submissions"]), folder


def test_hostile_names_and_texts_stay_names_and_texts(strange: tuple[SiteResult, Path]) -> None:
    _, folder = strange
    files = everything(folder)
    pages = [name for name in files if name.startswith(("run/", "query/"))]
    assert len(pages) == len(HOSTILE) * 2 + 4
    assert len({name.lower() for name in pages}) == len(pages), "a file system may not tell capitals apart"
    assert all(re.fullmatch(r"[a-z0-9~._-]+/[a-z0-9~._-]+\.html", name) for name in pages)
    assert {"query/q1.html"} == {name for name in pages if "q1" in name and "~" not in name}
    for name, data in files.items():
        if name.endswith(".html"):
            ours = (
                rb'<script src="(\.\./)?tables\.js"></script>|<img src="data:image/svg[^"<]*" alt="[^"<]*">'
            )
            assert not re.search(rb"<(script|img|b)\b", re.sub(ours, b"", data)), name
            links = re.findall(rb'href="((?:\.\./)?)([^":#]+)"', data)
            assert {target.decode() for _, target in links} <= files.keys(), name
    ET.fromstring(files["feed.xml"].decode())
    assert len(read_leaderboard(folder / "leaderboard.csv")) == len(HOSTILE) + 1


def test_what_submitters_tell_is_shown_and_what_is_withheld_is_named_nowhere(
    strange: tuple[SiteResult, Path],
) -> None:
    result, folder = strange
    files = everything(folder)
    assert result.runs == len(HOSTILE) + 1
    assert any("2 runs of the study not shown" in text for text in result.notices)
    assert any("2-metadata.json: this is not JSON" in text for text in result.notices)
    whole = b"\n".join([*files.values(), *map(str.encode, files)])
    assert [secret for secret in (b"Secret", b"withheld-1", b"withheld-2") if secret in whole] == []
    assert b"a run that is not shown" in files["query/q1.html"]
    page = files["run/20260101-plain.html"].decode()
    assert "Ada &lt;i&gt;" in page
    assert 'href="https://x.org"' in page
    assert 'href="javascript' not in page
    waiting = table(folder / "index.html", "Runs that are not ranked")
    assert [(row["run"], row["team"], row["submitted"]) for row in waiting] == [
        ("nobody", "Late", "2026-02-03")
    ]
    board = folder / "leaderboard.csv"
    (entry,) = (one for one in read_leaderboard(board) if one.submission_id == "20260101-plain")
    assert (entry.team, entry.description, str(entry.date)) == ("Ada <i>", "'=1+1", "2026-01-01")
    assert read_measure(board) == "RR@10"
    assert audit(board).audit.submissions == len(HOSTILE) + 1


def test_an_official_leaderboard_stands_beside_the_study(hostile: Path, tmp_path: Path) -> None:
    (tmp_path / "board.csv").write_text(
        "id,date,,description,team,paper,code,type,MRR@100 (Dev),MRR@100 (Eval),tweet\n"
        "20260101-plain,2026/01/01,,Plain,Ada,,,full ranking,0.3,0.2,\n"
        "CON,2026/01/02,,Con,Ada,,,full ranking,0.2,0.1,\n"
        "con,2026/01/03,,Con,Ada,,,full ranking,0.2,0.15,\n"
    )
    report(hostile, site=tmp_path / "site", leaderboard=tmp_path / "board.csv")
    rows = {row["run"]: row for row in table(tmp_path / "site" / "index.html", "RR@10 under preference")}
    assert (rows["CON"]["team"], rows["CON"]["submitted"]) == ("Ada", "2026-01-02")
    page = next(
        path for path in (tmp_path / "site" / "run").glob("con~*") if "<h1><bdi>CON<" in path.read_text()
    )
    assert "3 submissions" in page.read_text()
    assert "official leaderboard" in (tmp_path / "site" / "index.html").read_text()


def test_a_study_without_answers_has_no_site_yet(tmp_path: Path) -> None:
    init(tmp_path / "study")
    with pytest.raises(StudyError, match="has no pool"):
        report(tmp_path / "study", site=tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_killed_program_leaves_a_site_that_the_next_one_finishes(tmp_path: Path) -> None:
    page = '<meta name="generator" content="prefjudge site abc">'
    files = [(name, f"{page}{name}") for name in ("index.html", "history.html", "run/a.html", "query/b.html")]

    def killed() -> Iterator[tuple[str, str]]:
        yield from files[:3]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_site(tmp_path / "site", "abc", killed())
    check_folder(tmp_path / "site", "abc")
    assert write_site(tmp_path / "site", "abc", files).written == 1
    fewer = write_site(tmp_path / "site", "abc", files[:2])
    assert (fewer.written, fewer.removed) == (0, 2)
    assert {path.name for path in (tmp_path / "site").iterdir()} == {"index.html", "history.html"}


def test_a_killed_update_leaves_the_old_first_page_with_all_that_it_leads_to(tmp_path: Path) -> None:
    page = '<meta name="generator" content="prefjudge site abc">'
    old = [("index.html", f"{page}run/a.html"), ("run/a.html", page)]
    fresh = [("index.html", f"{page}run/b.html"), ("run/b.html", page)]
    write_site(tmp_path / "site", "abc", old)

    def killed() -> Iterator[tuple[str, str]]:
        yield from fresh
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_site(tmp_path / "site", "abc", killed())
    assert (tmp_path / "site" / "index.html").read_text() == old[0][1]
    assert (tmp_path / "site" / "run" / "a.html").exists()
    done = write_site(tmp_path / "site", "abc", fresh)
    assert (done.written, done.removed) == (1, 1)


def test_queries_are_listed_in_the_order_of_their_numbers() -> None:
    names = ["2", "10", "0" * 5_000 + "11", "9" * 5_000, "q2", "q10", "q10b", "²"]
    assert sorted(sorted(names), key=in_order) == names


def test_runs_that_are_not_there_or_not_the_study_s_are_named(driven: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere does not exist"):
        report(driven, site=tmp_path / "site", runs=[tmp_path / "nowhere"])
    (tmp_path / "other.txt").write_text("q1 Q0 d1 1 1.0 other\n")
    with pytest.raises(InputError, match=f"among those that may be shown, such as {RUNS[0].stem}"):
        report(driven, site=tmp_path / "site", runs=[tmp_path / "other.txt"])
    (tmp_path / "votes.txt").write_text("q1 d1 d2 d1\n")
    import_votes(tmp_path / "votes", tmp_path / "votes.txt")
    with pytest.raises(InputError, match="votes has no runs, and a site shows"):
        report(tmp_path / "votes", site=tmp_path / "site", runs=[tmp_path / "other.txt"])
    assert not (tmp_path / "site").exists()


def test_what_goes_with_one_page_alone_is_refused(driven: Path, tmp_path: Path) -> None:
    for words, says in (
        ({"site": tmp_path / "site", "live": True}, "--live is for one page"),
        ({"site": tmp_path / "site", "out": "page.html"}, "--out is for one page"),
        ({"contact": "me"}, "--contact goes with --site"),
    ):
        with pytest.raises(InputError, match=says):
            report(driven, **words)
    assert not (tmp_path / "site").exists()
