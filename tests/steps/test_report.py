"""A report is one page: it shows what a study has, says what it lacks, and loads and runs nothing."""

import base64
import hashlib
import json
import re
import signal
import subprocess
import sys
from html.parser import HTMLParser
from http.client import RemoteDisconnected
from pathlib import Path
from shutil import copytree
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import prefjudge as prefjudge_library
from prefjudge import compare, init, report, resolve, score, status
from prefjudge.cli.road import status as show_status
from prefjudge.errors import InputError, StudyError
from prefjudge.findings import answers, findings, judgments
from prefjudge.reading import unpacking as digests
from prefjudge.reading.runs import heads as files
from prefjudge.show.cells import Column, Table
from prefjudge.show.tables import render_table
from prefjudge.steps.report.report import LivePage, _handler, _inert
from prefjudge.study.judgments import load_judgment_log
from prefjudge.study.pools import load_pool_sizes, load_pools
from prefjudge.study.progress import Remark, save_remarks
from prefjudge.study.store import Study
from prefjudge.words import chance_text, many
from tests.cli.conftest import prefjudge
from tests.serving import Serving
from tests.steps.test_release import judged as judged  # the fixture


class Page(HTMLParser):
    """What a reader without scripts sees of a page, its tags and addresses, and what its script reads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.text, self.tags, self.addresses = "", list[str](), list[str]()
        self.policy, self.held, self._inside = "", {"script": "", "template": ""}, ""
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        if ("http-equiv", "Content-Security-Policy") in attrs:
            self.policy = dict(attrs)["content"] or ""
        self._inside = tag if tag in self.held else self._inside

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag in self.held else self._inside

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.held[self._inside] += data
        else:
            self.text += data


@pytest.mark.usefixtures("in_full")
def test_a_judged_study_is_shown_whole(judged: Path) -> None:
    done = report(judged)
    assert done.sections == (
        "Leaderboards", "Outcomes", "Best answers", "Judging", "For a paper", "How it was made",
    )  # fmt: skip
    few = [notice for notice in done.notices if "something on fewer than 15 queries" in notice]
    assert len(few) == 2  # 15 queries are few, and the page says so
    others = ("have several relevant documents", "judgments are simulated")
    assert all(any(words in notice for words in others) for notice in {*done.notices} - {*few})
    page = Page(Path(done.out))
    assert str(judged) not in Path(done.out).read_text(), "a page that is passed on names no place here"
    assert page.tags.count("script") == 1
    source = page.held["script"]
    pinned = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    assert page.policy.startswith(f"default-src 'none'; script-src 'sha256-{pinned}'; ")
    assert "://" not in source.replace("http://www.w3.org/2000/svg", "")
    assert all(address.startswith(("#", "data:image/svg+xml;base64,")) for address in page.addresses)
    assert done.plots == sum(address.startswith("data:") for address in page.addresses) == 7
    (changed,) = {*re.findall(r"another passage is preferred in (\d+)", page.text)}
    assert page.text.count("Preferred ") == min(int(changed), 12) > 0  # 12 are shown with their texts
    opened = Study(judged)
    with opened.transaction(write=False) as db:
        people = [worker for (worker,) in db.execute("SELECT DISTINCT worker_id FROM judgments")]
        texts = [text for (text,) in db.execute("SELECT text FROM queries")]
        golds = {text for row in db.execute("SELECT good, bad FROM gold") for text in row}
        golds -= {text for (text,) in db.execute("SELECT text FROM passages")}
        log = load_judgment_log(db)
    shown = "\n".join([page.text, *page.held.values(), Path(done.out).read_text()])
    assert people
    assert golds
    assert [name for name in (*people, *golds) if name in shown] == []
    closer = json.loads(page.held["template"])
    assert sum(len(query.get("votes", ())) for query in closer["queries"]) == 6 * len(log)
    assert sum(query.get("count", 0) for query in closer["queries"]) == status(judged).judgments
    assert any(text in page.text for text in texts)
    before = Path(done.out).read_bytes()
    report(judged)
    assert Path(done.out).read_bytes() == before


def test_nothing_but_the_page_is_written(judged: Path) -> None:
    score(judged, measure=["P@1"], out=judged / "leaderboard.csv")
    before = {
        path: path.read_bytes() for path in judged.iterdir() if path.suffix in (".csv", ".json", ".qrels")
    }
    assert len(before) == 5  # with the schema of the config
    (judged / "winratio.csv").unlink()
    report(judged)
    after = {
        path: path.read_bytes() for path in judged.iterdir() if path.suffix in (".csv", ".json", ".qrels")
    }
    assert after == {path: data for path, data in before.items() if path.name != "winratio.csv"}


def test_the_numbers_are_those_of_the_verbs(judged: Path) -> None:
    page = Page(Path(report(judged).out)).text
    scored, found, state = score(judged), resolve(judged, per_query=True), status(judged)
    for board in scored.leaderboards:
        for row in board.ranked:
            assert f"{row.score:.4f}" in page
    best = scored.leaderboards[0].ranked[0].run
    for one in compare(study=judged, baseline=best).comparisons:
        for outcome in one.outcomes:  # both tables of the paper
            assert re.search(rf"{outcome.a}\s+{outcome.b}\s+\S+\s+\S+\s+\S+\s+{outcome.p_t:.6f}", page)
            assert outcome.verdict_signed_rank in page
    for label_set in scored.pairings:
        assert f"{100 * label_set.share:.1f}%" in page
    firm = next(row for row in scored.leaderboards[-1].ranked if row.rank == 1)
    first = page[: page.index("Bars: ")]
    assert firm.run in first[: first.index("may be the best")]
    assert f"{sum(found.statuses.values()) - found.statuses['sparse']} of {state.queries}" in first
    assert f"{state.judgments:,}" in first
    assert f"{scored.tau[0].tau:.2f}" in first
    for row in scored.leaderboards[-1].ranked[:10]:
        was = next(shift.reference for shift in scored.tau[0].shifts if shift.run == row.run)
        assert re.search(rf"{row.rank}\s+{was} [↑↓=]\d*\s+{row.run}\s+{row.score:.3f}", first)
    (compared,) = scored.tau
    assert compared.two_votings is not None
    low, high = f"{compared.two_votings.low:.2f}", f"{compared.two_votings.high:.2f}"
    agreed = f"two rounds of voting agree at {compared.two_votings.value:.2f}, {low} to {high}"
    assert f"Kendall's τ is {compared.tau:.2f} ({agreed}" in page
    decided = ", ".join(f"{count} {name}" for name, count in found.statuses.items() if count)
    assert f"By the rule {found.rule}: {decided}." in page
    assert f"{state.judgments} judgments count, and {state.dropped_judgments} do not" in page
    assert state.barred
    assert f"Barred: {many(len(state.barred), 'worker')}." in page
    assert f"Committed: ${state.committed} of a budget of ${state.budget}." in page
    for one in found.per_query:
        sure = " ".join(chance_text(one.p_best[doc]) for doc in one.winners)
        row = rf"{one.query_id}\s+.*\s+.*\s+{' '.join(one.winners)}\s+{sure}\s+"
        row += rf"{one.among if len(one.likely) > 1 else ''}\s+{one.status}\s"
        assert re.search(row, page)
    assert found.confidence is not None
    assert found.confidence.words[0][1:] in page


@pytest.mark.usefixtures("in_full")
def test_status_says_first_how_sure_the_answers_are(judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = resolve(judged)
    state = status(judged)
    assert (state.confidence, state.statuses) == (found.confidence, found.statuses)
    assert found.confidence is not None
    show_status(state, study=judged)
    printed = capsys.readouterr()
    said = printed.out + printed.err
    assert said.index(found.confidence.words[0]) < said.index("HITs")
    spared = status(judged, confidence=False)
    assert (spared.confidence, spared.statuses, spared.top) == (None, {}, None)


@pytest.mark.usefixtures("in_full")
def test_status_says_which_runs_may_still_be_the_best(
    judged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board = next(one for one in score(judged, write=False).leaderboards if one.qrels == "preference")
    state = status(judged)
    assert state.top is not None
    assert (state.top.run, state.top.next) == tuple(row.run for row in board.ranked[:2])
    assert (state.top.measure, state.top.queries) == (board.measure, board.queries)
    assert state.top.difference == pytest.approx(board.ranked[0].score - board.ranked[1].score)
    # A dozen queries tell little: nobody is ruled out of those that are near.
    assert set(state.top.contenders) >= {row.run for row in board.ranked[:2]}
    show_status(state, study=judged)
    printed = capsys.readouterr()
    assert state.top.words[1] in printed.out + printed.err
    assert status(judged, top=False).top is None
    assert status(judged, top=False).confidence == state.confidence


@pytest.mark.usefixtures("in_full")
def test_status_does_not_need_the_runs_unless_it_is_asked_about_them(judged: Path) -> None:
    study = judged.with_name("moved")
    copytree(judged, study)
    with Study(study).transaction() as db:
        db.execute("UPDATE inputs SET path = replace(path, '.txt', '.gone') WHERE kind = 'run'")
    assert status(study).top is None
    assert status(study).confidence is not None
    with pytest.raises(StudyError, match="is gone"):
        status(study, top=True)


def test_without_labels_there_is_one_leaderboard_and_no_column_for_them(judged: Path) -> None:
    assert "labelled: the passages that the qrels put into the pool" in Page(Path(report(judged).out)).text
    with Study(judged).transaction() as db:
        db.execute("DELETE FROM inputs WHERE kind = 'qrels'")
    page = Page(Path(report(judged).out)).text
    (board,) = score(judged, write=False).leaderboards
    (best, *_) = (row.run for row in board.ranked)
    assert re.search(f"{best}[^.]* by the answers of simulated|imulated workers prefer [^.]*{best}", page)
    assert "labelled" not in page.replace("where it is not the labelled passage", "")


def test_what_drove_a_study_is_told(pooled: Path) -> None:
    with Study(pooled).transaction() as db:
        db.execute("INSERT INTO settings VALUES ('strategy', 'lead:2'), ('strategy model', '')")
    assert re.search(r"strategy\s+lead:2\s", Page(Path(report(pooled).out)).text)
    with Study(pooled).transaction() as db:
        db.execute("UPDATE settings SET value = 'acme/judge-1' WHERE key = 'strategy model'")
    page = Page(Path(report(pooled).out)).text
    assert "lead:2, with acme/judge-1" in page
    assert "judgments of a pair" not in page


def test_what_a_study_lacks_is_said(pooled: Path, tmp_path: Path) -> None:
    done = report(pooled, out=tmp_path / "page.html")
    assert done.sections == ("Judging", "For a paper", "How it was made")
    assert done.notices == ("the study has no preference qrels yet",)
    page = Page(tmp_path / "page.html")
    assert all(notice in page.text for notice in done.notices)


def test_hostile_texts_are_shown_as_they_are(judged: Path) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>\" style='x'"
    opened = Study(judged)
    with opened.transaction() as db:
        db.execute("UPDATE passages SET text = :evil", evil=evil)
        db.execute("UPDATE queries SET text = :evil", evil=evil)
    page = Page(Path(report(judged).out))
    assert evil in page.text
    assert page.tags.count("script") == 1
    assert "x" not in page.addresses


def test_mistakes(judged: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a report is an HTML page"):
        report(judged, out=tmp_path / "report.pdf")
    init(tmp_path / "empty", config="demo", name="empty")
    with pytest.raises(StudyError, match="has no pool"):
        report(tmp_path / "empty")
    done = prefjudge("report", judged, "--out", tmp_path / "r.html", "--tables", "md", tmp_path / "md")
    assert done.returncode == 0
    assert "wrote" in done.stderr
    assert "| run |" in (tmp_path / "md" / "leaderboards-1.md").read_text()


@pytest.mark.usefixtures("in_full")
def test_plots_tables_and_a_paragraph_for_a_paper_are_written(judged: Path, tmp_path: Path) -> None:
    with Study(judged).transaction() as db:
        (pair, assignment, worker) = db.execute(
            "SELECT pair_id, assignment_id, worker_id FROM judgments ORDER BY judgment_id LIMIT 1"
        )[0]
        said = f'=HYPERLINK("https://evil.example/{worker}") says {worker}, ann@example.org'
        remark = Remark(slot=99, pair_id=pair, unable="", comment=said)
        save_remarks(db, assignment, [remark])
    done = report(judged, plots=tmp_path / "plots", tables=("csv", tmp_path / "a" / "csv"), bibtex=True)
    drawn, written = {*(tmp_path / "plots").iterdir()}, {*(tmp_path / "a" / "csv").glob("*.csv")}
    names = {"old-against-new", "ranks", "win-ratios", "p-best", "pool-sizes", "time-and-money", "workers"}
    assert {path.name for path in drawn} == {f"{name}.{form}" for name in names for form in ("svg", "png")}
    beside = {judged / "report.bib", judged / "report.methods.tex"}
    assert {*map(Path, done.files)} == drawn | written | beside
    page = Page(Path(done.out)).text
    # what the two plots of boards and of win ratios draw stands in the tables below them
    assert page.count("The data of this plot") + 2 == done.plots == len(names)
    (comments,) = (path.read_text() for path in written if "HYPERLINK" in path.read_text())
    assert "\"'=HYPERLINK(" in comments
    for text in (comments, page):
        assert worker not in text
        assert "example" not in text.split("HYPERLINK")[1]
    paragraph, state = (judged / "report.methods.tex").read_text(), status(judged)
    assert f"{state.judgments} judgments of " in paragraph
    assert f"; {state.dropped_judgments} were dropped by screening" in paragraph
    cited = {*re.findall(r"\\cite\{(\w+)\}", paragraph)}
    assert cited == {*re.findall(r"@\w+\{(\w+),", (judged / "report.bib").read_text())}
    assert len(cited) == 5


def test_no_heading_of_a_csv_table_is_a_formula_and_none_stands_twice() -> None:
    names = ("=x", "'=x", "''=x", "-1", "plain")
    table = Table(title="t", columns=tuple(Column(name=name) for name in names), rows=(("=y",) * 5,))
    heads, row = (line.split(",") for line in render_table(_inert(table), "csv").splitlines())
    assert heads == ["'''=x", "'=x", "''=x", "'-1", "plain"]
    assert row == ["'=y"] * 5


def test_what_cannot_be_written_so_is_refused_before_any_work(judged: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for options, message in (
        ({"tables": ("docx", tmp_path)}, "docx: tables are not written so"),
        ({"tables": ("csv", tmp_path / "file")}, "this is a file"),
        ({"plots": tmp_path / "file"}, "this is a file"),
        ({"plots": judged}, "the study's own folder"),
        ({"tables": "csv"}, "it takes text and a path"),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            prefjudge_library.report(judged, **options)  # type: ignore[arg-type]
    assert not (judged / "report.html").exists()


def test_the_runs_are_read_once_for_all_sections_and_say_the_same(
    judged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = judged / "study.toml"
    text = re.sub(r"(?m)^measures = .*$", 'measures = ["RR@10"]', config.read_text(encoding="utf-8"))
    config.write_text(text, encoding="utf-8")
    asked: list[object] = []
    place = files.judged_of_run
    monkeypatch.setattr(files, "judged_of_run", lambda *a: (asked.append(a), place(*a))[1])
    monkeypatch.setattr(files, "top_of_run", lambda *_: pytest.fail("their tops are among what was placed"))
    found: list[object] = []
    find = answers.resolved
    monkeypatch.setattr(answers, "resolved", lambda *a, **how: (found.append(a), find(*a, **how))[1])
    monkeypatch.setattr(findings, "resolved", lambda *_, **__: pytest.fail("the boards' votes are resolved"))
    loaded: list[object] = []
    load = judgments.load_judgments
    monkeypatch.setattr(
        judgments, "load_judgments", lambda *a, **named: (loaded.append(a), load(*a, **named))[1]
    )
    digested: list[object] = []
    digest = digests.digest
    monkeypatch.setattr(digests, "digest", lambda path: (digested.append(path), digest(path))[1])
    assert "Outcomes" in report(judged).sections
    assert not digested, "the page shows what the study was made from, and that is known"
    assert len(loaded) == 1, "every section asks for the judgments of one state of the store"
    assert len(asked) == 1, "the leaderboards and the outcomes place the same documents"
    assert len(found) == 1, "the boards and the best answers rest on the same tournaments"
    with Study(judged).transaction(write=False) as db:
        assert load_pool_sizes(db) == load_pools(db).histogram


def fetched(address: str, path: str = "", host: str = "") -> tuple[int, str]:
    request = Request(f"{address}{path}", headers={"Host": host} if host else {})
    try:
        with urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_a_full_disk_is_told_and_a_reader_who_leaves_is_no_trouble(
    capsys: pytest.CaptureFixture[str],
) -> None:
    troubles: list[Exception] = [OSError(28, "No space left on device"), BrokenPipeError()]

    def mark() -> str:
        raise troubles.pop(0)

    shown = LivePage(mark, str, ("", ""))
    with Serving(_handler(shown)) as server:
        address = f"{server.origin}/"
        assert fetched(address) == (503, "the report cannot be written: No space left on device\n")
        with pytest.raises(RemoteDisconnected):
            fetched(address)
    assert capsys.readouterr().err == ""


def test_a_report_that_is_served_follows_its_study(judged: Path) -> None:
    command = [sys.executable, "-m", "prefjudge", "report", str(judged), "--live", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            address = next(line.split()[0] for line in server.stderr if line.startswith("http://127.0.0.1:"))
            status_code, page = fetched(address)
            _, mark = fetched(address, "mark")
            assert status_code == 200
            assert f'<body data-mark="{mark}">' in page
            assert "default-src 'none'; connect-src 'self'; script-src 'sha256-" in page
            assert "<body>" in (judged / "report.html").read_text(), "the file asks nobody"
            with Study(judged).transaction() as db:
                db.execute("UPDATE queries SET text = 'asked anew'")
                db.execute("DELETE FROM drops WHERE judgment_id = (SELECT max(judgment_id) FROM drops)")
            assert fetched(address, "mark")[1] != mark
            assert "asked anew" in fetched(address)[1]
            assert "asked anew" in (judged / "report.html").read_text()
            assert fetched(address, "study.db")[0] == 404
            assert fetched(address, host="evil.example:80")[0] == 421
            taken = prefjudge("report", judged, "--live", "--port", address.rstrip("/").rpartition(":")[2])
            assert taken.returncode == 1
            assert "--port 0 takes a free one" in taken.stderr
            server.send_signal(signal.SIGINT)
            said = server.stderr.read()
            assert server.wait(timeout=60) == 0
            assert "wrote" in said
        finally:
            server.kill()
