"""What a site gives to programs: feeds of its news, and the leaderboard as MS MARCO's CSV."""

from dataclasses import replace
from datetime import date

from prefjudge.evaluation.submissions.submissions import Submission, record_holders
from prefjudge.formats.leaderboard_csv import leaderboard_text
from prefjudge.render.pages.site.addresses import version_address
from prefjudge.render.pages.site.feeds import Entry, Feed
from prefjudge.steps.site.board_pages import version_words
from prefjudge.steps.site.state import SiteState


def site_feed(state: SiteState, title: str, url: str) -> Feed:
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
        title=title,
        mark=state.study.mark,
        url=url,
        authors=tuple(author.name for author in state.study.config.release.authors) or (title,),
        entries=tuple(reversed(entries)),
    )


def leaderboard_csv(state: SiteState) -> str:
    """Return the board as it is in MS MARCO's layout, the best first, the days as far as they are known.

    ``Eval`` is the score under the best-known answers, ``Dev`` that under the labels. A run whose submission
    has no day has that of the first version at which it was ranked; without any day there is no entry.
    """
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
    best = {one.name for one in record_holders(sorted(entries, key=lambda one: one.date))}
    return leaderboard_text([replace(one, record=one.name in best) for one in entries], board.measure)


def _first_ranked(state: SiteState, run: str) -> date | None:
    for one in state.boards.versions:
        if one.made and any(row.run == run for row in one.first.leaderboard.ranked):
            return date.fromisoformat(one.made[:10])
    return None
