"""The report's section for a paper: what was done, in one paragraph with the study's own numbers."""

from functools import partial
from math import isfinite

from prefjudge.errors import PrefjudgeError
from prefjudge.pages.methods import to_bibtex, with_citations
from prefjudge.pages.page import Section
from prefjudge.show.boards import categories_table, preferred_table, votings_words
from prefjudge.show.plots import plot_shares
from prefjudge.show.statistics import naive_table, outcomes_table
from prefjudge.steps.compare import compared
from prefjudge.steps.report.material import Material
from prefjudge.steps.report.pictures import drawn
from prefjudge.steps.winratio import winratio
from prefjudge.study.people import Judge, Judges
from prefjudge.study.pools import is_published, load_inputs
from prefjudge.words import chance_text, many


def methods_section(material: Material) -> list[Section]:
    """Return the paragraph on methods, with its sources."""
    text = describe_methods(material)
    return [
        Section(
            heading="For a paper",
            fold="Methods",
            finding="What was done and found, in a paragraph with its sources.",
            words=(with_citations(text),),
            command=to_bibtex(text),
        )
    ]


def describe_methods(material: Material) -> str:
    """Return what was done and found, in a paragraph that cites its sources by their keys."""
    parts = [_pooled(material), _judged(material)]
    for part in (_resolved, _scored):
        try:
            parts.append(part(material))
        except PrefjudgeError:  # not yet: the paragraph grows with the study
            continue
    seed = material.study.config.seed
    parts.append(f"All of this was computed with prefjudge [@prefjudge], seed {seed}.")
    return " ".join(filter(None, parts))


def _pooled(material: Material) -> str:
    state, config = material.state, material.study.config
    with material.study.transaction(write=False) as db:
        inputs = load_inputs(db)
    runs = sum(one.kind == "run" for one in inputs)
    labels = [one.name for one in inputs if one.kind == "qrels"]
    what = f"{many(state.queries, 'query')} ({many(state.pairs, 'pair')} of passages)"
    if not runs:
        return f"The candidates of {what} were given."
    top = "passage" if config.pool.depth == 1 else f"{config.pool.depth} passages"
    known = f" with known relevant passages of the {' and '.join(labels)} qrels" if labels else ""
    return f"We pooled the top {top} of {many(runs, 'run')}{known} for {what} [@arabzadeh2022]."


def _judged(material: Material) -> str:
    state, design = material.state, material.study.config.design
    with material.study.transaction(write=False) as db:
        published = is_published(db)
    made = [f"{many(one.judgments, 'judgment')} of {people_of(one)}" for one in material.judges]
    if not made:
        return ""
    dropped = f"; {state.dropped_judgments:,} were dropped by screening" if state.dropped_judgments else ""
    asked = (
        f" Each HIT had {many(design.pairs_per_hit, 'pair')} and "
        f'{many(design.gold_per_hit, "hidden gold pair")}, and workers were asked: "{design.question}"'
        if published
        else ""
    )
    return f"Passages were compared side by side: {' and '.join(made)} count{dropped}.{asked}"


def _resolved(material: Material) -> str:
    found = material.answers
    decided = ", ".join(
        f"{count:,} {status}" for status, count in found.best.resolutions.counts().items() if count
    )
    options = "" if found.best.version else found.best.how.options
    text = f"The judgments of each query were resolved by {found.best.resolutions.rule}{options} ({decided})."
    if found.sure is not None and isfinite(found.sure.mean):
        text += (
            " By a Bradley–Terry model with lapses [@bradley1952] a winner is the best of its pool with a "
            f"mean probability of {chance_text(found.sure.mean)}."
        )
    return text


def _scored(material: Material) -> str:
    result = material.scored
    measures = " and ".join(dict.fromkeys(board.leaderboard.measure for board in result.boards))
    names = " and ".join(dict.fromkeys(board.leaderboard.qrels for board in result.boards))
    text = f"Runs were scored by {measures} under the {names} qrels"
    if any(board.standings for board in result.boards):
        text += ", and told apart by paired t tests of all pairs with Holm's correction at 5 % [@holm1979]"
    text += "."
    for pair in result.tau:
        if isfinite(pair.tau):
            boards = f"{' and '.join(dict.fromkeys(pair.measures))} under {' and '.join(pair.qrels)}"
            found = f"{pair.tau:.2f}{votings_words(pair)}"
            text += f" Kendall's τ [@kendall1938] between the boards of {boards} is {found}."
    return text


def people_of(one: Judges) -> str:
    """Return who made judgments: people, or what stands in for them."""
    if one.judge is Judge.SIMULATED:
        return many(one.workers, "simulated worker") if one.workers else "simulated workers"
    return many(one.workers, "person", "people") if one.workers else "people who are not named"


# The papers' tables for a study: sections of its report.


def top_section(material: Material) -> list[Section]:
    """Return Tables 1 and 2 and Figure 2 of shallow pooling, where a study pooled one run with the qrels."""
    with material.study.transaction(write=False) as db:
        kinds = {kind: [one.name for one in load_inputs(db) if one.kind == kind] for kind in ("run", "qrels")}
    if len(kinds["run"]) != 1 or not kinds["qrels"]:
        return []
    result = winratio(material.study, against_qrel=kinds["run"][0], **material.how)
    found = result.against_qrel
    assert found is not None, "it was asked for"
    finding = ""
    if found.b.qrel + found.b.rival:
        finding = (
            f"Where they differ, people prefer the top passage of {found.run} to the qrel for "
            f"{found.b.rival_ratio:.1%} of {many(found.b.qrel + found.b.rival, 'query')}."
        )
    preferred = preferred_table(found)
    words = f"Who was preferred, {found.run} or the qrels"
    return [
        Section(
            heading="The qrels against one run",
            finding=finding,
            pictures=(drawn(material, "qrels-against-run", words, partial(plot_shares, found), preferred),),
            tables=(categories_table(found.split, found.run), preferred),
        )
    ]


def outcomes_section(material: Material) -> list[Section]:
    """Return Tables 1 and 2 of Lin et al. (SIGIR 2021): every run against the best one."""
    boards, notices = material.scored.leaderboards, material.notices
    first = next((board for board in boards if board.measure.startswith("RR")), None)
    if first is None:
        notices.append("Outcomes need reciprocal ranks: the study's measures have none, such as RR@10.")
    if first is None or len(first.ranked) < 2 or first.queries < 2:
        return []
    best = first.ranked[0].run
    found = compared(material.found, (first.measure,), [("--baseline", best)])
    notices.extend(map(str, material.found.notices))
    rows = [(one.significance, row) for one in found for row in one.outcomes]
    differing = [words for one in found for words in one.outcome_words if "The tests differ" in words]
    return [
        Section(
            heading="Outcomes",
            finding=f"Every run against {best}, the best under the {first.qrels} qrels: who answers more "
            "queries, and who ranks the answers better.",
            words=tuple(differing),
            tables=(naive_table(rows), outcomes_table(rows)),
        )
    ]
