"""The boards of ``score``, and what it says beside them: how far they agree, and what they rest on."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from prefjudge.core.judgments import Judgments
from prefjudge.core.pools import Pools
from prefjudge.core.resolving.resolutions import PREFERENCE_NAME, resolved, to_qrels
from prefjudge.core.runs import Qrels
from prefjudge.errors import InputError
from prefjudge.evaluation.boards import (
    Board,
    NotJudged,
    by_people,
    label_board,
    make_board,
    nearly_same,
    on_common_queries,
)
from prefjudge.evaluation.correlation import (
    RankCorrelation,
    SampleAgreement,
    TwoVotings,
    correlate,
    sample_agreement,
)
from prefjudge.evaluation.intervals import Statistic
from prefjudge.evaluation.measures.measures import Measure
from prefjudge.evaluation.measures.placings import compared_pairs, place_candidates
from prefjudge.evaluation.measures.preferences import (
    PairAgreement,
    Pairings,
    PreferenceMeasure,
    pair_agreement,
    pairings,
    preference_matrix,
)
from prefjudge.evaluation.stability import (
    LeftOut,
    judged_pools,
    leave_one_out,
    pooled_documents,
    redrawn_votings,
    unpooled_documents,
)
from prefjudge.evaluation.winratios import WinRatios, win_ratios
from prefjudge.findings.boards import VoteSet
from prefjudge.findings.inputs import ScoreInputs, TeamsOf, note_judged_tops, note_surprises, official_qrels
from prefjudge.reading.files import Notice
from prefjudge.reading.opened import Reader, pooled_only
from prefjudge.study.store import generator
from prefjudge.words import many

_COPIES = 3
"""How many pairs of runs that are nearly the same are named on each board."""
_HITS = 15
"""Fewer queries than that on which a run has more than the worst score are too few to speak of its mean."""


def score_boards(
    found: ScoreInputs,
    by_labels: Sequence[Measure],
    by_pairs: Sequence[PreferenceMeasure],
    statistic: Statistic,
    reader: Reader,
) -> tuple[list[Board], tuple[PairAgreement, ...], tuple[NotJudged, ...], VoteSet | None]:
    """Return a board for each label set and measure, and what judgments add.

    That is how each run agrees with the preferences, how much of its top is judged, and the votes.

    Under later label sets a board shows the perfect ranking of the first, the qrels that were pooled on top.
    """
    labels, official = found.qrels if by_labels else (), official_qrels(found)
    pooled = official if labels and official and official.name == labels[0].name else None
    votes = found.judgments if found.judgments is not None and len(found.judgments) else None
    pairs = compared_pairs(votes) if votes is not None else None
    documents = pooled_documents(found.pools) if found.pools else pairs.documents if pairs else None
    voted = [pairs.documents, documents] if pairs and documents is not None else []
    ranks = reader.judged_all([*labels, *map(found.copies.spread, voted)])
    boards = [
        label_board(
            placed,
            one,
            measure,
            top=labels[0] if number else None,
            pooled=pooled,
            statistic=statistic,
        )
        for number, (placed, one) in enumerate(zip(ranks, labels, strict=False))
        for measure in by_labels
    ]
    note_surprises(reader, ranks, labels, by_labels, (tie for board in boards for tie in board.ties))
    if votes is None or pairs is None or documents is None:
        return boards, (), (), None
    compared = place_candidates(pairs.documents, found.copies, lambda _: ranks[-2]).ranks
    for measure in by_pairs:
        boards.append(make_board(preference_matrix(compared, pairs, measure), statistic=statistic))
    cast = VoteSet(
        PREFERENCE_NAME,
        votes,
        place_candidates(documents, found.copies, lambda _: ranks[-1]),
        how=found.how,
        pools=found.pools,
        asked=found.asked,
        kept=found.kept,
    )
    tops = note_judged_tops(found, reader, compared, pairs.documents)
    return boards, pair_agreement(compared, pairs), tops, cast


def correlations(
    boards: Sequence[Board],
    found: ScoreInputs,
    votings: "Votings | None",
    notices: list[Notice],
) -> Iterator[RankCorrelation]:
    """Compare each two boards of one measure: as printed, and over the queries that both label sets judge.

    Where one of them rests on votes, it is told how far two votings agree.
    """
    judged = {labels.name: frozenset(labels.queries) for labels in found.qrels}
    for a, b in combinations(boards, 2):
        if a.leaderboard.measure != b.leaderboard.measure:
            continue
        names = a.leaderboard.qrels, b.leaderboard.qrels
        one, other = (judged[name] for name in names)
        shared = len(one & other)
        only = "" if one == other else f"{len(one):,} and {len(other):,} queries, {shared:,} of them in both"
        if only and (not a.scores.queries or not shared):
            notices.append(Notice(where=" and ".join(names), what=f"{only}: they are not compared"))
            continue
        pair = correlate(a.leaderboard, b.leaderboard, common=on_common_queries(a, b) if only else None)
        if only:
            how = "on these" if pair.over == "common queries" else "as they stand, and on these"
            notices.append(Notice(where=" and ".join(names), what=f"{only}: they are compared {how}"))
        voted = next((name for name in names if votings and name in votings.labels), None)
        if votings and voted:
            measure = a.leaderboard.measure
            printed, shared_by = (votings.of(measure, over) for over in (judged[voted], one & other))
            pair = replace(
                pair,
                printed=replace(pair.printed, two_votings=printed),
                common=replace(pair.common, two_votings=shared_by),
            )
        yield pair


class Votings:
    """How well two boards agree that rest on votes like these, by measure and queries.

    ``labels`` names the label sets that were made of the votes. The votes are redrawn once for all measures.
    """

    def __init__(
        self, votes: VoteSet, found: ScoreInputs, measures: Sequence[Measure], seed: int | None
    ) -> None:
        self.labels = {labels.name for labels in found.qrels if votes.made(labels)}
        self._votes, self._study, self._seed = votes, found.study, seed
        self._measures = {str(measure): measure for measure in measures}
        self._found: dict[frozenset[str], dict[str, TwoVotings]] = {}

    def of(self, measure: str, queries: frozenset[str]) -> TwoVotings | None:
        """Return how well they agree under a measure over some queries; None for measures of judged pairs."""
        if measure not in self._measures:
            return None
        if queries not in self._found:
            rng = generator(self._study, "votes", self._seed)
            noise = self._votes.noise([*self._measures.values()], rng, queries)
            self._found[queries] = {
                name: redrawn_votings(one, rng=rng) for name, one in zip(self._measures, noise, strict=True)
            }
        return self._found[queries][measure]


def few_hits(boards: Sequence[Board]) -> Iterator[Notice]:
    """Warn of runs that find something on so few queries that their scores say little."""
    for board in (one.leaderboard for one in boards):
        few = sorted((row.hit, row.run) for row in board.ranked if row.hit < _HITS)
        if few:
            shown = ", ".join(f"{run} {hit}" for hit, run in few[:3]) + (", …" if len(few) > 3 else "")
            runs = many(len(few), "run finds", "runs find")
            yield Notice(
                where=f"{board.measure} {board.qrels}",
                what=f"{runs} something on fewer than {_HITS} queries ({shown}): "
                "a few more such queries may change the score",
            )


def near_copies(boards: Sequence[Board]) -> Iterator[Notice]:
    """Tell of runs that score the same on nearly all queries: which is better rests on the few others."""
    for board in boards:
        where = f"{board.leaderboard.measure} {board.leaderboard.qrels}"
        pairs = nearly_same(board.scores)
        for one in pairs[:_COPIES]:
            differ = one.queries - one.same
            rest = (
                f"{many(differ, 'query tells', 'queries tell')} them apart"
                if differ
                else "nothing tells them apart"
            )
            what = (
                f"{one.a} and {one.b} are nearly the same by this measure: of the {one.queries:,} "
                f"queries that either hits, they score alike on {100 * one.same // one.queries}%; {rest}"
            )
            yield Notice(where=where, what=what)
        if len(pairs) > _COPIES:
            yield Notice(where=where, what=f"{len(pairs) - _COPIES:,} more pairs of runs are nearly the same")


def all_win_ratios(
    found: ScoreInputs,
    reader: Reader,
    votes: VoteSet | None,
    boards: Sequence[Board],
    notices: list[Notice],
) -> WinRatios | None:
    """Return the win ratios of all pairs of runs; None without judgments, or with nothing to compare.

    The runs stand in the order of the board by people's answers.

    The runs are read again only where one of them begins with a document that no vote could prefer.
    """
    official = official_qrels(found)
    if found.judgments is None:
        return None
    heads = pooled_only((votes and votes.heads) or found.heads(reader.top(1)), found.pools, notices)
    if len(heads.runs) + (official is not None) < 2:
        return None
    queries = found.pools.queries if found.pools else None
    ratios = win_ratios(found.judgments, heads, official, queries=queries)
    listed = [one.leaderboard for one in boards]
    return ratios.in_order([row.run for row in listed[by_people(listed)].ranked]) if listed else ratios


def all_pairings(found: ScoreInputs, votes: VoteSet | None) -> tuple[tuple[Pairings, ...], int | None]:
    """Return how often each label set's passages win their pairs, and how many queries end in a cycle.

    Of the official qrels those count that were pooled: other relevant passages were judged as rivals.
    """
    if votes is None:
        return (), None
    pairs = compared_pairs(votes.judgments)
    pooled = official_qrels(found)
    sets = [pooled if pooled and labels.name == pooled.name else labels for labels in found.qrels]
    return tuple(pairings(pairs, labels) for labels in sets), votes.resolutions.counts()["cycle"]


def runs_left_out(
    found: ScoreInputs,
    measure: Measure,
    reader: Reader,
    notices: list[Notice],
    teams: TeamsOf | None = None,
) -> tuple[LeftOut, ...]:
    """Score each run under preference qrels that its own pooled passages had no part in.

    Who pooled what the study says, or the pool that was given; else a run is taken to have contributed the
    judged passages that stand on top of it. The runs of a team are left out together.
    """
    if found.judgments is None:
        raise InputError("leaving a run out rebuilds the qrels from judgments", "Add --judgments FILE.")

    def rebuild(votes: Judgments, pools: Pools) -> Qrels:
        return to_qrels(resolved(votes, found.how, pools=pools, asked=found.asked))

    pools = judged_pools(found.judgments, reader.top(1)) if found.pools is None else found.pools
    lacking = unpooled_documents(found.judgments, pools)
    if lacking:
        query, doc = lacking[0]
        raise InputError(
            f"the pool lacks {many(len(lacking), 'judged document')}, such as {doc!r} of query {query!r}",
            "Give the pool that was judged; without --pool the judged documents are the pool.",
        )
    rebuilt = rebuild(found.judgments, pools)
    if not rebuilt.queries:
        raise InputError(
            f"no query is judged far enough for the rule {found.how.rule}, which rebuilds the qrels",
            "Every pair of a pool needs a judgment.",
        )
    ranks = place_candidates(pooled_documents(pools), found.copies, reader.judged).ranks
    runs = [one.run for one in ranks]
    what = f"{measure} on {many(len(rebuilt.queries), 'query')}, by what {found.how.rule} makes of the votes"
    notices.append(Notice(where="leave one out", what=what))
    notices.extend(_contributors(found, runs, pools))
    team_of = teams(sorted({*runs, *pools.sources})) if teams else {}
    if teams and not team_of.keys() & {*runs}:
        raise InputError(
            f"no run has a team, such as {runs[0]!r}",
            "Name the runs as the teams' file does; for `audit`, by the ids of the leaderboard's entries.",
        )
    unknown = sorted({*team_of} - {*runs, *pools.sources})
    if unknown:
        what = f"{many(len(unknown), 'name')} in the teams' file without a run, such as {unknown[0]}"
        notices.append(Notice(where="leave one out", what=what))
    given = {team_of.get(run, run) for run in runs if run in pools.sources}
    if len(given) == 1 and given & {*team_of.values()}:
        what = f"all runs that contributed belong to one team, {min(given)}: nobody else's passages are left"
        notices.append(Notice(where="leave one out", what=what))
    return leave_one_out(found.judgments, pools, ranks, measure, resolve=rebuild, teams=team_of)


def _contributors(found: ScoreInputs, runs: Sequence[str], pools: Pools) -> Iterator[Notice]:
    """Say whose passages are left out, and where that is known from."""
    apart = [run for run in runs if run not in pools.sources]
    if len(apart) == len(runs):
        raise InputError(
            "no run contributed to the pool, so none can be left out",
            "Say who did: --pool FILE, as pool --out writes it, with the tags of the runs.",
        )
    if found.pools is None:
        what = (
            "which run contributed what is guessed from the runs' top passages: --pool FILE says it for "
            "certain"
        )
        yield Notice(where="leave one out", what=what)
    if apart:
        what = f"{len(apart)} of {many(len(runs), 'run')} contributed nothing to the pool, such as {apart[0]}"
        yield Notice(where="leave one out", what=f"{what}: they have nothing to leave out")


def query_samples(
    found: ScoreInputs, boards: Sequence[Board], size: int, seed: int | None
) -> tuple[SampleAgreement, ...]:
    """Say how far boards over samples of this many queries agree with those over all of them."""
    rng = generator(found.study, "query samples", seed)
    large = [board for board in boards if len(board.scores.queries) >= size]  # judgments may cover fewer
    return tuple(sample_agreement(board.scores, size=size, rng=rng) for board in large or boards)
