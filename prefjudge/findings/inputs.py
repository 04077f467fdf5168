"""The inputs of the verbs that score, the matrices made of them, and where they come from."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from prefjudge.core.copies import NO_COPIES, Copies, heads_of_candidates, labels_of_candidates
from prefjudge.core.judgments import Judgments, only_queries
from prefjudge.core.pools import Pairs, Pools, pooled_qrels, select_queries
from prefjudge.core.resolving.resolutions import PREFERENCE_NAME, HowResolved
from prefjudge.core.resolving.rules import PAPER_RULE
from prefjudge.core.runs import Heads, JudgedRanks, Order, OrderLike, Qrels, Scores, restrict
from prefjudge.errors import InputError, quoted
from prefjudge.evaluation.boards import (
    Board,
    NotJudged,
    TieSensitivity,
    judged_tops,
    label_board,
    tie_sensitivity,
)
from prefjudge.evaluation.measures.measures import Measure, one_each, score_matrix
from prefjudge.evaluation.measures.placings import compared_pairs, place_candidates
from prefjudge.evaluation.measures.preferences import (
    PreferenceMeasure,
    is_preference_measure,
    preference_matrix,
)
from prefjudge.evaluation.submissions import (
    OfficialBoard,
    find_entry,
    group_submissions,
    official_board,
    official_order,
    short_name,
)
from prefjudge.findings.answers import (
    KeptAnswers,
    WaitingRuns,
    kept_by_strategy,
    load_best_answers,
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
from prefjudge.reading.labels import file_stamps, read_judgments, read_qrels, rehearsal_in
from prefjudge.reading.leaderboards import read_aliases, read_leaderboard
from prefjudge.reading.lines import stem
from prefjudge.reading.once import is_asking_once, state_of
from prefjudge.reading.opened import Reader, beside_each_other, tops_not_judged, with_named
from prefjudge.reading.pools import read_pool
from prefjudge.reading.remote import is_remote, without_secrets
from prefjudge.reading.runs.heads import MEASURED
from prefjudge.reading.runs.runs import RunForm
from prefjudge.reading.texts.records import PLAIN, TextFields
from prefjudge.reading.texts.texts import read_queries
from prefjudge.study.pools import load_inputs
from prefjudge.study.store import QRELS_FILE, Study
from prefjudge.version import __version__
from prefjudge.words import Rehearsal, joint, many

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

    Pipes are not digested, which can be read only once; nor is anything for a verb that is made of verbs: its
    page shows what the study was made from.
    """
    from prefjudge.reading.unpacking import digest

    named = list(files)
    met = [state_of(path) for _, path in named]
    wanted = not is_asking_once()
    with ThreadPoolExecutor(1) as thread:
        running = [
            thread.submit(digest, path) if wanted and state else None
            for (_, path), state in zip(named, met, strict=True)
        ]

        def digests() -> tuple[InputDigest, ...]:
            found = [one.result() if one else "" for one in running]
            for (_, path), state in zip(named, met, strict=True):
                if state_of(path) != state:
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


def made_with(reader: "Reader", order: Order, **options: str) -> dict[str, str]:
    """Return what a result from runs was made with."""
    made = {
        "prefjudge": __version__,
        "order": str(order),
        "rank column": "orders the documents" if order is Order.RANK else "not used",
        **options,
        "runs": str(len(reader)),
    }
    words = _read_as(reader.runs.forms)
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
        more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
        of = f"{', '.join(Path(path).name for path in paths[:_NAMED])}{more}: " if len(alike) > 1 else ""
        said.append(of + ", ".join(words))
    return "; ".join(said)


def _between(counts: list[int], noun: str, nouns: str) -> str:
    least, most = min(counts), max(counts)
    return many(most, noun, nouns) if least == most else f"{least:,} to {most:,} {nouns}"


# Reads the inputs of the verbs that score: runs, label sets and judgments, from a study or from files.


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

    def order(self, asked: OrderLike | None, verb: str = "") -> Order:
        """Return the order asked for, else the study's, else by score, for a verb on a study's runs."""
        if verb and self.study and not (self.runs or self.waiting):
            folder = quoted(self.study.folder)
            named = f"--study {folder}" if verb == "compare" else folder
            raise InputError(
                f"{folder} has no runs: its votes were imported, and {verb} takes runs",
                f"Run, with your run files: prefjudge {verb} {named} --runs 'runs/*'",
            )
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
    if asked and sets and all({*asked}.isdisjoint(labels.queries) for labels in sets):
        judged = sets[0].queries
        raise InputError(
            f"{queries}: no query of this file is judged: its first is {asked[0]!r}, the qrels have "
            f"{judged[0]!r}",
            write_alike("query_id", asked, judged, "queries and qrels"),
        )
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


# The official leaderboard beside the boards of ``score``: its table, and its order.


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """The order in which plots show the runs, and whose it is."""

    name: str
    runs: tuple[str, ...]


def check_order(order_by: str | Path | None, found: ScoreInputs) -> None:
    """Refuse what is not a board, before any work is done."""
    names = [labels.name for labels in found.qrels]
    if order_by is None or str(order_by) in names or Path(order_by).is_file():
        return
    raise InputError(
        f"--order-by {order_by}: neither a label set's name nor a file",
        f"Give a label set ({', '.join(names)}), or a leaderboard's CSV.",
    )


def stamped(found: ScoreInputs, *boards: str | Path | None) -> ScoreInputs:
    """Return the sources with the stamps of the leaderboards' files that are shown beside them, too."""
    names = {labels.name for labels in found.qrels}
    files = [
        board for board in boards if board is not None and str(board) not in names and Path(board).is_file()
    ]
    theirs = rehearsal_in(stamp for file in files for stamp in file_stamps(file))
    return replace(found, rehearsal=joint(filter(None, (found.rehearsal, theirs))))


def run_order(order_by: str | Path, boards: Sequence[Board]) -> RunOrder:
    """Return the runs in the order of a board: a label set's, or that of a leaderboard's CSV."""
    for board in boards:
        if board.leaderboard.qrels == str(order_by):
            runs = tuple(row.run for row in board.leaderboard.ranked)
            return RunOrder(name=f"the {order_by} qrels", runs=runs)
    scored = tuple(row.run for row in boards[0].leaderboard.ranked)
    return RunOrder(name="the leaderboard", runs=official_order(scored, read_leaderboard(order_by)))


def official_scores(
    leaderboard: str | Path,
    found: ScoreInputs,
    measure: Measure,
    boards: Sequence[Board],
    reader: Reader,
) -> OfficialBoard:
    """Score the runs under the original qrels on all and on the selected queries, beside a leaderboard.

    The original qrels are the first label set; the selected queries are those of the second, the preference
    qrels. A study has restricted the original ones, so that they are read again.
    """
    if not found.qrels:
        raise InputError("a leaderboard's table needs qrels", "Add --qrels FILE.")
    entries = read_leaderboard(leaderboard)
    liked = found.qrels[1] if len(found.qrels) > 1 else None
    every = _unrestricted(found)
    selected = restrict(every, liked.queries) if liked else every
    ranks = reader.judged_all([every, selected])
    one, other = (
        label_board(placed, labels, measure, top=labels).leaderboard
        for placed, labels in zip(ranks, (every, selected), strict=True)
    )
    same = (board.leaderboard for board in boards if board.leaderboard.measure == str(measure))
    preference = next((board for board in same if liked and board.qrels == liked.name), None)
    made = official_board(entries, one, other, preference)
    if not made.listed:
        raise InputError(
            f"{leaderboard} lists none of the runs, such as {one.ranked[0].run!r}",
            "Give runs whose tags are ids of its entries, or descriptions of one entry each.",
        )
    return made


TeamsOf = Callable[[Sequence[str]], Mapping[str, str]]
"""The team of each of some runs; a run without one stands alone."""
AUDITED = "audit"


def find_teams(teams: str | Path | None, leaderboard: str | Path | None) -> TeamsOf | None:
    """Return who the teams of runs are: as a file says, or as a leaderboard prints them."""
    if teams is None:
        return None
    if str(teams) != AUDITED:
        named = read_aliases(teams, "its team")
        return lambda runs: named
    if leaderboard is None:
        raise InputError("--teams audit takes the teams that a leaderboard prints", "Add --leaderboard FILE.")
    entries = sorted(read_leaderboard(leaderboard), key=lambda entry: (entry.date, entry.line))
    groups = group_submissions([(entry.name, entry.team) for entry in entries])
    short = Counter(short_name(team.name) for team in groups.teams)
    team_of = {
        submission: cut if short[cut := short_name(team.name)] == 1 else team.name
        for team in groups.teams
        for submission in team.submissions
    }

    def printed(runs: Sequence[str]) -> dict[str, str]:
        found = {run: find_entry(run, entries) for run in runs}
        return {run: team_of[one.name] for run, one in found.items() if one and one.name in team_of}

    return printed


def _unrestricted(found: ScoreInputs) -> Qrels:
    """Return the original qrels with all their queries."""
    if found.study is None:
        return found.qrels[0]
    with found.study.transaction(write=False) as db:
        inputs = [one for one in load_inputs(db) if one.kind == "qrels"]
    return read_qrels(Path(inputs[0].path), name=inputs[0].name) if inputs else found.qrels[0]


# The query x run matrices that the statistics work on, from the inputs of a step.

_UNGRADED = {"Judged", "NumRet"}
"""Measures that count without a relevant document."""


def named_measures(found: ScoreInputs, measures: Measures) -> tuple[list[Measure], list[PreferenceMeasure]]:
    """Return the measures by kind: those that need labels, and those that need judged pairs."""
    texts = found.measures(measures)
    by_pairs = [PreferenceMeasure.parse(text) for text in texts if is_preference_measure(text)]
    by_labels = [Measure.parse(text) for text in texts if not is_preference_measure(text)]
    if found.judged_only:
        by_labels = [measure.condensed() for measure in by_labels]
    if by_pairs and found.judgments is None:
        raise InputError(f"{by_pairs[0]} is computed from judgments", "Add --judgments FILE.")
    return list(dict.fromkeys(by_labels)), list(dict.fromkeys(by_pairs))


def note_surprises(
    reader: Reader,
    ranks: Sequence[Sequence[JudgedRanks]],
    labels: Sequence[Qrels],
    measures: Sequence[Measure],
    ties: Iterable[TieSensitivity],
) -> None:
    """Add to the reader's notices what in the runs changes their scores, before a number is told.

    Refuse labels by which nothing is measured: all scores would be 0. Of few labels a query a run may well
    have found none, and 0 is its score.
    """
    for placed, one in zip(ranks, labels, strict=False):
        if one.grade.size and not (one.grade > 0).any() and {found.family for found in measures} - _UNGRADED:
            what = f"{one.name}: no relevant document is among its {many(one.grade.size, 'label')}"
            raise InputError(f"{what}, so that all scores are 0", "Give qrels with grades above 0.")
        counts = [(found.retrieved > 0).sum() for found in placed if not found.judged.size]
        dense = one.grade.size >= MEASURED * len(one.queries)
        if dense and counts and len(counts) == len(placed) and min(counts) >= MEASURED:
            docs, returned = reader.top(1).docs[:1], sum(int(found.retrieved.sum()) for found in placed)
            what = f"none of the {returned:,} documents of {many(len(placed), 'run')} is judged in {one.name}"
            raise InputError(
                f"{what}: its doc_ids look like {one.docs[0]!r}, those of the runs like {docs[0]!r}",
                write_alike("doc_id", docs, one.docs, "runs and qrels"),
            )
    depths = [measure.cutoff for measure in measures]
    deepest = None if None in depths else max((depth for depth in depths if depth), default=None)
    if labels:
        reader.runs.notices.extend(beside_each_other(ranks[: len(labels)], labels, deepest, ties))


def note_judged_tops(
    found: ScoreInputs, reader: Reader, ranks: Sequence[JudgedRanks], documents: Qrels
) -> tuple[NotJudged, ...]:
    """Return how many of each run's top passages people compared, and add it to the reader's notices.

    It counts the queries that have preference qrels, or, without a study, those that the judgments are about.
    """
    preferred = (labels.queries for labels in found.qrels if found.study and labels.name == PREFERENCE_NAME)
    tops = judged_tops(ranks, documents, next(preferred, documents.queries))
    reader.runs.notices.extend(tops_not_judged(tops))
    return tops


def score_matrices(found: ScoreInputs, measures: Measures, reader: Reader) -> tuple[Scores, ...]:
    """Score all runs under each label set with each measure, in that order; then by the judged pairs."""
    by_labels, by_pairs = named_measures(found, measures)
    labels = found.qrels if by_labels else ()
    voted = by_pairs or (found.study and found.judgments is not None and len(found.judgments))
    pairs = compared_pairs(found.judgments) if voted and found.judgments is not None else None
    ranks = reader.judged_all([*labels, *([found.copies.spread(pairs.documents)] if pairs else [])])
    if pairs:
        ranks.append(place_candidates(pairs.documents, found.copies, lambda _: ranks.pop()).ranks)
    ties = (
        found
        for placed, one in zip(ranks, labels, strict=False)
        for measure in by_labels
        for found in tie_sensitivity(placed, one, measure)
    )
    note_surprises(reader, ranks, labels, by_labels, ties)
    if pairs and labels:
        note_judged_tops(found, reader, ranks[-1], pairs.documents)
    matrices = [
        score_matrix(placed, one, measure)
        for placed, one in zip(ranks, labels, strict=False)
        for measure in by_labels
    ]
    if pairs and by_pairs:
        matrices += [preference_matrix(ranks[-1], pairs, measure) for measure in by_pairs]
    return tuple(matrices)
