"""Boards of runs under label sets and under votes, as these were cast, and as they might have been."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path

import numpy as np

from prefjudge.core.judgments import Judgments
from prefjudge.core.planning.plans import prepare_replay
from prefjudge.core.pools import Pairs, Pools
from prefjudge.core.resolving.confidence import DrawnPools, LikelyPools
from prefjudge.core.resolving.resolutions import PREFERENCE_NAME, HowResolved, Resolutions, resolved, to_qrels
from prefjudge.core.resolving.rules import RULES, UNEVEN_RULE
from prefjudge.core.runs import Heads, Qrels, Scores, heads_of_judged, restrict, select_labels
from prefjudge.errors import InputError
from prefjudge.evaluation.boards import (
    Board,
    NotJudged,
    by_people,
    label_board,
    make_board,
    on_common_queries,
)
from prefjudge.evaluation.correlation import (
    RankCorrelation,
    TwoVotings,
    correlate,
)
from prefjudge.evaluation.firmness import Recount, near_copies, recount
from prefjudge.evaluation.measures.measures import Measure, score_matrix
from prefjudge.evaluation.measures.placings import Placed, compared_pairs, positions
from prefjudge.evaluation.measures.preferences import (
    PairAgreement,
    Pairings,
    pair_agreement,
    pairings,
    preference_matrix,
)
from prefjudge.evaluation.models import Assessor, Assessors, SetsCompared
from prefjudge.evaluation.stability import (
    LeftOut,
    cast_again,
    judged_pools,
    leave_one_out,
    pooled_documents,
    redraw_votings,
    truths_over,
    unpooled_documents,
)
from prefjudge.evaluation.submissions import (
    OfficialBoard,
    find_entry,
    group_submissions,
    official_board,
    official_order,
    short_name,
)
from prefjudge.evaluation.winratios import WinRatios, win_ratios
from prefjudge.findings.answers import KeptAnswers
from prefjudge.findings.findings import Findings
from prefjudge.reading.files import Notice
from prefjudge.reading.inputs import Measures
from prefjudge.reading.labels import file_stamps, read_judgments, read_qrels, rehearsal_in
from prefjudge.reading.leaderboards import read_aliases, read_leaderboard
from prefjudge.reading.lines import stem
from prefjudge.reading.opened import pooled_only
from prefjudge.study.pools import load_inputs
from prefjudge.words import joint, many

_COPIES = 3
"""How many pairs of runs that are nearly the same are named on each board."""
ROUNDS = 32
"""Rounds of voting that are drawn twice: a share of a hundred pairs is then known to about .01."""
_HITS = 15
"""Fewer queries than that on which a run has more than the worst score are too few to speak of its mean."""


class VoteSet:
    """One set of judgments, and the scores of the runs, ``placed``, under the qrels that its votes make.

    These are what resolving finds, or else those ``kept`` by the strategy that asked for the votes.
    """

    def __init__(
        self,
        name: str,
        judgments: Judgments,
        placed: Placed,
        *,
        how: HowResolved,
        pools: Pools | None,
        asked: Pairs | None = None,
        kept: KeptAnswers | None = None,
        resolutions: Resolutions | None = None,
    ) -> None:
        self.name, self.judgments = name, judgments
        self._pools, self._how, self._asked = pools, how, asked
        self._placed, self._kept = placed, kept
        self.resolutions = resolutions or resolved(judgments, how, pools=pools, asked=asked)
        self.labels = placed.labels(kept.answers if kept else to_qrels(self.resolutions, name=name))

    @property
    def runs(self) -> tuple[str, ...]:
        """The tags of the runs."""
        return tuple(placed.run for placed in self._placed.ranks)

    @property
    def heads(self) -> Heads | None:
        """The top document of each run and query, where the votes may prefer all of these."""
        return heads_of_judged(self._placed.ranks, self._placed.documents)

    def made(self, labels: Qrels) -> bool:
        """Whether preference qrels rest on these votes: they say the same of every query that they judge."""
        best = _best(labels)
        wanted = set(labels.queries)
        return bool(best) and best == {pair for pair in _best(self.labels) if pair[0] in wanted}

    def scores(self, measure: Measure) -> Scores:
        """Return the scores of the runs under the votes as they were cast."""
        return self._scores(measure, self.labels)

    def audit(self, board: Board, labels: Qrels, measure: Measure) -> Board:
        """Return a board with what overturns it among these votes, if its labels rest on them."""
        if board.firmness is None:
            return board
        how: HowResolved | None = None
        if not self.made(labels):
            why = "the labels are not what the rule makes of the votes at hand"
        elif self.judgments.click is not None:
            why = "who turns a choice out of several passages turns several votes"
        elif self._kept or RULES[self._how.rule].weighs_workers:
            rule = self._kept.strategy.name if self._kept else self._how.rule
            why = f"{rule} weighs the votes of all queries together"
        else:
            how, why = self._how, ""
        votes = Recount(self.judgments, self._pools, self._asked, how, partial(self._scores, measure), why)
        checks = (*board.firmness.checks[:-2], *recount(board.scores, votes))
        return replace(board, firmness=replace(board.firmness, checks=checks))

    def agreement(
        self,
        measures: Sequence[Measure],
        rng: np.random.Generator,
        queries: Collection[str] | None = None,
    ) -> list[TwoVotings]:
        """Return, for each measure, how well boards of other votes like these agree."""
        likely = self._likely(rng)
        vote = self._voting(likely)
        observed = [self.scores(measure) for measure in measures]
        if queries is not None:
            kept = set(queries)
            keep = np.array([query in kept for query in observed[0].queries], dtype=np.bool_)
            observed = [scores.where(keep) for scores in observed]
        decided = observed[0].queries
        truths = likely.draws(rng, decided, truths_over(len(decided)))

        def twice(stream: np.random.Generator) -> tuple[list[Scores], list[Scores], list[Scores]]:
            drawn = next(truths)
            truth, one, other = (
                [self._scores(measure, labels) for measure in measures]
                for labels in (self._best(drawn), vote(drawn, stream), vote(drawn, stream))
            )
            return truth, one, other

        return redraw_votings(twice, observed, rng=rng, told=likely.scales.told)

    def two_rounds(self, rng: np.random.Generator) -> tuple[SetsCompared, ...]:
        """Return how far two more rounds of voting like this one agree, `ROUNDS` times."""
        likely = self._likely(rng)
        vote, rounds = self._voting(likely), []
        streams = rng.spawn(ROUNDS)
        for stream, drawn in zip(streams, likely.draws(rng, self.labels.queries, ROUNDS), strict=True):
            two = [
                Assessor(
                    name=self.name,
                    kind="people",
                    labels=vote(drawn, stream),
                    votes=cast_again(self.judgments, likely.left, likely.right, drawn, stream),
                )
                for _ in range(2)
            ]
            rounds.append(Assessors(two).beside(1))
        return tuple(rounds)

    def _likely(self, rng: np.random.Generator) -> LikelyPools:
        """Return what the votes tell of the pools."""
        documents, ranks = self._placed.documents, self._placed.ranks
        places = np.array([positions(one, documents) for one in ranks])
        return LikelyPools(self.judgments, documents, places, rng=rng, pools=self._pools)

    def _voting(self, likely: LikelyPools) -> Callable[[DrawnPools, np.random.Generator], Qrels]:
        """Return what finds the answers of one more voting on drawn pools."""
        if self._kept and self._pools is not None:
            replay = prepare_replay(self.judgments, self._pools, self._kept.strategy)
            return partial(replay.play, name=self.name)
        # The votes drawn are nobody's: there is no worker to weigh.
        blind = self._how
        if RULES[blind.rule].weighs_workers:
            blind = replace(blind, rule=UNEVEN_RULE)

        def vote(drawn: DrawnPools, rng: np.random.Generator) -> Qrels:
            again = cast_again(self.judgments, likely.left, likely.right, drawn, rng)
            return to_qrels(resolved(again, blind, pools=self._pools, asked=self._asked), name=self.name)

        return vote

    def _best(self, drawn: DrawnPools) -> Qrels:
        """Return the answers that would be right if drawn pools were the truth."""
        best = np.zeros(self._placed.documents.query.size, dtype=np.bool_)
        best[drawn.best] = True
        right = select_labels(self._placed.documents, best)
        return replace(right, name=self.name, grade=np.ones(right.grade.size))

    def _scores(self, measure: Measure, labels: Qrels) -> Scores:
        return score_matrix(self._placed.under(labels), self._placed.labels(labels), measure)


def _best(labels: Qrels) -> set[tuple[str, str]]:
    rows = np.flatnonzero(labels.grade > 0).tolist()
    return {(labels.queries[labels.query[row]], labels.docs[labels.doc[row]]) for row in rows}


def own_votes(found: Findings) -> VoteSet:
    """Return the votes of a study, or of the one file that was given."""
    assert found.judgments is not None
    assert found.eligible is not None
    return VoteSet(
        PREFERENCE_NAME,
        found.judgments,
        found.placing(found.eligible),
        how=found.how,
        pools=found.pools,
        asked=found.asked,
        kept=found.kept,
        resolutions=found.tournaments,
    )


def vote_sets(found: Findings, paths: Sequence[str | Path]) -> list[VoteSet]:
    """Return the judgments of the files, or else a study's, by the name of the qrels that they make."""
    sets = []
    for path in paths:
        judgments = read_judgments(path, notices=found.notices)
        documents = found.eligible if found.pools else compared_pairs(judgments).documents
        assert documents is not None
        placed = found.placing(documents)
        sets.append(VoteSet(stem(path), judgments, placed, how=found.how, pools=found.pools))
    if not sets and found.judgments:
        sets.append(own_votes(found))
    for votes in sets:
        if not votes.labels.queries:
            raise InputError(
                f"{votes.name} decides no query: in every query some pair lacks a judgment",
                "See which: prefjudge resolve --judgments FILE",
            )
    return sets


class Boards:
    """The boards of the runs under each label set and measure, and what is to be said beside them.

    Under later label sets a board shows the perfect ranking of the first, the qrels that were pooled on top.
    """

    def __init__(self, found: Findings, measures: Measures = ()) -> None:
        self.found = found
        self.by_labels, by_pairs = found.measures(measures)
        labels, pairs = found.qrels if self.by_labels else (), found.compared if found.judgments else None
        voted = [found.wide(one) for one in (pairs and pairs.documents, found.eligible) if pairs and one]
        ranks = found.placed(*labels, *voted)
        self.all = [
            label_board(
                placed,
                one,
                measure,
                top=labels[0] if number else None,
                pooled=pooled_labels(found, labels),
            )
            for number, (placed, one) in enumerate(zip(ranks, labels, strict=False))
            for measure in self.by_labels
        ]
        if labels:
            found.note_surprises(self.by_labels, (tie for board in self.all for tie in board.ties))
        self.votes: VoteSet | None = None
        self.agreement: tuple[PairAgreement, ...] = ()
        self.tops: tuple[NotJudged, ...] = ()
        if pairs:
            compared = found.placing(pairs.documents).ranks
            self.all += [make_board(preference_matrix(compared, pairs, measure)) for measure in by_pairs]
            self.votes, self.agreement = own_votes(found), pair_agreement(compared, pairs)
            by_label = [(one, measure) for one in labels for measure in self.by_labels]
            self.all[: len(by_label)] = [
                self.votes.audit(board, *made) for board, made in zip(self.all, by_label, strict=False)
            ]
            self.tops = found.note_judged_tops(pairs)

    @cached_property
    def votings(self) -> "Votings | None":
        """How far two rounds of voting agree; None without votes."""
        if self.votes is None:
            return None
        return Votings(self.votes, self.found, self.by_labels)

    @cached_property
    def tau(self) -> tuple[RankCorrelation, ...]:
        """How far each two boards of one measure agree; what is odd about the boards is noted, too."""
        found, votings = self.found, self.votings
        if self.votes is not None and len(found.qrels) > 1 and not (votings and votings.labels):
            why = "not known: the rule finds other answers in these votes"
            found.note("Kendall's τ", f"how far two rounds of voting agree is {why}")
        tau = tuple(correlations(self.all, found, votings))
        found.notices.extend((*few_hits(self.all), *copies_noted(self.all)))
        return tau

    @cached_property
    def win_ratios(self) -> WinRatios | None:
        """The win ratios of all pairs of runs, by people's answers; None without any to compare."""
        found = self.found
        if found.judgments is None:
            return None
        heads = (self.votes and self.votes.heads) or found.heads(found.reader.top(1))
        heads = pooled_only(heads, found.pools, found.notices)
        if len(heads.runs) + (found.official is not None) < 2:
            return None
        ratios = win_ratios(found.judgments, heads, found.official)
        listed = [one.leaderboard for one in self.all]
        return ratios.in_order([row.run for row in listed[by_people(listed)].ranked]) if listed else ratios

    def left_out(
        self, teams: "TeamsOf | None" = None, pools: Pools | None = None
    ) -> tuple[tuple[LeftOut, ...], TwoVotings | None]:
        """Return each run without the passages that it alone contributed, and how far two votings agree."""
        measure, votings = self.by_labels[0], None
        rows = runs_left_out(self.found, measure, teams, pools)
        if self.votes and self.votings:
            votings = self.votings.of(str(measure), frozenset(self.votes.labels.queries))
        return rows, votings

    @property
    def pairings(self) -> tuple[Pairings, ...]:
        """How often each label set's passages win their pairs.

        Of the official qrels those count that were pooled: other relevant passages were judged as rivals.
        """
        found, pooled = self.found, self.found.official
        if self.votes is None or found.compared is None:
            return ()
        sets = [pooled if pooled and labels.name == pooled.name else labels for labels in found.qrels]
        return tuple(pairings(found.compared, labels) for labels in sets)


def pooled_labels(found: Findings, labels: Sequence[Qrels]) -> Qrels | None:
    """Return the official labels as they were pooled, where they are the first label set."""
    official = found.official
    return official if labels and official and official.name == labels[0].name else None


def correlations(
    boards: Sequence[Board],
    found: Findings,
    votings: "Votings | None",
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
            found.note(" and ".join(names), f"{only}: they are not compared")
            continue
        pair = correlate(a.leaderboard, b.leaderboard, common=on_common_queries(a, b) if only else None)
        if only:
            how = "on these" if pair.over == "common queries" else "as they stand, and on these"
            found.note(" and ".join(names), f"{only}: they are compared {how}")
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

    def __init__(self, votes: VoteSet, found: Findings, measures: Sequence[Measure]) -> None:
        self.labels = {labels.name for labels in found.qrels if votes.made(labels)}
        self._votes, self._inputs = votes, found
        self._measures = {str(measure): measure for measure in measures}
        self._found: dict[frozenset[str], dict[str, TwoVotings]] = {}

    def of(self, measure: str, queries: frozenset[str]) -> TwoVotings | None:
        """Return how well they agree under a measure over some queries; None for measures of judged pairs."""
        if measure not in self._measures:
            return None
        if queries not in self._found:
            rng = self._inputs.rng("votes")
            agreed = self._votes.agreement([*self._measures.values()], rng, queries)
            self._found[queries] = dict(zip(self._measures, agreed, strict=True))
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


def copies_noted(boards: Sequence[Board]) -> Iterator[Notice]:
    """Tell of runs that score the same on nearly all queries: which is better rests on the few others."""
    for board in boards:
        found = near_copies(board.scores)
        left = len(found) - _COPIES
        more = [f"{left:,} more pairs of runs are nearly the same"] if left > 0 else []
        where = f"{board.leaderboard.measure} {board.leaderboard.qrels}"
        yield from (Notice(where=where, what=what) for what in (*found[:_COPIES], *more))


def runs_left_out(
    found: Findings, measure: Measure, teams: "TeamsOf | None" = None, pools: Pools | None = None
) -> tuple[LeftOut, ...]:
    """Score each run under preference qrels that its own pooled passages had no part in.

    Who pooled what the study says, or the pool that was given; else a run is taken to have contributed the
    judged passages that stand on top of it. The runs of a team are left out together.
    """
    if found.judgments is None:
        raise InputError("leaving a run out rebuilds the qrels from judgments", "Add --judgments FILE.")

    def rebuild(votes: Judgments, pools: Pools) -> Qrels:
        return to_qrels(resolved(votes, found.how, pools=pools, asked=found.asked))

    pools = pools or found.pools or judged_pools(found.judgments, found.reader.top(1))
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
    eligible = found.eligible if found.pools else pooled_documents(pools)
    assert eligible is not None
    ranks = found.placing(eligible).ranks
    runs = [one.run for one in ranks]
    what = f"{measure} on {many(len(rebuilt.queries), 'query')}, by what {found.how.rule} makes of the votes"
    found.note("leave one out", what)
    _note_contributors(found, runs, pools)
    team_of = teams(sorted({*runs, *pools.sources})) if teams else {}
    if teams and not team_of.keys() & {*runs}:
        raise InputError(
            f"no run has a team, such as {runs[0]!r}",
            "Name the runs as the teams' file does; for `audit`, by the ids of the leaderboard's entries.",
        )
    unknown = sorted({*team_of} - {*runs, *pools.sources})
    if unknown:
        what = f"{many(len(unknown), 'name')} in the teams' file without a run, such as {unknown[0]}"
        found.note("leave one out", what)
    given = {team_of.get(run, run) for run in runs if run in pools.sources}
    if len(given) == 1 and given & {*team_of.values()}:
        what = f"all runs that contributed belong to one team, {min(given)}: nobody else's passages are left"
        found.note("leave one out", what)
    return leave_one_out(found.judgments, pools, ranks, measure, resolve=rebuild, teams=team_of)


def _note_contributors(found: Findings, runs: Sequence[str], pools: Pools) -> None:
    """Say whose passages are left out, and where that is known from."""
    apart = [run for run in runs if run not in pools.sources]
    if len(apart) == len(runs):
        raise InputError(
            "no run contributed to the pool, so none can be left out",
            "Say who did: --pool FILE, as pool --out writes it, with the tags of the runs.",
        )
    if found.pools is None:
        what = "who contributed what is guessed from the runs' top passages: --pool FILE says it for certain"
        found.note("leave one out", what)
    if apart:
        what = f"{len(apart)} of {many(len(runs), 'run')} contributed nothing to the pool, such as {apart[0]}"
        found.note("leave one out", f"{what}: they have nothing to leave out")


# The official leaderboard beside the boards of ``score``: its table, and its order.


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """The order in which plots show the runs, and whose it is."""

    name: str
    runs: tuple[str, ...]


def check_order(order_by: str | Path | None, found: Findings) -> None:
    """Refuse what is not a board, before any work is done."""
    names = [labels.name for labels in found.qrels]
    if order_by is None or str(order_by) in names or Path(order_by).is_file():
        return
    raise InputError(
        f"--order-by {order_by}: neither a label set's name nor a file",
        f"Give a label set ({', '.join(names)}), or a leaderboard's CSV.",
    )


def add_stamps(found: Findings, *boards: str | Path | None) -> None:
    """Take in the stamps of the leaderboards' files that are shown beside the boards."""
    names = {labels.name for labels in found.qrels}
    files = [
        board for board in boards if board is not None and str(board) not in names and Path(board).is_file()
    ]
    theirs = rehearsal_in(stamp for file in files for stamp in file_stamps(file))
    found.rehearsal = joint(filter(None, (found.rehearsal, theirs)))


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
    found: Findings,
    measure: Measure,
    boards: Sequence[Board],
) -> OfficialBoard:
    """Score the runs under the original qrels on all and on the selected queries, beside a leaderboard.

    The original qrels are the first label set; the selected queries are those of the second, the preference
    qrels. A study has restricted the original ones, so that they are read again.
    """
    if not found.qrels:
        raise InputError("a leaderboard's table needs qrels", "Add --qrels FILE.")
    entries = read_leaderboard(leaderboard)
    liked = found.qrels[1] if len(found.qrels) > 1 else None
    every = unrestricted(found)
    selected = restrict(every, liked.queries) if liked else every
    ranks = found.placed(every, selected)
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


def unrestricted(found: Findings) -> Qrels:
    """Return the original qrels with all their queries."""
    if found.study is None:
        return found.qrels[0]
    with found.study.transaction(write=False) as db:
        inputs = [one for one in load_inputs(db) if one.kind == "qrels"]
    return read_qrels(Path(inputs[0].path), name=inputs[0].name) if inputs else found.qrels[0]
