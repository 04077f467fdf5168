"""The page about a board: what is being judged, what it cost, who may be asked, and how it is made."""

from prefjudge.counts import many
from prefjudge.gather.open_work import what_is_open
from prefjudge.render.pages.site.page import Fact, Page, Part, is_web_address
from prefjudge.render.text.cells import Column, Table
from prefjudge.steps.site.state import SiteState
from prefjudge.study.pooling import is_published
from prefjudge.study.targets import current_target


def about_page(state: SiteState, contact: str) -> Page:
    """Return the page."""
    return Page(
        address="about.html",
        title="About this leaderboard",
        parts=(
            Part(heading="What is judged", facts=_judged(state)),
            Part(heading="What it cost", facts=_cost(state)),
            Part(heading="Whom to ask", facts=_contacts(state, contact)),
            Part(heading="How it is made", facts=_design(state), tables=(_inputs(state),)),
            Part(heading="How to read the boards", words=_reading(state)),
        ),
    )


def _judged(state: SiteState) -> tuple[Fact, ...]:
    progress, answered = state.progress, len(state.answers.steps)
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
        Fact(what="Reward of a HIT", value=f"${study.config.hit.reward:.2f}{play}"),
    )


def _contacts(state: SiteState, contact: str) -> tuple[Fact, ...]:
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
    strategy = ", with ".join(filter(None, map(state.study.setting, ("strategy", "strategy model"))))
    return (
        Fact(what="Question", value=config.design.question),
        Fact(what="Candidates", value=f"the top {config.pool.depth} of each run, and the labels"),
        Fact(what="Best answers by", value=state.answers.rule),
        *([Fact(what="Strategy", value=strategy)] if strategy else []),
        Fact(what="Measures", value=", ".join(config.measures)),
        Fact(what="Order of documents", value=str(config.pool.order)),
        Fact(what="Seed", value=str(config.seed)),
    )


def _inputs(state: SiteState) -> Table:
    hidden = state.entries.hidden
    return Table(
        title="Made from",
        columns=(Column(name="kind"), Column(name="name"), Column(name="digest")),
        rows=tuple(
            (one.kind, one.name or None, one.digest or None)
            for one in state.stored.inputs
            if not (one.kind == "run" and one.name in hidden)
        ),
    )


def _reading(state: SiteState) -> tuple[str, ...]:
    sure = state.answers.confidence
    return (
        "Boards under preference score by the best-known answers, the others by labels of the name.",
        "The best-known answer to a query is the passage that people prefer to all that runs have put on top "
        "so far. A new run may bring a better one, and then it meets the answer that is known.",
        "Each version of the answers has a board of its own. A score of one version cannot be compared with "
        "that of another: the answers differ.",
        *(f"{words[0].upper()}{words[1:]}." for words in (sure.words if sure else ())),
    )
