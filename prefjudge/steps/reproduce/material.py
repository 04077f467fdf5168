"""What an experiment's exhibits are made from: its runs and votes, opened once, and what follows."""

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from prefjudge.core.judgments import Judgments, only_queries, split_models
from prefjudge.core.pools import (
    PoolDesign,
    Pools,
    build_pools,
    candidates_of,
    chosen_qrels,
    sample_queries,
    select_queries,
)
from prefjudge.core.resolving.resolutions import PREFERENCE_NAME, resolved, to_qrels
from prefjudge.core.runs import Heads, Qrels, Scores, select_labels, without_runs
from prefjudge.errors import InputError
from prefjudge.evaluation.boards import Board, on_common_queries
from prefjudge.evaluation.correlation import RankCorrelation, correlate
from prefjudge.evaluation.measures.measures import Measure, score_matrix
from prefjudge.evaluation.models import Assessor, Assessors, SetsCompared
from prefjudge.evaluation.outcomes import Outcomes, outcomes_of_arrivals, outcomes_of_pairs
from prefjudge.evaluation.stability import judged_pools
from prefjudge.evaluation.submissions import find_entry, official_order
from prefjudge.evaluation.winratios import PERFECT, TopAgainstQrel, WinRatios, top_against_qrel, win_ratios
from prefjudge.field.trust import study_votes
from prefjudge.findings.boards import Boards, RunOrder, copies_noted, few_hits, unrestricted
from prefjudge.findings.findings import Findings, gather, named_source
from prefjudge.reading.given import in_memory
from prefjudge.reading.held import Held
from prefjudge.reading.leaderboards import read_leaderboard
from prefjudge.reading.opened import pooled_only, tag_of
from prefjudge.reading.options import ReadOptions
from prefjudge.show.boards import FEWEST
from prefjudge.steps.reproduce.papers import NEEDS, RUNS, Exhibit, Experiment
from prefjudge.steps.stability import StabilityResult, stability
from prefjudge.study.assignments import load_judgments
from prefjudge.study.judgments import load_judgment_log
from prefjudge.study.store import Study
from prefjudge.words import many

ORIGINAL = "original"
MEASURES = ("RR@100", "nDCG@10")
MOST_SHOWN = 16
"""Runs whose win ratios a printed table holds."""
T = TypeVar("T")


class Material:
    """One experiment as it was told, and what its exhibits are made from, each found once when it is needed.

    ``names`` are what the paper calls runs, by their tags. What is opened stays so until ``opened`` closes.
    """

    def __init__(
        self,
        told: Experiment,
        study: Study | None,
        names: Mapping[str, str],
        how: ReadOptions,
        opened: ExitStack,
    ) -> None:
        self.told, self.study, self.names, self.how = told, study, names, how
        self.beside: Mapping[str, Material] = {}
        self._notices, self._gathered = list[str](), list[Findings]()
        self._opened = opened

    def take(self, judgments: Path, run: str) -> None:
        """Go on with these judgments, and with a run that is compared with the qrels."""
        told = self.told.model_copy(update={"judgments": judgments, "against_qrel": run})
        fresh = vars(Material(told, self.study, self.names, self.how, self._opened))
        vars(self).clear()
        vars(self).update(fresh)

    @property
    def reads_runs(self) -> bool:
        """Whether there are runs: a leaderboard alone has none."""
        return bool(self.told.runs or self.study)

    @property
    def noticed(self) -> list[str]:
        """What was odd in what was read."""
        return [*(str(one) for found in self._gathered for one in found.notices), *self._notices]

    def has(self, need: str) -> bool:
        """Return whether something that an exhibit needs was given."""
        told, texts = self.told, need == "texts"
        given = need in ("runs", "qrels", "judgments", "texts") and self.study is not None
        return given or (not texts and bool(getattr(told, need.replace("-", "_"))))

    def command(self, exhibit: Exhibit, preference: Path, labelled: Path) -> str:
        """Return an exhibit's command as it is typed for this experiment; empty where none makes just that.

        The files hold the answers that votes in files make, and the labelled queries.
        """
        words, mark, file = exhibit.command.partition("      # in ")
        program, verb, *rest = shlex.split(words) or ("", "")
        if not verb or self._is_beyond_options(exhibit, verb, rest):
            return ""
        if (runs := self._runs_of(exhibit, verb)) is None:
            return ""
        told, audited = self.told, verb == "audit"
        labels = [str(one) for one in self.labels]
        if verb in ("winratio", "pool", "compare"):
            labels = [str(named_source(one)[1]) for one in self.labels[:1]]
        elif verb == "score" and self.found.best is None:
            labels.append(f"{PREFERENCE_NAME}={preference}")
        given = {name: getattr(told, name) for name in Experiment.model_fields}
        given |= {"runs": runs, "qrels": labels, "order_by": told.leaderboard, "draw": told.shown}
        given |= {"runs_shown": self.shown if "--runs-shown" in rest else (), "queries": labelled, **self.how}
        if exhibit.make == "selected-sizes":
            rest += ["--queries"]
            given["sample"] = len(self.selected.queries)
        given |= {"against_qrel": self.run if "--against-qrel" in rest else None}
        said = [program, verb]
        if subject := told.leaderboard if audited else told.study:
            said += [*["--study"] * (verb == "compare"), str(subject)]
        rest += ["--until"] if audited else ["--order", *["--seed"] * (verb != "pool")]
        rest += ["--on-duplicate"] * ("on_duplicate" in self.how and not audited)
        rest += ["--measure", "RR@10"] * (verb == "score" and self.study is not None)  # it has its own
        asked = set[str]()
        for word, after in zip(rest, [*rest[1:], "--"], strict=True):
            name = word.removeprefix("--").replace("-", "_")
            if not word.startswith("--") or name in asked:
                continue
            if name in given:
                asked.add(name)
                values = given[name] if isinstance(given[name], list | tuple) else [given[name]]
                said += [part for one in values if one not in (None, "") for part in (word, str(one))]
            else:
                said += [word] if after.startswith("--") else [word, after]
        return "" if any(map(in_memory, said)) else shlex.join(said) + mark + file

    def _runs_of(self, exhibit: Exhibit, verb: str) -> Sequence[Any] | None:
        """Return the runs that a command takes: as told, or the files of some of them; None if it cannot."""
        told, chosen = self.told, tuple[str, ...]()
        if verb == "audit":
            return ()
        heads = self.heads
        if exhibit.make == "win-ratios":
            chosen = tuple(run for run in self.ratios.runs if run != PERFECT)
        elif verb == "pool":
            chosen = self.pooled.runs
        elif verb == "compare" and self.names:
            chosen = self._as_named(heads.runs)
        if not chosen or ({*chosen} == {*heads.runs} and verb != "compare"):
            return told.runs
        files = dict(zip(heads.runs, map(str, self.found.reader.sources), strict=True))
        alone = not self.study and len({*files.values()}) == len(files)
        return [files[run] for run in chosen] if alone else None

    def _is_beyond_options(self, exhibit: Exhibit, verb: str, rest: Sequence[str]) -> bool:
        """Whether no option of a command says what the exhibit is made of."""
        told, study = self.told, self.study
        if verb == "audit":
            return False
        pools = self.found.pools if study and "--against-qrel" in rest else None
        return bool(
            told.stage
            or (told.tested and verb == "compare")
            or (study and verb == "pool")
            or ("--order-by" in rest and self.order.name != "the leaderboard")
            or (exhibit.make == "left-out" and told.pooled and not self.found.pools)
            or ("--judgments" in rest and not (study or told.judgments))
            or (exhibit.make == "selected-sizes" and (told.judgments or told.pool or told.seed is not None))
            or (pools and {*pools.queries} != {*self.original.queries})  # `winratio` takes those pooled
        )

    def called(self, found: T) -> T:
        """Return a result in which the runs have the paper's names."""
        return _called(found, self.names) if self.names else found

    @property
    def labels(self) -> tuple[Any, ...]:
        """The label sets as ``NAME=FILE``; a single one without a name is ``original``."""
        match self.told.qrels:
            case (Held() as one,):
                return (Held(ORIGINAL, one.content),)
            case (one,) if named_source(one)[0] is None:
                return (f"{ORIGINAL}={one}",)
            case several:
                return several

    @cached_property
    def found(self) -> Findings:
        """The runs, label sets and votes; votes in a file make preference qrels as the paper makes them."""
        return self._open(self.labels)

    @cached_property
    def preference(self) -> Qrels | None:
        """The preference qrels that votes in files, or of some stages, make; a study has its own."""
        found = self.found
        if found.judgments is None or found.best is not None or not found.qrels:
            return None
        return to_qrels(found.tournaments, name=PREFERENCE_NAME)

    def _open(self, labels: Sequence[str], *, common: bool = False) -> Findings:
        told = self.told
        duels = told.design is PoolDesign.TOP_AGAINST_QREL
        found = gather(
            self.study,
            verb="reproduce",
            runs=told.runs,
            qrels=labels,
            judgments=told.judgments,
            common=common,
            pool=None if duels else told.pool,
            preference=not (duels or told.stage),
            order=told.order,
            seed=told.seed,
            how=self.how,
        )
        if told.stage and not found.study:
            raise InputError("stage names votes of a study, and there is none", "Say which: study = ….")
        if told.stage and found.study:
            found.judgments = _of_stage(found.study, told.stage)
            found.judgments = only_queries(
                found.judgments, found.qrels[0].queries if common or not found.pools else found.pools.queries
            )
        self._gathered.append(found)
        return self._opened.enter_context(found.reading(digest=False))

    def _boards(self, *more: Qrels, common: bool = False) -> Boards:
        labels = (*self.labels, *(Held(one.name, one) for one in more))
        return Boards(self._open(labels, common=common), ["RR@10"])

    @cached_property
    def heads(self) -> Heads:
        """The first two passages of each query of each run."""
        return self.found.heads(self.found.reader.top(2))

    @property
    def votes(self) -> Judgments:
        """The judgments."""
        return needed(self.found.judgments, "judgments")

    @cached_property
    def original(self) -> Qrels:
        """The original qrels of all queries; of those that were pooled, the qrels that were judged."""
        found = self.found
        if not found.qrels:
            raise InputError("there are no qrels", "Give --qrels FILE.")
        every, judged = unrestricted(found), found.official
        if judged is None or self.told.design is not PoolDesign.TOP_AGAINST_QREL:
            return every
        rows = set(candidates_of(judged))
        pooled = {query for query, _ in rows}
        keep = [query not in pooled or (query, doc) in rows for query, doc in candidates_of(every)]
        return select_labels(every, np.array(keep, dtype=np.bool_))

    @cached_property
    def pools(self) -> Pools:
        """The first passage of each pooled run and the qrel, of each query that has one (section 4.1)."""
        labels = self.original
        known = {labels.queries[code] for code in labels.query[chosen_qrels(labels)].tolist()}
        return select_queries(build_pools(self.pooled, labels, depth=1), tuple(known))

    def name_runs(self, known: Collection[str]) -> None:
        """Call the runs that the experiment names by their tags; refuse one that is not among those known.

        Those of other experiments alone are left out: what is told of the whole paper may name them.
        """
        tags, sources = self.heads.runs, self.found.reader.sources

        def tag(said: Any, key: str) -> Any:
            if isinstance(said, tuple):
                return tuple(tag(one, key) for one in said)
            elsewhere = said in known and said not in tags
            return "" if elsewhere else tag_of(said, sources, tags, key)

        named = {key: tag(said, key) for key in RUNS if (said := getattr(self.told, key))}
        for key, said in named.items():
            named[key] = tuple(one for one in said if one and all(one)) if isinstance(said, tuple) else said
        self.told = self.told.model_copy(update=named)

    @cached_property
    def pooled(self) -> Heads:
        """The first passages of the runs that gave the pools: all, where none is named."""
        told = self.told.pooled
        return without_runs(self.heads, {*self.heads.runs}.difference(told)) if told else self.heads

    @cached_property
    def selected(self) -> Pools:
        """The pools that were judged, or else those of a sample of queries (section 4.1)."""
        found, told = self.found, self.told
        if found.pools is not None:
            return found.pools
        if found.judgments is not None:
            pools = judged_pools(found.judgments, self.pooled)
            alone, most = int((pools.sizes == 2).sum()), int(pools.sizes.max(initial=0))
            if most > 2 and 2 * alone > len(pools.queries):
                self._notices.append(
                    f"{alone:,} of {many(len(pools.queries), 'judged query', 'judged queries')} have "
                    "a single pair: if it belongs to another experiment, give its votes separately, or --pool"
                )
            return pools
        pools = self.pools
        eligible = int((pools.sizes >= 2).sum())
        if not eligible:
            raise InputError("no query has two passages to compare", "Give more runs, or other qrels.")
        return sample_queries(pools, min(told.sample, eligible), rng=found.rng("sample"))

    @cached_property
    def ranking(self) -> tuple[str, ...]:
        """The runs, best first by RR@10 under the original qrels of all queries."""
        scores = score_matrix(self.found.placed(self.original)[0], self.original, Measure.parse("RR@10"))
        means = dict(zip(scores.runs, scores.values.mean(axis=0).tolist(), strict=True))
        return tuple(sorted(scores.runs, key=lambda run: -means[run]))

    @cached_property
    def order(self) -> RunOrder:
        """The runs as the leaderboard orders them if it lists any, else as they are named or score."""
        board = self.told.leaderboard
        entries = read_leaderboard(board) if board else ()
        if any(find_entry(run, entries) for run in self.ranking):
            return RunOrder(name="the leaderboard", runs=official_order(self.ranking, entries))
        name = "the paper" if self.names else "the original qrels of all queries"
        return RunOrder(name=name, runs=self._as_named(self.ranking))

    @cached_property
    def run(self) -> str:
        """The run that is compared with the qrels: the best of those whose pairs were judged most."""
        told, heads = self.told, self.heads
        if told.against_qrel:
            return told.against_qrel
        votes = self.found.judgments
        if votes is None:
            return self.ranking[0]
        judged = {votes.queries[query] for query in np.unique(votes.query).tolist()}

        def share(run: str) -> float:
            b = top_against_qrel(votes, heads, self.original, run, queries=judged).b
            return 1 - b.unjudged / b.queries if b.queries else 0.0

        return max(self.ranking, key=share)

    @cached_property
    def against(self) -> TopAgainstQrel:
        """The run's top passages against the qrels, over all labelled queries."""
        return top_against_qrel(self.votes, self.heads, self.original, self.run)

    @cached_property
    def ratios(self) -> WinRatios:
        """The win ratios of the pooled runs, in the paper's order, and the tests of these pairs alone."""
        heads = pooled_only(self.pooled, self.selected, [])
        return win_ratios(self.votes, heads, self.found.official).in_order(self.order.runs)

    @property
    def shown(self) -> int | tuple[str, ...]:
        """The runs whose win ratios are printed: the best, or those to be shown and the perfect ranking."""
        told, perfect = self.told.shown, [run for run in self.ratios.runs if run == PERFECT]
        return (*perfect, *told) if told else MOST_SHOWN

    @cached_property
    def boards(self) -> Boards:
        """The boards by RR@10, each over all of its queries, and what the votes say beside them."""
        return self._boards(*filter(None, [self.preference]))

    @cached_property
    def common(self) -> Boards:
        """The same over the queries that all label sets judge."""
        return self._boards(*filter(None, [self.preference]), common=True)

    def board(self, qrels: str = "") -> Board:
        """Return the board under a label set over the common queries; the original one by default."""
        found = [one for one in self.common.all if qrels in ("", one.leaderboard.qrels)]
        if not found:
            raise InputError(f"there are no {qrels} qrels", "Give --judgments or --study.")
        return found[0]

    @cached_property
    def assessors(self) -> Assessors:
        """Who judged: each experiment's crowd or model, models in its study, and this one's label sets."""
        found: list[Assessor] = []
        for name, one in sorted(self.beside.items(), key=lambda told: told[1] is not self):
            if one.has("judgments"):
                found += one.voters(name or "people")
        needed(found or None, "judgments")
        own = self.found.best and self.found.best.qrels  # a study's, which its voters have
        found += [
            Assessor(name=labels.name, kind="labels", labels=labels)
            for labels in self.found.qrels
            if labels is not own
        ]
        names = Counter(one.name for one in found)
        if twice := [name for name, count in names.items() if count > 1]:
            way = "Give one another name: [experiments.NAME] or --qrels NAME=FILE."
            raise InputError(f"two assessors are called {twice[0]!r}", way)
        silent = [one.name for one in found if not one.labels.queries]
        if silent:
            self._notices.append(f"no best answer by the rule {self.found.how.rule}: {', '.join(silent)}")
        if len(found) < 2 or found[0].name in silent:
            raise InputError(
                "it sets two beside each other", "Give qrels, a model's votes, or another crowd's."
            )
        made = Assessors([one for one in found if one.name not in silent])
        self._notices += [f"{a} and {b}: the same votes on each pair" for a, b in made.same_votes()]
        return made

    def voters(self, name: str) -> list[Assessor]:
        """Return whose votes the experiment has, and the models that judged in its study."""
        models = split_models(study_votes(self.study))[1] if self.study and not self.told.stage else {}
        best = self.found.best.qrels if self.found.best else self.preference
        logs = [(name, self.votes, best), *((model, log, None) for model, log in models.items())]
        return [
            Assessor(
                name=called,
                kind="model" if called in models or self.told.model else "people",
                labels=best or to_qrels(resolved(log, self.found.how, pools=self.found.pools), name=called),
                votes=log,
            )
            for called, log, best in logs
        ]

    @cached_property
    def voted(self) -> Boards:
        """The boards of the label sets, and of all assessors with votes, by their names."""
        made = [one for one in self.assessors.all if one.votes is not None]
        return self._boards(*(replace(one.labels, name=one.name) for one in made))

    @cached_property
    def assessed(self) -> list[Board]:
        """The board of each assessor."""
        boards = {one.leaderboard.qrels: one for one in self.voted.all}
        return [boards[one.name] for one in self.assessors.all]

    @cached_property
    def repeated(self) -> tuple[SetsCompared, ...]:
        """How far two more rounds of voting like the first one's agree, several times."""
        return needed(self.voted.votes, "judgments").two_rounds(self.found.rng("again"))

    @cached_property
    def taus(self) -> list[RankCorrelation | None]:
        """How far the first one's board and each one's agree on the queries that both have, if any."""
        first, votings, found = self.assessed[0], self.voted.votings, list[RankCorrelation | None]()
        name = first.leaderboard.qrels
        told = votings is not None and name in votings.labels
        self._notices += map(str, (*few_hits(self.assessed), *copies_noted(self.assessed)))
        for one in self.assessed:
            both = frozenset(first.scores.queries) & {*one.scores.queries}
            if len(both) < FEWEST:
                whose = name if one is first else f"{name} and {one.leaderboard.qrels}"
                few = f"{many(len(both), 'query')}, too few for any figure to say much"
                self._notices.append(f"{whose}: {few if both else 'they share no query'}")
            pair = correlate(*on_common_queries(first, one)) if both else None
            if pair and votings and told:
                tau = replace(pair.common, two_votings=votings.of("RR@10", both))
                pair = replace(pair, printed=tau, common=tau)
            found.append(pair)
        return found

    @cached_property
    def reciprocal(self) -> Scores:
        """RR@100 over the original qrels."""
        return score_matrix(self.found.placed(self.original)[0], self.original, Measure.parse("RR@100"))

    @property
    def arrivals(self) -> list[tuple[Scores, Outcomes]]:
        """The outcomes of each run, as the paper's names or the files stand, against the best before it."""
        rows, _ = outcomes_of_arrivals(self.reciprocal, self._as_named(self.reciprocal.runs))
        return [(self.reciprocal, row) for row in rows]

    def _as_named(self, runs: Sequence[str]) -> tuple[str, ...]:
        """Return runs in the order of the paper's names, others after them as they stand."""
        place = {run: number for number, run in enumerate(self.names)}
        return tuple(sorted(runs, key=lambda run: place.get(run, len(place))))

    @cached_property
    def outcomes(self) -> list[tuple[Scores, Outcomes]]:
        """The outcomes of the pairs of runs that are tested, by RR@100 over the original qrels."""
        scores, told, runs = self.reciprocal, self.told, self._as_named(self.reciprocal.runs)
        leads = told.baseline
        pairs: Sequence[tuple[str, str]] = told.tested or [
            (a, b) for number, a in enumerate(leads) for b in runs if b != a and b not in leads[:number]
        ]
        return [(scores, row) for row in outcomes_of_pairs(scores, pairs or [*combinations(runs, 2)])]

    @cached_property
    def stable(self) -> StabilityResult:
        """The ranks under bootstrapping by RR and nDCG@10, under each label set, public and held out."""
        return self.asked(stability, measure=MEASURES, held_out=self.told.held_out, draw=self.told.shown)

    def asked(self, verb: Callable[..., T], **options: Any) -> T:
        """Return what a verb finds in the same files."""
        told = self.told
        given = {"runs": told.runs, "qrels": self.labels, "order": told.order, "seed": told.seed}
        return self.noting(verb(self.study, **given, **options, **self.how))

    def noting(self, result: T) -> T:
        """Keep a result's notices."""
        self._notices += result.notices  # type: ignore[attr-defined]
        return result


def needed(given: T | None, need: str) -> T:
    """Return what an exhibit is made from; refuse that there is none."""
    if given is None:
        raise InputError(f"it needs {NEEDS[need]}")
    return given


def _of_stage(study: Study, stage: Sequence[str]) -> Judgments:
    """Return a study's votes of some phases."""
    with study.transaction(write=False) as db:
        votes = load_judgments(db, phases=stage)
        phases = {one.phase: None for one in load_judgment_log(db)} if not len(votes) else {}
    if not len(votes):
        what = f"{study.folder} has no votes of the stage {', '.join(stage)}"
        raise InputError(what, f"Its stages: {', '.join(phases) or 'none yet'}.")
    return votes


_NOT_RUNS = frozenset({"query", "queries", "qrels", "measure", "docs", "doc", "labels", "values"})
"""Fields whose texts name something else."""


def _called(found: Any, names: Mapping[str, str]) -> Any:
    """Return a result with other names of runs, wherever it tells of them."""
    if isinstance(found, str):
        return names.get(found, found)
    if isinstance(found, list | tuple):
        return type(found)(_called(one, names) for one in found)
    if isinstance(found, dict):
        return {_called(key, names): _called(value, names) for key, value in found.items()}
    if is_dataclass(found) and not isinstance(found, type):
        told = [one.name for one in fields(found) if one.init and one.name not in _NOT_RUNS]
        return replace(found, **{name: _called(getattr(found, name), names) for name in told})
    return found
