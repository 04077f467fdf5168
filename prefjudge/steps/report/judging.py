"""The report's sections on how a study was judged: its challenges, its workers, its money, its design."""

from collections import Counter
from dataclasses import asdict, replace
from math import isfinite

from prefjudge.pages.page import Section
from prefjudge.show.cells import Column, Table
from prefjudge.show.statistics import changes_table, remarks_table, workers_table
from prefjudge.steps.report.material import Material, made_from, strategy_words
from prefjudge.steps.report.pictures import pool_picture, work_picture, workers_picture
from prefjudge.steps.status.history import Version, history
from prefjudge.study.imports import load_imports, load_votes
from prefjudge.study.people import PrivateWords, load_workers
from prefjudge.study.pools import is_published, load_inputs, load_pool_sizes
from prefjudge.version import __version__
from prefjudge.words import many


def challenges_section(material: Material) -> list[Section]:
    """Return what became of the newcomers of new runs, where there were any."""
    versions = history(material.study, moves=False).versions
    if len(versions) < 2:
        return []
    findings = [
        f"{many(sum(not duel.returned for duel in one.duels), 'newcomer')} met the best answers, and "
        f"{sum(duel.dethroned and not duel.returned for duel in one.duels):,} took their place"
        f"{_returned(one)}: version {one.version}."
        for one in versions[1:]
    ]
    table = changes_table({one.version: (one.changes, one.duels) for one in versions})
    return [Section(heading="Challenges", finding=" ".join(findings), tables=(table,) if table.rows else ())]


def _returned(version: Version) -> str:
    count = sum(duel.returned for duel in version.duels)
    return f"; in {count:,} an earlier candidate is the best after all" if count else ""


def judging_section(material: Material) -> list[Section]:
    """Return who judged what, for how much."""
    study, state = material.study, material.state
    with study.transaction(write=False) as db:
        sizes, models = load_pool_sizes(db), Counter(model for model, _ in load_votes(db))
    pictures = [pool_picture(material, sizes), work_picture(material)]
    hits = ", ".join(f"{count:,} {name}" for name, count in state.hits.items()) or "none"
    of_budget = f" of a budget of ${state.budget}" if state.budget else ""
    kept = ", ".join(f"{count:,} {verdict}" for verdict, count in state.verdicts.items())
    barred = f" Barred: {many(len(state.barred), 'worker')}." if state.barred else ""
    with study.transaction(write=False) as db:
        imports, published = load_imports(db), is_published(db)
    finding = (
        f"HITs: {hits}. {many(state.assignments, 'assignment')}{f': {kept}' if kept else ''}.{barred}"
        if published or not imports
        else "The votes were imported; no HIT was published here."
    )
    words = [
        *([f"Committed: ${state.committed}{of_budget}."] if published or not imports else []),
        *(
            f"The model {model} also judged {many(pairs, 'pair')}; its votes are not among the judgments."
            for model, pairs in models.items()
        ),
    ]
    tables = []
    words += [
        f"{many(one.votes, 'vote')} {'was' if one.votes == 1 else 'were'} imported from {one.name}, "
        f"as {one.form}"
        f"{f' on {one.criterion}' if one.criterion else ''}; nothing was paid for them here."
        for one in imports
        if one.votes
    ]
    found = material.people
    if found:
        pictures.append(workers_picture(material, found))
        tables += [table for table in (workers_of(material), _remarks(material)) if table]
        if found.repeated and isfinite(found.alpha):
            words.append(
                f"Krippendorff's alpha over {many(found.repeated, 'repeated pair')}: {found.alpha:.3f}."
            )
        if found.kept and isfinite(found.left_rate) and all(one.sides for one in imports):
            words.append(
                f"The passage on the left won {found.left_rate:.1%} of the comparisons "
                f"(p = {found.left_p:.3g})."
            )
    return [
        Section(
            heading="Judging",
            finding=finding,
            words=tuple(words),
            pictures=tuple(filter(None, pictures)),
            tables=tuple(tables),
        )
    ]


def workers_of(material: Material) -> Table | None:
    """Return a row for each worker; none where nobody knows who they are."""
    found = material.people
    return workers_table([asdict(one) for one in found.workers], found.notices) if found else None


def _remarks(material: Material) -> Table | None:
    """Return what workers said, without what says who they are."""
    said = material.people.remarks if material.people else ()
    if not said:
        return None
    with material.study.transaction(write=False) as db:
        words = PrivateWords(load_workers(db))
    cleaned = [replace(one, comment=words.without_names(one.comment)) for one in said]
    return remarks_table([asdict(one) for one in cleaned])


def design_section(material: Material) -> list[Section]:
    """Return what people were asked, and what the study was made from."""
    study = material.study
    config, design, pool = study.config, study.config.design, study.config.pool
    with study.transaction(write=False) as db:
        inputs, imports = load_inputs(db), load_imports(db)
        published = is_published(db) or not imports
    strategy = strategy_words(study)
    rows = (
        ("pool", f"top {pool.depth} of each run, order {pool.order}, qrels {pool.qrels}"),
        ("HIT", f"{many(design.pairs_per_hit, 'pair')}, {many(design.gold_per_hit, 'hidden gold pair')}"),
        ("strategy", strategy) if strategy else ("judgments of a pair", str(design.judgments_per_pair)),
        ("screening", str(config.screening.policy)),
        ("reward", f"${config.hit.reward:.2f}"),
        ("rule", config.rule),
        ("seed", str(config.seed)),
        ("prefjudge", __version__),
    )
    files = (
        *((one.kind, one.name, one.digest) for one in inputs),
        *(("votes", one.name, one.digest) for one in imports),
    )
    what, value = Column(name="what"), Column(name="value")
    return [
        Section(
            heading="How it was made",
            finding=f"Workers were asked: {design.question}"
            if published
            else "The votes were imported; what people were asked is not known here.",
            tables=(
                Table(title="Design", columns=(what, value), rows=rows if published else rows[-3:]),
                made_from(files),
            ),
        )
    ]
