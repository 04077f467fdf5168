"""The inputs of the verbs that score, the matrices made of them, and where they come from."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from typing import Self, TypedDict

import numpy as np

from prefjudge.core.copies import NO_COPIES, Copies, heads_of_candidates, labels_of_candidates
from prefjudge.core.judgments import Judgments, only_queries
from prefjudge.core.pools import Pairs, Pools, pooled_qrels, select_queries
from prefjudge.core.resolving.resolutions import PREFERENCE_NAME, HowResolved, Resolutions, resolved
from prefjudge.core.resolving.rules import PAPER_RULE
from prefjudge.core.runs import Heads, JudgedRanks, Order, OrderLike, Qrels, Scores, restrict
from prefjudge.errors import InputError, quoted
from prefjudge.evaluation.boards import (
    NotJudged,
    TieSensitivity,
    judged_tops,
    tie_sensitivity,
)
from prefjudge.evaluation.measures.measures import Measure, one_each, score_matrix
from prefjudge.evaluation.measures.placings import ComparedPairs, Placed, compared_pairs, place_candidates
from prefjudge.evaluation.measures.preferences import (
    PreferenceMeasure,
    is_preference_measure,
    preference_matrix,
)
from prefjudge.evaluation.stability import pooled_documents
from prefjudge.findings.answers import (
    BestAnswers,
    KeptAnswers,
    WaitingRuns,
    kept_by_strategy,
    split_runs,
    votes_of_answers,
)
from prefjudge.findings.judgments import gather_judgments
from prefjudge.reading.files import Notice, write_alike
from prefjudge.reading.given import QRELS_NAME, expand, given_file, paths_of
from prefjudge.reading.held import Held
from prefjudge.reading.inputs import (
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
from prefjudge.reading.labels import read_judgments, read_qrels, rehearsal_in
from prefjudge.reading.lines import stem
from prefjudge.reading.opened import Engine, beside_each_other, reading, tops_not_judged, with_named
from prefjudge.reading.options import ReadOptions, run_options, text_fields
from prefjudge.reading.pools import read_pool
from prefjudge.reading.remote import info_of, is_remote, without_secrets
from prefjudge.reading.runs.heads import MEASURED, Reader
from prefjudge.reading.runs.runs import RunForm
from prefjudge.reading.texts.records import TextFields
from prefjudge.reading.texts.texts import read_queries
from prefjudge.study.pools import load_inputs
from prefjudge.study.store import QRELS_FILE, Study, generator, open_study, seed_words
from prefjudge.version import __version__
from prefjudge.words import Rehearsal, many, some

_UNGRADED = {"Judged", "NumRet"}
"""Measures that count without a relevant document."""
_NAMED = 3
"""Files of one form that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputDigest:
    """One input of a result; the digest is empty for what `digesting` leaves out, and what is not a file."""

    kind: str
    path: str
    digest: str


@contextmanager
def digesting(
    files: Iterable[tuple[str, str | Path]],
) -> Iterator[Callable[[], tuple[InputDigest, ...]]]:
    """Digest files on a thread of their own, beside other work; call what is yielded for the result.

    Pipes are not digested, which can be read only once.
    """
    from prefjudge.reading.unpacking import digest

    named = list(files)
    met = [_state_of(path) for _, path in named]
    with ThreadPoolExecutor(1) as thread:
        running = [
            thread.submit(digest, path) if state else None
            for (_, path), state in zip(named, met, strict=True)
        ]

        def digests() -> tuple[InputDigest, ...]:
            found = [one.result() if one else "" for one in running]
            for (_, path), state in zip(named, met, strict=True):
                if _state_of(path) != state:
                    raise InputError(
                        f"{path} changed while it was read", "Wait until it is written, and try again."
                    )
            return tuple(
                InputDigest(kind=kind, path=without_secrets(str(path)), digest=one)
                for (kind, path), one in zip(named, found, strict=True)
            )

        try:
            yield digests
        finally:
            for one in running:
                if one:
                    one.cancel()


def _state_of(path: str | Path) -> tuple[int | str, ...]:
    """Return what tells whether a file is still the same; nothing for what cannot be read twice."""
    if is_remote(path):
        return (info_of(path).version,)
    try:
        found = Path(path).stat()
    except OSError:
        return ()
    if str(path) == "-" or not S_ISREG(found.st_mode):
        return ()
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def made_with(reader: "Reader", order: Order, **options: str) -> dict[str, str]:
    """Return what a result from runs was made with."""
    made = {
        "prefjudge": __version__,
        "order": str(order),
        "rank column": "orders the documents" if order is Order.RANK else "not used",
        **options,
        "runs": str(len(reader)),
    }
    words = _read_as(reader.forms)
    return made | ({"read as": words} if words else {})


def _read_as(forms: "Mapping[str, RunForm]") -> str:
    """Return what run files were taken for: once where they have the same columns."""
    alike: dict[tuple[str, int], list[str]] = {}
    for path, form in forms.items():
        alike.setdefault((form.layout.name, form.layout.columns), []).append(path)
    said = []
    for (name, columns), paths in alike.items():
        found = [forms[path] for path in paths]
        words = [name, many(columns, "column")]
        words.append(_between([form.lines for form in found], "line", "lines"))
        words.append(_between([form.queries for form in found], "query", "queries"))
        of = f"{some([Path(path).name for path in paths], _NAMED)}: " if len(alike) > 1 else ""
        said.append(of + ", ".join(words))
    return "; ".join(said)


def _between(counts: list[int], noun: str, nouns: str) -> str:
    least, most = min(counts), max(counts)
    return many(most, noun, nouns) if least == most else f"{least:,} to {most:,} {nouns}"


# What verbs ask of one opened study or set of files: runs, label sets, votes, and all that follows from them.


class MadeFrom(TypedDict):
    """What every result from runs says of itself: how it was made, from what, and what was odd."""

    provenance: dict[str, str]
    inputs: tuple[InputDigest, ...]
    rehearsal: Rehearsal | None
    notices: tuple[str, ...]


@dataclass(kw_only=True)
class Findings:
    """What verbs find in one study or set of files, which `gather` opens; its notices gather here, too.

    ``files`` names every file with its kind. ``judgments`` and ``pools`` are None where there are none, and
    ``how`` makes preference qrels of the judgments. ``asked`` are the pairs that were to be judged, where it
    is not all of them. ``rehearsal`` says how many judgments are simulated: of the study, else of files that
    say so. ``waiting`` are the runs of a challenge that is under way: they are not among ``runs``. With
    ``judged_only``, documents without a label are taken out of each ranking before it is scored. ``best``
    are the study's best answers, and ``kept`` these where a strategy found them that can be asked again.
    ``copies`` are documents of the same text, of which one is the candidate.
    """

    study: Study | None = None
    runs: tuple[str | Path, ...] = ()
    qrels: tuple[Qrels, ...] = ()
    judgments: Judgments | None = None
    pools: Pools | None = None
    files: tuple[tuple[str, str | Path], ...] = ()
    how: HowResolved = field(default_factory=lambda: HowResolved(rule=PAPER_RULE))
    asked: Pairs | None = None
    rehearsal: Rehearsal | None = None
    waiting: WaitingRuns | None = None
    judged_only: bool = False
    best: BestAnswers | None = None
    kept: KeptAnswers | None = None
    copies: Copies = NO_COPIES
    order: Order = Order.SCORE
    seed: int | None = None
    read: ReadOptions = field(default_factory=ReadOptions)
    notices: list[Notice] = field(default_factory=list)
    reader: Reader = field(init=False)
    digests: Callable[[], tuple[InputDigest, ...]] = field(init=False)
    _placed: dict[int, tuple[Qrels, list[JudgedRanks]]] = field(default_factory=dict)
    _wide: dict[int, tuple[Qrels, Qrels]] = field(default_factory=dict)

    @contextmanager
    def reading(self, engine: Engine | str = Engine.FILES, *, digest: bool = True) -> Iterator[Self]:
        """Open the runs for as long as the block lasts, and digest the files beside what is done there."""
        with (
            digesting(self.files if digest else ()) as self.digests,
            reading(self.runs, self.order, self.notices, engine, **self.read) as self.reader,
        ):
            yield self

    def made_from(self, **more: str) -> MadeFrom:
        """Return what a result was made from, and how; to be asked last, when all notices are there."""
        return MadeFrom(
            provenance=self.provenance(**more),
            inputs=self.digests(),
            rehearsal=self.rehearsal,
            notices=tuple(dict.fromkeys(map(str, self.notices))),
        )

    def provenance(self, **options: str) -> dict[str, str]:
        """Return how a result was made."""
        queries = {f"queries under {labels.name}": str(len(labels.queries)) for labels in self.qrels}
        return made_with(self.reader, self.order, **options) | queries | self.stamp

    @property
    def stamp(self) -> dict[str, str]:
        """The provenance of simulated judgments; empty where there are none."""
        name, _, what = str(self.rehearsal or "").partition(": ")
        return {name: what} if name else {}

    @property
    def paths(self) -> tuple[str | Path, ...]:
        """All files that are read."""
        return tuple(path for _, path in self.files)

    def rng(self, stream: str) -> np.random.Generator:
        """Return a stream of random numbers: of the study, or of the seed that was given."""
        return generator(self.study, stream, self.seed)

    @property
    def seed_words(self) -> str:
        """The seed, for the provenance."""
        return seed_words(self.study, self.seed)

    def note(self, where: object, what: str) -> None:
        """Add a notice."""
        self.notices.append(Notice(where=str(where), what=what))

    # What votes say.

    @cached_property
    def compared(self) -> ComparedPairs | None:
        """The pairs that people compared; None without judgments."""
        return None if self.judgments is None else compared_pairs(self.judgments)

    @cached_property
    def eligible(self) -> Qrels | None:
        """The documents that votes may prefer: the pools, or those that were compared."""
        if self.pools:
            return pooled_documents(self.pools)
        return self.compared.documents if self.compared else None

    @cached_property
    def tournaments(self) -> Resolutions:
        """What the rule finds in the judgments."""
        assert self.judgments is not None
        if self.best and self.judgments is self.best.votes.log and self.pools is self.best.votes.pools:
            return self.best.tournaments
        return resolved(self.judgments, self.how, pools=self.pools, asked=self.asked)

    # What runs do.

    def heads(self, heads: Heads) -> Heads:
        """Return the runs' heads with candidates in the place of their copies."""
        if self.pools is None or not self.copies:
            return heads
        return heads_of_candidates(heads, self.copies.standing(self.pools))

    def placed(self, *sets: Qrels) -> list[list[JudgedRanks]]:
        """Return where each run placed the documents of label sets, which are read together, and once."""
        new = {id(labels): labels for labels in sets if id(labels) not in self._placed}
        ranks = self.reader.judged_all([*new.values()])
        self._placed |= dict(zip(new, zip(new.values(), ranks, strict=True), strict=True))
        return [self._placed[id(labels)][1] for labels in sets]

    def wide(self, documents: Qrels) -> Qrels:
        """Return documents with all of their copies, the same each time."""
        return self._wide.setdefault(id(documents), (documents, self.copies.spread(documents)))[1]

    def placing(self, documents: Qrels) -> Placed:
        """Return where the runs placed candidates, for each the best of its copies."""
        return place_candidates(documents, self.copies, lambda _: self.placed(self.wide(documents))[0])

    @cached_property
    def official(self) -> Qrels | None:
        """The labels that the perfect ranking follows: the first that are not preference qrels.

        Where the pool is known they are those that it holds: a qrel without a text was never judged.
        """
        names = (labels for labels in self.qrels if labels.name != PREFERENCE_NAME or not self.study)
        official = next(names, None)
        if official is None or self.pools is None:
            return official
        official = labels_of_candidates(official, self.copies.standing(self.pools))
        named = official.name in self.pools.sources
        return pooled_qrels(official, self.pools, official.name if named else QRELS_NAME)

    # Scores.

    def measures(self, asked: Measures) -> tuple[list[Measure], list[PreferenceMeasure]]:
        """Return the measures asked for, else the study's, else RR@10: of labels, and of judged pairs."""
        named = take_measures(asked) or (self.study.config.measures if self.study else ("RR@10",))
        texts = [one for text in named for one in one_each(text)]
        by_pairs = [PreferenceMeasure.parse(text) for text in texts if is_preference_measure(text)]
        by_labels = [Measure.parse(text) for text in texts if not is_preference_measure(text)]
        if self.judged_only:
            by_labels = [measure.condensed() for measure in by_labels]
        if by_pairs and self.judgments is None:
            raise InputError(f"{by_pairs[0]} is computed from judgments", "Add --judgments FILE.")
        return list(dict.fromkeys(by_labels)), list(dict.fromkeys(by_pairs))

    def matrices(self, measures: Measures) -> tuple[Scores, ...]:
        """Score all runs under each label set with each measure, in that order; then by the judged pairs."""
        by_labels, by_pairs = self.measures(measures)
        labels = self.qrels if by_labels else ()
        pairs = self.compared if by_pairs or (self.study and self.judgments) else None
        ranks = self.placed(*labels, *([self.wide(pairs.documents)] if pairs else []))
        of_labels = [
            (placed, one, measure)
            for placed, one in zip(ranks, labels, strict=False)
            for measure in by_labels
        ]
        if labels:
            self.note_surprises(by_labels, (tie for one in of_labels for tie in tie_sensitivity(*one)))
        if pairs and labels:
            self.note_judged_tops(pairs)
        matrices = [score_matrix(*one) for one in of_labels]
        if pairs and by_pairs:
            placed = self.placing(pairs.documents).ranks
            matrices += [preference_matrix(placed, pairs, measure) for measure in by_pairs]
        return tuple(matrices)

    def note_surprises(self, measures: Sequence[Measure], ties: Iterable[TieSensitivity]) -> None:
        """Add to the notices what changes the runs' scores; refuse labels by which all would be 0."""
        labels, ranks = self.qrels, self.placed(*self.qrels)
        counting = {measure.family for measure in measures} <= _UNGRADED
        for placed, one in zip(ranks, labels, strict=True):
            if one.grade.size and not (one.grade > 0).any() and not counting:
                what = f"{one.name}: no relevant document is among its {many(one.grade.size, 'label')}"
                raise InputError(f"{what}, so that all scores are 0", "Give qrels with grades above 0.")
            counts = [(found.retrieved > 0).sum() for found in placed if not found.judged.size]
            dense = one.grade.size >= MEASURED * len(one.queries)
            if dense and counts and len(counts) == len(placed) and min(counts) >= MEASURED:
                docs, returned = self.reader.top(1).docs[:1], sum(int(run.retrieved.sum()) for run in placed)
                of = f"{returned:,} documents of {many(len(placed), 'run')}"
                raise InputError(
                    f"none of the {of} is judged in {one.name}: its doc_ids look like {one.docs[0]!r}, "
                    f"those of the runs like {docs[0]!r}",
                    write_alike("doc_id", docs, one.docs, "runs and qrels"),
                )
        depths = [measure.cutoff for measure in measures]
        deepest = None if None in depths else max((depth for depth in depths if depth), default=None)
        if labels:
            self.notices.extend(beside_each_other(ranks, labels, deepest, ties))

    def note_judged_tops(self, compared: ComparedPairs) -> tuple[NotJudged, ...]:
        """Return how many of each run's top passages people compared, and add it to the notices.

        It counts the queries that have preference qrels, or, without a study, those that judgments are about.
        """
        preferred = (labels.queries for labels in self.qrels if self.study and labels.name == PREFERENCE_NAME)
        documents = compared.documents
        tops = judged_tops(self.placing(documents).ranks, documents, next(preferred, documents.queries))
        self.notices.extend(tops_not_judged(tops))
        return tops


def need_files(verb: str, example: str, *, given: bool) -> None:
    """Refuse to work on nothing."""
    if not given:
        raise InputError(f"{verb} takes a study, or --runs and --qrels", f"Run, for instance: {example}")


def gather(
    study: str | Path | Study | None,
    *,
    verb: str = "",
    runs: Runs = (),
    qrels: LabelSets = (),
    judgments: Votes | None = None,
    queries: Texts | None = None,
    common: bool = False,
    pool: Pooled | None = None,
    run_names: Sequence[str | Path | None] = (),
    preference: bool = True,
    best: BestAnswers | None = None,
    judged_only: bool = False,
    order: OrderLike | None = None,
    seed: int | None = None,
    how: ReadOptions | None = None,
) -> Findings:
    """Read the label sets and judgments, and find the runs; files given beside a study are added to its own.

    ``verb`` is one that needs runs. With ``queries``, label sets, judgments and pools keep the queries of
    that file only; with ``common``, those that every label set judges. ``pool`` is a file that says who
    pooled what, where there is no study. ``run_names`` is what options call runs: files among it are runs,
    too. Without ``preference`` a study need not be resolved; ``best`` are its answers where they are known.
    """
    how = how or ReadOptions()
    found = Findings(study=open_study(study), judged_only=judged_only, seed=seed, read=run_options(how))
    judgments, queries = maybe(take_judgments, judgments), given_file(maybe(take_texts, queries), "queries")
    paths, given = expand(runs) if runs else (), take_qrels(qrels)
    if found.study is not None:
        # what the study was made from in memory has to be given again
        held = {str(one): one for one in (*paths, *given) if isinstance(one, Held)}
        _open(found, found.study, best, held, preference=preference)
        given = tuple(one for one in given if str(one) not in set(map(str, found.paths)))
    named = _all_named(_label_files(given), taken=[labels.name for labels in found.qrels])
    sets = [_read_labels(path, name, found.notices) for name, path in named]
    own = len(found.qrels) - bool(found.best)
    found.qrels = (*found.qrels, *sets) if own else (*sets, *found.qrels)  # the labels before what is better
    extra: list[tuple[str, str | Path]] = []
    if judgments:
        found.judgments, found.asked, found.kept = (
            read_judgments(judgments, notices=found.notices),
            None,
            None,
        )
        extra.append(("judgments", judgments))
    if found.study is not None and pool is not None:
        raise InputError(f"{found.study.folder} has its own pool", "Leave out --pool.")
    if (pool := maybe(take_pool, pool)) is not None:
        found.pools = read_pool(pool, notices=found.notices)
        extra.append(("pool", pool))
    found.runs = with_named((*found.runs, *paths), run_names)
    if found.waiting:
        found.runs = found.waiting.others(found.runs)
    names = [labels.name for labels in found.qrels]
    shared = next((name for name in names if names.count(name) > 1), None)
    if shared is not None:
        raise InputError(f"two qrels are called {shared!r}", "Name them: --qrels NAME=FILE.")
    asked = None
    if queries is not None:
        asked = _asked(queries, text_fields(how), found)
        extra.append(("queries", queries))
    if common and found.qrels:
        asked = _common_queries(found.qrels, asked)
    if asked is not None:
        _keep_queries(found, asked)
    labelled = [*found.files, *(("qrels", path) for _, path in named)]
    found.files = (*(("run", path) for path in found.runs), *labelled, *extra)
    found.rehearsal = found.rehearsal or rehearsal_in(found.notices)
    found.order = _order(found, order, verb)
    return found


def _order(found: Findings, asked: OrderLike | None, verb: str) -> Order:
    """Return the order asked for, else the study's, else by score, for a verb on a study's runs."""
    if verb and found.study and not (found.runs or found.waiting):
        folder = quoted(found.study.folder)
        named = f"--study {folder}" if verb == "compare" else folder
        raise InputError(
            f"{folder} has no runs: its votes were imported, and {verb} takes runs",
            f"Run, with your run files: prefjudge {verb} {named} --runs 'runs/*'",
        )
    return Order(asked or (found.study.config.pool.order if found.study else Order.SCORE))


def _asked(queries: Source, fields: TextFields, found: Findings) -> tuple[str, ...]:
    """Return the queries of a file, some of which some label set has to judge."""
    asked = tuple(read_queries(queries, fields=fields, notices=found.notices))
    if asked and found.qrels and all({*asked}.isdisjoint(labels.queries) for labels in found.qrels):
        judged = found.qrels[0].queries
        raise InputError(
            f"{queries}: no query of this file is judged: its first is {asked[0]!r}, the qrels have "
            f"{judged[0]!r}",
            write_alike("query_id", asked, judged, "queries and qrels"),
        )
    return asked


def _keep_queries(found: Findings, asked: tuple[str, ...]) -> None:
    found.qrels = tuple(restrict(labels, asked) for labels in found.qrels)
    if found.judgments is not None:
        found.judgments = only_queries(found.judgments, asked)
    if found.pools is not None:
        found.pools = select_queries(found.pools, asked)
    if found.kept:
        found.kept = replace(found.kept, answers=restrict(found.kept.answers, asked))


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


def named_source(given: Source) -> tuple[str | None, Source]:
    """Split ``NAME=FILE``; a path, and a file whose own name has a ``=``, is given as it is."""
    if isinstance(given, Held):
        return given.name, given
    name, separator, path = str(given).partition("=")
    if isinstance(given, Path) or not separator or is_remote(given) or Path(given).exists():
        return None, Path(given)
    return name, Path(path)


def _label_files(given: Sequence[Source]) -> list[tuple[str | None, Source]]:
    """Return the name of each label set, if it has one, and its file; of a BEIR folder, that of its qrels."""
    named = [named_source(one) for one in given]
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


def _open(
    found: Findings, study: Study, best: BestAnswers | None, held: Mapping[str, Source], *, preference: bool
) -> None:
    """Take a study's label sets over the queries that it judges, its judgments and its pools.

    Runs are left to those that are given, which others may join.
    """
    with study.reading():
        with study.transaction(write=False) as db:
            inputs = load_inputs(db)
        judged, found.waiting = split_runs(study)
        if found.waiting:
            found.note(study.folder, str(found.waiting))
        if preference:
            best = best or BestAnswers(study, verb="score")
            found.notices += best.read
            votes, found.how = best.votes, best.how
            found.best, found.kept = best, kept_by_strategy(study, best.qrels, best.version)
        else:
            counted = gather_judgments(study, None, verb="score")
            votes, found.how, _ = votes_of_answers(study, counted, 0, verb="score")
    assert votes.pools is not None
    found.judgments, found.pools, found.asked = votes.log, votes.pools, votes.asked
    found.rehearsal, found.copies = votes.rehearsal, votes.copies
    names = [one.name for one in inputs if one.kind == "qrels"]
    again = [one for one in inputs if one.path not in held]
    files = iter(paths_of(again, "qrels", study.folder))
    places = [held.get(one.path) or next(files) for one in inputs if one.kind == "qrels"]
    found.runs = paths_of([one for one in judged if one.path not in held], "run", study.folder)
    found.qrels = tuple(
        restrict(read_qrels(place, name=name, notices=found.notices), votes.pools.queries)
        for name, place in zip(names, places, strict=True)
    )
    found.files = tuple(("qrels", place) for place in places)
    if found.best:
        found.qrels += (found.best.qrels,)
        found.files += (("qrels", study.folder / QRELS_FILE),)
