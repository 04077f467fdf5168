"""Reads the inputs of the verbs that score: runs, label sets and judgments, from a study or from files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prefjudge.core.judges.judgments import Judgments, only_queries
from prefjudge.core.judges.rehearsal import Rehearsal
from prefjudge.core.pooling.copies import (
    NO_COPIES,
    Copies,
    heads_of_candidates,
    labels_of_candidates,
)
from prefjudge.core.pooling.pairs import Pairs
from prefjudge.core.pooling.pools import Pools, select_queries
from prefjudge.core.pooling.qrels import Qrels, restrict
from prefjudge.core.pooling.runs import Heads, Order, OrderLike
from prefjudge.core.pooling.top_pairs import pooled_qrels
from prefjudge.core.resolving.preferences import PREFERENCE_NAME, HowResolved
from prefjudge.core.resolving.rules import PAPER_RULE
from prefjudge.errors import InputError
from prefjudge.evaluation.scoring.spellings import one_each
from prefjudge.formats.labels.judgments import read_judgments
from prefjudge.formats.labels.pools import read_pool
from prefjudge.formats.labels.qrels import read_qrels
from prefjudge.formats.labels.stamps import rehearsal_in
from prefjudge.formats.lines.addresses import is_remote
from prefjudge.formats.lines.held import Held
from prefjudge.formats.lines.problems import Notice
from prefjudge.formats.lines.readers import stem
from prefjudge.formats.texts.queries import read_queries
from prefjudge.formats.texts.topic_fields import PLAIN, TextFields
from prefjudge.gather.best_answers import KeptAnswers, kept_by_strategy, load_best_answers, votes_of_answers
from prefjudge.gather.inputs import QRELS_NAME, expand, given_file, paths_of
from prefjudge.gather.judgments import gather_judgments
from prefjudge.gather.memory import (
    LabelSets,
    Measures,
    Pooled,
    Runs,
    Source,
    Texts,
    Votes,
    maybe,
    take_judgments,
    take_measures,
    take_pool,
    take_qrels,
    take_texts,
)
from prefjudge.gather.provenance import made_with
from prefjudge.gather.readers import Reader
from prefjudge.gather.run_names import with_named
from prefjudge.gather.waiting_runs import WaitingRuns, split_runs
from prefjudge.study.pooling import load_inputs
from prefjudge.study.study import QRELS_FILE, Study


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreInputs:
    """The inputs of a verb that scores.

    ``files`` names every file with its kind. ``judgments`` and ``pools`` are None where there are none.
    ``rule`` makes preference qrels of the judgments, and ``asked`` are the pairs that were to be judged,
    where it is not all of them. ``rehearsal`` says how many judgments are simulated: of the study, else of
    files that say so.
    ``waiting`` are the runs of a challenge that is under way: they are not among ``runs``.
    With ``judged_only``, documents without a label are taken out of each ranking before it is scored.
    ``kept`` are the study's best answers where a strategy found them that can be asked again. ``copies`` are
    documents of the same text, of which one is the candidate.
    """

    study: Study | None
    runs: tuple[str | Path, ...]
    qrels: tuple[Qrels, ...]
    judgments: Judgments | None
    pools: Pools | None
    files: tuple[tuple[str, str | Path], ...]
    how: HowResolved
    asked: Pairs | None = None
    rehearsal: Rehearsal | None = None
    waiting: WaitingRuns | None = None
    judged_only: bool = False
    kept: KeptAnswers | None = None
    copies: Copies = NO_COPIES

    def heads(self, heads: Heads) -> Heads:
        """Return the runs' heads with candidates in the place of their copies."""
        if self.pools is None or not self.copies:
            return heads
        return heads_of_candidates(heads, self.copies.standing(self.pools))

    def measures(self, asked: Measures) -> tuple[str, ...]:
        """Return the measures asked for, else the study's, else RR@10: one for each cut-off of a list."""
        named = take_measures(asked) or (self.study.config.measures if self.study else ("RR@10",))
        return tuple(one for text in named for one in one_each(text))

    def order(self, asked: OrderLike | None) -> Order:
        """Return the order asked for, else the study's, else by score."""
        return Order(asked or (self.study.config.pool.order if self.study else Order.SCORE))

    def provenance(self, reader: Reader, order: Order, **options: str) -> dict[str, str]:
        """Return what a result was made from, and how."""
        queries = {f"queries under {labels.name}": str(len(labels.queries)) for labels in self.qrels}
        return made_with(reader, order, **options) | queries | self.stamp

    @property
    def stamp(self) -> dict[str, str]:
        """Return the provenance of simulated judgments; empty where there are none."""
        name, _, what = str(self.rehearsal or "").partition(": ")
        return {name: what} if name else {}


def need_files(verb: str, example: str, *, given: bool) -> None:
    """Refuse to work on nothing."""
    if not given:
        raise InputError(f"{verb} takes a study, or --runs and --qrels", f"Run, for instance: {example}")


def gather(
    study: Study | None,
    *,
    runs: Runs = (),
    qrels: LabelSets = (),
    judgments: Votes | None = None,
    queries: Texts | None = None,
    fields: TextFields = PLAIN,
    common: bool = False,
    pool: Pooled | None = None,
    run_names: Sequence[str | Path | None] = (),
    preference: bool = True,
    judged_only: bool = False,
    notices: list[Notice],
) -> ScoreInputs:
    """Read the label sets and judgments, and find the runs; files given beside a study are added to its own.

    With ``queries``, label sets, judgments and pools keep the queries of that file only; with ``common``,
    those that every label set judges. ``pool`` is a file that says who pooled what, where there is no study.
    ``run_names`` is what options call runs: files among it are runs, too. Without ``preference`` a study need
    not be resolved.

    Raises
    ------
    InputError
        A file cannot be read, two label sets have one name, no query is common to all, or a study is given
        another pool.
    StudyError
        The study is not resolved yet, or nothing in it is judged.
    """
    judgments, queries = maybe(take_judgments, judgments), given_file(maybe(take_texts, queries), "queries")
    paths, given = expand(runs) if runs else (), take_qrels(qrels)
    own = None
    if study is not None:
        own = _of_study(study, notices, preference=preference, held=_held(paths, given))
        given = tuple(one for one in given if str(one) not in {str(path) for _, path in own.files})
    taken = [labels.name for labels in own.qrels] if own else []
    named = _all_named(_label_files(given), taken=taken)
    sets = [_read_labels(path, name, notices) for name, path in named]
    votes = read_judgments(judgments, notices=notices) if judgments else None
    extra = [("judgments", judgments)] if judgments else []
    if study is not None and pool is not None:
        raise InputError(f"{study.folder} has its own pool", "Leave out --pool.")
    pools, asked_for = (own.pools, own.asked) if own else (None, None)
    kept = own.kept if own else None
    if (pool := maybe(take_pool, pool)) is not None:
        pools = read_pool(pool, notices=notices)
        extra.append(("pool", pool))
    if votes is not None:
        asked_for = kept = None  # of the study's own judgments
    if own:
        paths, one = (*own.runs, *paths), len(own.qrels) - bool(preference)
        sets = [*own.qrels, *sets] if one else [*sets, *own.qrels]  # the labels before what is better
        votes = votes if votes is not None else own.judgments
    paths = with_named(paths, run_names)
    if own and own.waiting:
        paths = own.waiting.others(paths)
    names = [labels.name for labels in sets]
    shared = next((name for name in names if names.count(name) > 1), None)
    if shared is not None:
        raise InputError(f"two qrels are called {shared!r}", "Name them: --qrels NAME=FILE.")
    asked = tuple(read_queries(queries, fields=fields, notices=notices)) if queries is not None else None
    if queries is not None:
        extra.append(("queries", queries))
    if common and sets:
        asked = _common_queries(sets, asked)
    if asked is not None:
        sets = [restrict(labels, asked) for labels in sets]
        votes = only_queries(votes, asked) if votes is not None else None
        pools = select_queries(pools, asked) if pools is not None else None
        kept = replace(kept, answers=restrict(kept.answers, asked)) if kept else None
    labelled = [*(own.files if own else ()), *(("qrels", path) for _, path in named)]
    return ScoreInputs(
        study=study,
        runs=paths,
        qrels=tuple(sets),
        judgments=votes,
        pools=pools,
        files=(*(("run", path) for path in paths), *labelled, *extra),
        how=own.how if own else HowResolved(rule=PAPER_RULE),
        asked=asked_for,
        rehearsal=(own.rehearsal if own else None) or rehearsal_in(notices),
        waiting=own.waiting if own else None,
        judged_only=judged_only,
        kept=kept,
        copies=own.copies if own else NO_COPIES,
    )


def _common_queries(sets: Sequence[Qrels], asked: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the queries that every label set judges, of those asked for."""
    every = set[str].intersection(*(set(labels.queries) for labels in sets))
    shared = tuple(query for query in asked or sets[0].queries if query in every)
    if not shared:
        names = ", ".join(labels.name for labels in sets)
        raise InputError(
            f"no query is judged by all of {names}", "Score them separately, or leave out --common."
        )
    return shared


def _read_labels(path: Source, name: str | None, notices: list[Notice]) -> Qrels:
    """Read qrels whose grades may be fractions, as preference values are."""
    labels = read_qrels(path, name=name, fractions=True, notices=notices)
    if (labels.grade % 1 != 0).any():
        what = "some grades are fractions; RR, AP and other binary measures count 1 and more as relevant"
        notices.append(Notice(where=str(path), what=what))
    return labels


def _named(given: Source) -> tuple[str | None, Source]:
    """Split ``NAME=FILE``; a path, and a file whose own name has a ``=``, is given as it is."""
    if isinstance(given, Held):
        return given.name, given
    name, separator, path = str(given).partition("=")
    if isinstance(given, Path) or not separator or is_remote(given) or Path(given).exists():
        return None, Path(given)
    return name, Path(path)


def _label_files(given: Sequence[Source]) -> list[tuple[str | None, Source]]:
    """Return the name of each label set, if it has one, and its file; of a BEIR folder, that of its qrels."""
    named = [_named(one) for one in given]
    return [(name, given_file(path, "qrels")) for name, path in named]


def _all_named(
    given: Sequence[tuple[str | None, Source]], *, taken: Sequence[str]
) -> list[tuple[str | None, Source]]:
    """Return the label sets' names: as given, else the file's, with its suffix where two would be equal."""
    short = [stem(path) if name is None else name for name, path in given]
    return [
        (Path(path).name if name is None and [*short, *taken].count(brief) > 1 else name, path)
        for (name, path), brief in zip(given, short, strict=True)
    ]


def _held(*given: Sequence[Source]) -> dict[str, Source]:
    """Return the inputs in memory by their names, which the study that was made from them knows."""
    return {str(one): one for several in given for one in several if isinstance(one, Held)}


def _of_study(
    study: Study, notices: list[Notice], *, preference: bool, held: Mapping[str, Source]
) -> ScoreInputs:
    """Return a study's runs, its label sets over the queries that it judges, its judgments and its pools.

    ``files`` leaves out the runs, which others may join. Without ``preference`` the best answers are no label
    set, and the study need not be resolved. What the study was made from in memory has to be ``held`` again:
    the runs among it are left to those that are given.
    """
    with study.reading():
        with study.transaction(write=False) as db:
            inputs = load_inputs(db)
        judged, waiting = split_runs(study)
        if waiting:
            notices.append(Notice(where=str(study.folder), what=str(waiting)))
        answers, version = load_best_answers(study, notices) if preference else (None, 0)
        counted = gather_judgments(study, None, verb="score")
        votes, how, _ = votes_of_answers(study, counted, version, verb="score")
    assert votes.pools is not None
    names = [found.name for found in inputs if found.kind == "qrels"]
    again = [found for found in inputs if found.path not in held]
    files = iter(paths_of(again, "qrels", study.folder))
    places = [held.get(found.path) or next(files) for found in inputs if found.kind == "qrels"]
    named = list(zip(names, places, strict=True))
    original = [
        restrict(read_qrels(place, name=name, notices=notices), votes.pools.queries) for name, place in named
    ]
    return ScoreInputs(
        study=study,
        runs=paths_of([found for found in judged if found.path not in held], "run", study.folder),
        waiting=waiting,
        qrels=(*original, *([answers] if answers else [])),
        judgments=votes.log,
        pools=votes.pools,
        how=how,
        asked=votes.asked,
        rehearsal=votes.rehearsal,
        copies=votes.copies,
        kept=kept_by_strategy(study, answers, version) if answers else None,
        files=tuple(
            ("qrels", place)
            for place in (*(place for _, place in named), *([study.folder / QRELS_FILE] if answers else []))
        ),
    )


def official_qrels(found: ScoreInputs) -> Qrels | None:
    """Return the labels that the perfect ranking follows: the first that are not preference qrels.

    Where the pool is known they are those that it holds: a qrel without a text was never judged.
    """
    names = (labels for labels in found.qrels if labels.name != PREFERENCE_NAME or not found.study)
    official = next(names, None)
    if official is None or found.pools is None:
        return official
    official = labels_of_candidates(official, found.copies.standing(found.pools))
    named = official.name in found.pools.sources
    return pooled_qrels(official, found.pools, official.name if named else QRELS_NAME)
