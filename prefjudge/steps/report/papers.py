"""The papers' tables for a study: sections of its report."""

from functools import partial

from prefjudge.pages.page import Section
from prefjudge.show.boards import categories_table, preferred_table
from prefjudge.show.plots import plot_shares
from prefjudge.show.statistics import naive_table, outcomes_table
from prefjudge.steps.compare import compare
from prefjudge.steps.report.material import Material
from prefjudge.steps.report.pictures import drawn
from prefjudge.steps.winratio import winratio
from prefjudge.study.pools import load_inputs
from prefjudge.words import many


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
    result = compare(
        study=material.study, baseline=best, measure=first.measure, **material.given, **material.how
    )
    notices.extend(result.notices)
    rows = [(one.significance, row) for one in result.comparisons for row in one.outcomes]
    differing = [
        words for one in result.comparisons for words in one.outcome_words if "The tests differ" in words
    ]
    return [
        Section(
            heading="Outcomes",
            finding=f"Every run against {best}, the best under the {first.qrels} qrels: who answers more "
            "queries, and who ranks the answers better.",
            words=tuple(differing),
            tables=(naive_table(rows), outcomes_table(rows)),
        )
    ]
