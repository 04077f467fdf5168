"""The pages with boards: the first page, those of past versions, and the list of versions."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from uuid import NAMESPACE_URL, uuid5
from xml.sax.saxutils import escape, quoteattr

from prefjudge.core.planning.rounds import Duel
from prefjudge.evaluation.boards import Board
from prefjudge.evaluation.correlation import correlate
from prefjudge.evaluation.submissions import Submission, record_holders
from prefjudge.field.history import Version
from prefjudge.findings.answers import what_is_open
from prefjudge.findings.outputs import stamp_of
from prefjudge.pages.page import Fact, Page, Picture, Section, is_web_address, version_address
from prefjudge.reading.given import QRELS_NAME
from prefjudge.reading.leaderboards import RunMetadata, leaderboard_text
from prefjudge.show.boards import boards_tables, firmness_table, leaderboard_table, official_table
from prefjudge.show.cells import Cell, Column, Table, bare
from prefjudge.show.figures import render_figure
from prefjudge.show.plots import plot_progress
from prefjudge.show.statistics import changes_table, versions_table
from prefjudge.steps.report.boards import first_screen
from prefjudge.steps.report.material import made_from, strategy_words
from prefjudge.steps.report.site.state import NOT_SHOWN, SiteState, VersionBoards
from prefjudge.study.hits import asked_design, rewards_paid
from prefjudge.study.pools import is_published
from prefjudge.study.store import current_target
from prefjudge.words import many, printable

_DAY = len("2026-11-22")


def first_page(state: SiteState) -> Page:
    """Return the first page: the board as it is, beside that of the labels, and what is to come."""
    current = state.boards.current
    about = state.study.config.release.description
    boards = [*state.boards.labels, *current.boards]
    first = first_screen(state.study, state.progress, boards, state.taus, *_answered(state))
    return Page(
        address="index.html",
        title=state.title,
        first=replace(first, next=()),  # what is next is for those who keep the board
        parts=(
            Section(
                heading="Leaderboard",
                words=(*([about] if about else []), _when(current)),
                tables=_tables(state, current, _ranks_before(state, current)),
            ),
            *_over_time(state),
            *_beside_labels(state),
            *_official(state),
            *_not_ranked(state),
            Section(heading="How to submit", words=_how_to_submit(state)),
            Section(
                heading="To follow and to reuse",
                links=(
                    Fact(what="leaderboard.csv", value="", address="leaderboard.csv"),
                    Fact(what="News as Atom", value="", address="feed.xml"),
                ),
            ),
        ),
    )


def _when(current: VersionBoards) -> str:
    made = _since(current.made)
    if current.version:
        return f"The answers are of version {current.version}{f', made{made}' if made else ''}."
    return f"The answers were found{made}." if made else "Each run leads to its page."


def _answered(state: SiteState) -> tuple[Counter[str], tuple[int, int] | None]:
    """Count the queries by status, and those with a label where another passage is preferred to it."""
    labelled: dict[str, set[str]] = defaultdict(set)
    for (query, doc), found in state.findings.items():
        if QRELS_NAME in found.sources:
            labelled[query].add(doc)
    best = {query: {*steps[-1].docs} for query, steps in state.steps.items() if query in labelled}
    changed = sum(not docs & labelled[query] for query, docs in best.items())
    statuses = Counter(one.status.value for one in state.queries)
    return statuses, (changed, len(best)) if best else None


def _over_time(state: SiteState) -> list[Section]:
    """Return the plot of the best result over time, where runs came on several days."""
    entries = board_entries(state)
    if len({one.date for one in entries}) < 2:
        return []
    ordered = sorted(entries, key=lambda one: one.date)
    best = [one.name for one in record_holders(ordered)]
    board = state.boards.current.first.leaderboard
    words = f"The best result over time: {board.measure} by the best-known answers"
    figure = plot_progress(ordered, best, measure=board.measure)
    svg = render_figure(figure, "svg", stamp_of(state.rehearsal))
    return [Section(heading="The best over time", pictures=(Picture(words=words, svg=svg),))]


def _how_to_submit(state: SiteState) -> tuple[str, ...]:
    config = state.study.config
    rules = config.board
    depth = "passage" if config.pool.depth == 1 else f"{config.pool.depth} passages"
    return (
        f"Send a run of the {many(state.progress.queries, 'query')} in TREC's six columns to the contact "
        "on the page About, or as a pull request if the board is kept in Git; a team may send "
        f"{rules.per_team:,} in {many(rules.days, 'day')}.",
        f"People compare its first {depth} with the best-known answers if they are new. Then it is "
        "ranked, and gets a page of its own.",
    )


def version_pages(state: SiteState) -> list[Page]:
    """Return the board of each version that is kept, and the answers that it changed."""
    pages = []
    known = {past.version: past for past in state.past.versions}
    for one in state.boards.versions if known else ():
        past = known[one.version]
        changes = changes_table({past.version: (past.changes, _public(state, past))})
        parts = [Section(heading="Leaderboard", tables=_tables(state, one, _ranks_before(state, one)))]
        if changes.rows:
            only = changes.only({column.name for column in changes.columns} - {"version"})
            parts.append(Section(heading="Answers that changed", tables=(only,)))
        pages.append(
            Page(
                address=version_address(one.version),
                title=f"Version {one.version} of the answers",
                lead=(version_words(past, one),),
                parts=tuple(parts),
            )
        )
    return pages


def history_page(state: SiteState) -> Page:
    """Return the list of all versions."""
    moved = {after.version: _moved(before, after) for before, after in pairwise(state.boards.versions)}
    rows: list[Mapping[str, Cell]] = [
        {
            "version": one.version,
            "made": _day(one.made),
            "queries": one.queries,
            "answers": one.answers,
            "challenge": one.challenge,
            "newcomers": sum(not duel.returned for duel in one.duels) if one.challenge else None,
            "changed": len(one.changes) if one.version > 1 else None,
            "moved": moved.get(one.version),
        }
        for one in state.past.versions
    ]
    words = () if rows else ("The study keeps one version of its answers; `prefjudge run` keeps every one.",)
    return Page(
        address="history.html",
        title="History",
        parts=(
            Section(
                heading="Versions",
                words=words or ("Each version has the board as it was, with the runs that were there then.",),
                tables=(versions_table(rows),) if rows else (),
            ),
        ),
    )


def version_words(past: Version, one: VersionBoards) -> str:
    """Return what a version is in a sentence, for its page and for the feed."""
    runs = many(len(one.first.leaderboard.ranked), "run")
    if past.challenge is None:
        first = f"The first best-known answers, to {many(past.queries, 'query')}"
        return f"{first}{_since(one.made)}. They rank {runs}."
    newcomers = many(sum(not duel.returned for duel in past.duels), "newcomer")
    return (
        f"{newcomers} met the best-known answers, and the answers to {many(len(past.changes), 'query')} "
        f"changed{_since(one.made)}. They rank {runs}."
    )


def board_table(
    board: Board, told: Mapping[str, RunMetadata], before: Mapping[str, int] | None = None
) -> Table:
    """Return a leaderboard as ``score`` has it, with the ranks before, teams and days of submission."""
    plain = leaderboard_table(board.leaderboard, board.standings)
    more: list[tuple[Column, Mapping[str, Cell]]] = []
    if before:
        more.append((Column(name="before", head="rank before", kind="integer"), before))
    more += [
        (Column(name="team"), {name: one.team or None for name, one in told.items()}),
        (
            Column(name="submitted"),
            {name: str(one.submitted) if one.submitted else None for name, one in told.items()},
        ),
    ]
    more = [(column, cells) for column, cells in more if any(cells.values())]
    run = [column.name for column in plain.columns].index("run")
    return replace(
        plain,
        columns=(*plain.columns, *(column for column, _ in more)),
        rows=tuple((*row, *(cells.get(str(bare(row[run]))) for _, cells in more)) for row in plain.rows),
    )


def _tables(state: SiteState, one: VersionBoards, before: Mapping[str, int] | None) -> tuple[Table, ...]:
    told = state.entries.shown
    first, *others = one.boards
    return (board_table(first, told, before), *(board_table(board, told) for board in others))


def _ranks_before(state: SiteState, one: VersionBoards) -> dict[str, int] | None:
    place = state.boards.versions.index(one)
    if not place:
        return None
    earlier = state.boards.versions[place - 1].first.leaderboard
    return {row.run: row.rank for row in earlier.ranked if row.rank is not None}


def _moved(before: VersionBoards, after: VersionBoards) -> int:
    """Return how many runs changed their ranks, among those that were there before."""
    shifts = correlate(before.first.leaderboard, after.first.leaderboard).shifts
    return sum(shift.shift != 0 for shift in shifts)


def _public(state: SiteState, past: Version) -> list[Duel]:
    """Return the duels of a version without the names of runs that are not shown."""
    hidden = state.entries.hidden
    return [
        replace(duel, brought_by=tuple(NOT_SHOWN if run in hidden else run for run in duel.brought_by))
        for duel in past.duels
    ]


def _beside_labels(state: SiteState) -> list[Section]:
    """Return how the same runs stand under the labels that were pooled."""
    boards = [*state.boards.labels, *state.boards.current.boards]
    if not state.boards.labels:
        return []
    return [
        Section(
            heading="Under the labels",
            tables=(*boards_tables(boards, tau=state.taus), firmness_table(boards)),
        )
    ]


def _official(state: SiteState) -> list[Section]:
    if state.official is None:
        return []
    return [Section(heading="Beside the official leaderboard", tables=(official_table(state.official),))]


def _not_ranked(state: SiteState) -> list[Section]:
    """Return the runs that no board ranks yet: those being judged, and those that the study does not have."""
    waiting = [(name, "being judged") for name in state.waiting]
    rows = [*waiting, *((name, "submitted") for name in state.entries.waiting)]
    if not rows:
        return []
    told = {**state.entries.shown, **state.entries.waiting}
    table = Table(
        title="Runs that are not ranked yet",
        columns=(Column(name="run"), Column(name="team"), Column(name="submitted"), Column(name="state")),
        rows=tuple(
            (name, told[name].team or None, str(told[name].submitted or "") or None, what)
            for name, what in rows
        ),
        notes=("A run is ranked once people have compared its newcomers with the best-known answers.",),
    )
    return [Section(heading="Not ranked yet", tables=(table,))]


def _since(made: str | None) -> str:
    return f" on {_day(made)}" if made else ""


def _day(made: str | None) -> str | None:
    """Return the day of a moment: a reader needs no more."""
    return made[:_DAY] if made else None


def about_page(state: SiteState) -> Page:
    """Return the page."""
    return Page(
        address="about.html",
        title="About this leaderboard",
        parts=(
            Section(heading="What is judged", facts=_judged(state)),
            Section(heading="What it cost", facts=_cost(state)),
            Section(heading="Whom to ask", facts=_contacts(state)),
            Section(heading="How it is made", facts=_design(state), tables=(_inputs(state),)),
            Section(heading="How to read the boards", words=_reading(state)),
        ),
    )


def _judged(state: SiteState) -> tuple[Fact, ...]:
    progress, answered = state.progress, len(state.steps)
    open_ = what_is_open(state.study)
    challenge = progress.challenge
    return (
        Fact(what="Queries", value=f"{progress.queries:,}, {answered:,} of them with a best-known answer"),
        Fact(what="Pairs", value=f"{progress.pairs:,}"),
        Fact(what="Judgments", value=f"{progress.judgments:,} that count"),
        Fact(what="Under way", value=open_ or "nothing"),
        *(
            [
                Fact(
                    what="Challenge",
                    value=f"{many(challenge.newcomers, 'newcomer')} meet the best-known answers to "
                    f"{many(challenge.queries, 'query')}",
                )
            ]
            if challenge
            else []
        ),
    )


def _cost(state: SiteState) -> tuple[Fact, ...]:
    progress, study = state.progress, state.study
    with study.transaction(write=False) as db:
        name = current_target(db)
        published = is_published(db)
    if not published:
        return (Fact(what="Paid", value="nothing here: the votes were imported"),)
    target = study.config.target(name)
    play = "" if target and target.live else ", in play money"
    of_budget = f" of a budget of ${progress.budget}" if progress.budget else ""
    return (
        Fact(what="Committed", value=f"${progress.committed}{of_budget}{play}"),
        Fact(what="Reward of a HIT", value=f"${rewards_paid(study)}{play}"),
    )


def _contacts(state: SiteState) -> tuple[Fact, ...]:
    contact = state.contact
    about, workers = state.study.config.release, state.study.config.workers
    asked = [f"in {', '.join(workers.locales)}"] if workers.locales else []
    if workers.min_approval_rate is not None:
        asked.append(f"with {workers.min_approval_rate} % of their work approved")
    mail = f"mailto:{contact}" if "@" in contact and not is_web_address(contact) else ""
    return (
        *(
            [Fact(what="Contact", value=contact, address=contact if is_web_address(contact) else mail)]
            if contact
            else []
        ),
        *(
            Fact(
                what="Made by",
                value=", ".join(filter(None, (author.name, author.affiliation))),
                address=f"https://orcid.org/{author.orcid}" if author.orcid else "",
            )
            for author in about.authors
        ),
        *([Fact(what="More", value=about.url, address=about.url)] if is_web_address(about.url) else []),
        Fact(what="Workers", value=f"people {' '.join(asked)}" if asked else "whoever passes the screening"),
    )


def _design(state: SiteState) -> tuple[Fact, ...]:
    config = state.study.config
    strategy = strategy_words(state.study)
    return (
        Fact(what="Question", value=asked_design(state.study).question),
        Fact(what="Candidates", value=f"the top {config.pool.depth} of each run, and the labels"),
        Fact(what="Best answers by", value=state.best.resolutions.rule),
        *([Fact(what="Strategy", value=strategy)] if strategy else []),
        Fact(what="Measures", value=", ".join(config.measures)),
        Fact(what="Order of documents", value=str(config.pool.order)),
        Fact(what="Seed", value=str(config.seed)),
    )


def _inputs(state: SiteState) -> Table:
    hidden = state.entries.hidden
    return made_from(
        (one.kind, one.name or None, one.digest or None)
        for one in state.inputs
        if not (one.kind == "run" and one.name in hidden)
    )


def _reading(state: SiteState) -> tuple[str, ...]:
    sure = state.confidence
    return (
        "Boards under “preference” score runs by the best-known answers, the others by the labels they name.",
        "The best-known answer to a query is the passage that people prefer to all that runs have put on top "
        "so far. A new run may bring a better one, which is then compared with the known answer.",
        "Each version of the answers has a board of its own. A score of one version cannot be compared with "
        "that of another: the answers differ.",
        *(f"{words[0].upper()}{words[1:]}." for words in (sure.words if sure else ())),
    )


def site_feed(state: SiteState) -> "Feed":
    """Return the versions of the answers as news, the latest first; of one version, the board."""
    stamp = (str(state.rehearsal),) if state.rehearsal else ()
    known = {past.version: past for past in state.past.versions}
    entries = [
        Entry(
            address=version_address(one.version),
            title=f"Version {one.version} of the best-known answers",
            words=(version_words(known[one.version], one), *stamp),
            when=one.made or "",
        )
        for one in (state.boards.versions if known else ())
    ]
    if not entries:
        current = state.boards.current
        board = current.first.leaderboard
        entries = [
            Entry(
                address="index.html",
                title="The best-known answers",
                words=(f"{len(board.ranked):,} runs by {board.measure}.", *stamp),
                when=current.made or "",
            )
        ]
    return Feed(
        title=state.title,
        mark=state.study.mark,
        url=state.url,
        authors=tuple(author.name for author in state.study.config.release.authors) or (state.title,),
        entries=tuple(reversed(entries)),
    )


def board_entries(state: SiteState) -> list[Submission]:
    """Return the board as it is as submissions, the best first, as far as their days are known."""
    # `Eval` is the score under the best-known answers, `Dev` that under the labels. A run whose submission
    # has no day has that of the first version at which it was ranked; without any day there is no entry.
    board = state.boards.current.first.leaderboard
    labels = next(
        (one.leaderboard for one in state.boards.labels if one.leaderboard.measure == board.measure), None
    )
    dev = {row.run: row.score for row in labels.ranked} if labels else {}
    entries: list[Submission] = []
    for row in board.ranked:
        told = state.entries.shown[row.run]
        day = told.submitted or _first_ranked(state, row.run)
        if day is not None:
            entries.append(
                Submission(
                    line=len(entries) + 2,
                    submission_id=row.run,
                    date=day,
                    team=told.team,
                    description=told.description,
                    type=told.type,
                    paper=told.paper,
                    code=told.code,
                    dev=dev.get(row.run),
                    eval=row.score,
                )
            )
    return entries


def leaderboard_csv(state: SiteState) -> str:
    """Return the same in MS MARCO's layout."""
    entries, measure = board_entries(state), state.boards.current.first.leaderboard.measure
    best = {one.name for one in record_holders(sorted(entries, key=lambda one: one.date))}
    return leaderboard_text([replace(one, record=one.name in best) for one in entries], measure)


def _first_ranked(state: SiteState, run: str) -> date | None:
    for one in state.boards.versions:
        if one.made and any(row.run == run for row in one.first.leaderboard.ranked):
            return date.fromisoformat(one.made[:10])
    return None


# The news of a site as a feed: Atom (RFC 4287).


_NEVER = "1970-01-01T00:00:00+00:00"
"""A date that Atom demands, where the study knows none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A piece of news: the page that it is about, and what is new in a line and in a few sentences.

    ``when`` is a time in UTC by ISO 8601; empty where it is not known.
    """

    address: str
    title: str
    words: tuple[str, ...]
    when: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """The news of a site, the latest first. ``url`` is where the site is on the web, empty where unknown."""

    title: str
    mark: str
    url: str
    authors: tuple[str, ...]
    entries: tuple[Entry, ...]

    def identity(self, address: str = "") -> str:
        """Return a name that stays, wherever the site moves to."""
        return f"urn:uuid:{uuid5(NAMESPACE_URL, f'prefjudge:{self.mark}/{address}')}"

    def place(self, address: str) -> str:
        """Return where a page is on the web; from the feed, where that is not known."""
        return f"{self.url.rstrip('/')}/{address}" if self.url else address

    @property
    def updated(self) -> str:
        """When the latest news was made."""
        return max((entry.when for entry in self.entries), default="") or _NEVER


def atom_feed(feed: Feed) -> str:
    """Return the feed as Atom."""
    authors = "".join(f"  <author><name>{_text(name)}</name></author>\n" for name in feed.authors)
    entries = "".join(
        f"  <entry>\n    <id>{feed.identity(one.address)}</id>\n    <title>{_text(one.title)}</title>\n"
        f"    <updated>{one.when or _NEVER}</updated>\n"
        f'    <link rel="alternate" href={quoteattr(feed.place(one.address))}/>\n'
        f"    <summary>{_text(' '.join(one.words))}</summary>\n  </entry>\n"
        for one in feed.entries
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"  <id>{feed.identity()}</id>\n  <title>{_text(feed.title)}</title>\n"
        f"  <updated>{feed.updated}</updated>\n"
        f"{authors}  <generator>prefjudge</generator>\n"
        f'  <link rel="self" href={quoteattr(feed.place("feed.xml"))}/>\n'
        f'  <link rel="alternate" href={quoteattr(feed.place("index.html"))}/>\n{entries}</feed>\n'
    )


def _text(words: str) -> str:
    """Return words as XML takes them, which has no place for control characters."""
    return escape(printable(words))
