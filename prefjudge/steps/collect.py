"""Collects the work: checks it, drops and re-issues what missed a gold pair, bars and pays."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from prefjudge.crowd.protocol import Crowd, RefusedError
from prefjudge.crowd.tasks import SubmissionState, TaskState
from prefjudge.errors import BudgetError, CrowdError, StudyError
from prefjudge.field import pay as intents
from prefjudge.field.pay import lock_crowd, refuse_unwhole
from prefjudge.field.publish import (
    Extension,
    Progress,
    climbs,
    end_tests,
    extend_hits,
    interrupted_hits,
    publish_hits,
    settle_elsewhere,
    tell_reward,
)
from prefjudge.field.settle import (
    assumed_judge,
    check_assignment,
    count_disputes,
    find_dues,
    finish_rejections,
    pay_dues,
    release_unused,
)
from prefjudge.field.trust import (
    admit_newcomers,
    allow_more,
    ask_again,
    bar_workers,
    exclude_barred,
    has_fresh_gold,
    least_seconds,
    why_stopped,
)
from prefjudge.show.results import Shown
from prefjudge.study import people
from prefjudge.study.answers import load_open_challenge
from prefjudge.study.assignments import (
    KEPT,
    load_decisions,
    save_assignment,
    save_decisions,
)
from prefjudge.study.hits import (
    HitStatus,
    StudyHit,
    asked_design,
    count_dropped,
    count_shown_words,
    load_hits,
    save_status,
)
from prefjudge.study.money import count_settled, load_begun_bonuses
from prefjudge.study.people import load_rehearsal
from prefjudge.study.pools import load_pairs_by_number, load_withdrawn
from prefjudge.study.progress import Stage, count_hits, count_judgments, lacking, load_barred, waiting_pairs
from prefjudge.study.store import LIVE, SANDBOX, Study, open_study, refuse_other_target
from prefjudge.words import Rehearsal, many

_TOGETHER = 20
"""HITs whose answers are recorded together: a commit waits for the disk."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CollectResult(Shown):
    """Where the study stands after ``collect``.

    ``challenge`` says whether newcomers still meet the best-known answers: `run` ends that, not `resolve`.
    The time of ``expired`` HITs was over before everybody came; ``closed`` ones show only pairs that have all
    votes they need. ``barred`` says why, by pseudonyms; ``held`` of the ``open`` HITs are in workers' hands.
    ``capped`` workers have done as many HITs as the gold pairs fill without a repeat, and wait for others.
    ``stopped`` says why nothing is issued again for now. ``disputes`` of rejections wait for an answer.
    ``notices`` says what a person did where the people come from, as on Prolific's pages, and that the reward
    is another.
    """

    endpoint: str
    collected: int
    dropped: int
    reissued: int
    expired: int
    closed: int
    barred: dict[str, str]
    open: int
    held: int
    capped: int
    judgments: int
    dropped_judgments: int
    waiting: int
    reasons: dict[str, int]
    stopped: str
    challenge: bool
    disputes: int
    rehearsal: Rehearsal | None
    notices: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        """Whether every pair has been judged as often as was asked."""
        return self.open == 0 and self.waiting == 0


def collect(
    study: str | Path | Study, *, live: bool = False, progress: Progress | None = None
) -> CollectResult:
    """Fetch the answers to all open HITs and act on them; a repeat adds only what is new.

    Parameters
    ----------
    study : Path
        The study's folder.
    live : bool
        Collect from the live target.
    progress : callable, optional
        Told how many HITs of how many have been looked at.

    Raises
    ------
    StudyError
        Nothing has been published there.
    BudgetError
        The budget does not allow to issue dropped work again. All answers have been taken in.
    CrowdError
        The marketplace failed or cannot be reached, or does not show some HIT; the others have been taken in.
    """
    opened = open_study(study)
    target = LIVE if live else SANDBOX
    refuse_unwhole(opened)
    with opened.transaction(write=False) as db:
        refuse_other_target(db, target)
        published = count_hits(db, target)
    if not published:
        raise lacking(opened, Stage.PUBLISHED, target=target)
    people.forget_old(opened, time.time())
    with lock_crowd(opened, target) as crowd:
        return _Collection(opened, crowd, target).run(progress)


class _Collection:
    """One pass over the open HITs."""

    def __init__(self, study: Study, crowd: Crowd, target: str) -> None:
        self._study = study
        self._crowd = crowd
        self._target = target
        self._reasons: Counter[str] = Counter()
        self._collected = 0
        self._reissued = 0
        self._held, self._over = set[str](), set[str]()
        self._expired = self._closed = 0
        self._capped = 0
        self._refused: BudgetError | StudyError | None = None
        self._stopped = why_stopped(study, target)
        self._unseen: list[CrowdError] = []
        self._unpaid: CrowdError | None = None
        self._happened: tuple[str, ...] = ()
        with study.transaction(write=False) as db:
            self._pairs = load_pairs_by_number(db)
            self._withdrawn = load_withdrawn(db)
            self._known = load_decisions(db)
            self._begun = load_begun_bonuses(db)  # what a killed call left is for the payment to continue
        self._fresh_gold = climbs(study) and has_fresh_gold(study, target)

    def run(self, progress: Progress | None) -> CollectResult:
        publish_hits(self._study, self._crowd, interrupted_hits(self._study, self._target))
        with self._study.transaction(write=False) as db:
            looked_at = load_hits(db, self._target, HitStatus.OPEN)
        self._visit_each(looked_at, progress)
        finish_rejections(self._study, self._crowd, self._target)
        # Nothing came, though HITs are to be had: perhaps the marketplace was restored from a backup, and
        # whoever would work has forgotten what the study told it.
        idle = not self._collected and len(self._held) < len(looked_at)
        self._happened += bar_workers(
            self._study, self._crowd, self._target, again=idle, news=self._collected > 0
        )
        exclude_barred(self._study, self._target)
        self._close_needless([hit for hit in looked_at if hit.hit_key not in self._over])
        limited, kept_out = admit_newcomers(self._study, self._crowd, self._target, again=idle)
        stuck = limited and idle and not self._held
        self._capped, grown = allow_more(self._study, self._crowd, self._target, again=idle, stuck=stuck)
        if stuck and not grown:
            _, kept_out = admit_newcomers(self._study, self._crowd, self._target, stuck=True)
        if self._study.config.pay.when == "collect":
            self._pay()
        release_unused(self._study, self._crowd, self._target)
        self._reissue_loose_pairs()
        try:
            self._happened += (*settle_elsewhere(self._study, self._crowd)[1], *kept_out)
        except CrowdError as error:  # what is asked for is still to be recorded
            self._unpaid = self._unpaid or error
        if self._unseen:
            raise CrowdError(
                f"{many(len(self._unseen), 'HIT')} cannot be read: {self._unseen[0].message}",
                "Check the marketplace and its key: they must be those that published it.",
            )
        if stopped_by := self._unpaid or self._refused:
            raise stopped_by
        result = self._result()
        if result.finished and not result.challenge:  # newcomers of a challenge take the test, too
            end_tests(self._study, self._crowd, self._target)
        return result

    def _pay(self) -> None:
        """Pay; what is refused must not keep the pairs of others from being asked for again."""
        try:
            pay_dues(self._study, self._crowd, find_dues(self._study, self._target))
        except CrowdError as error:
            self._unpaid = error

    def _close_needless(self, hits: Sequence[StudyHit]) -> None:
        """Offer HITs no more that nobody needs, as when votes count again that others were asked for."""
        needless = self._needless(hits)
        chosen = [hit for hit in hits if hit.hit_key in needless]
        for hit in chosen:
            self._crowd.close(hit.hit_id or "")
        self._visit_each(chosen, None)  # what came meanwhile counts; who holds one may submit it, and is paid

    def _needless(self, hits: Sequence[StudyHit]) -> set[str]:
        """Return which of these HITs show only pairs that have all the votes they need."""
        if not hits:
            return set()
        with self._study.transaction(write=False) as db:
            needed = {number for number, *_ in waiting_pairs(db, self._target, promised=False)}
        shown = {hit.hit_key: {pair.pair_id for slot in hit.slots for pair in slot.pairs} for hit in hits}
        return {key for key, pairs in shown.items() if pairs and needed.isdisjoint(pairs)}

    def _visit_each(self, hits: Sequence[StudyHit], progress: Progress | None) -> None:
        states = self._crowd.fetch_each([hit.hit_id or "" for hit in hits])
        for start in range(0, len(hits), _TOGETHER):
            fetched, failed = _fetched(hits[start : start + _TOGETHER], states)
            self._visit(fetched)
            if failed:
                raise failed
            if progress:
                progress(start + len(fetched), len(hits))

    def _visit(self, fetched: "Sequence[_Fetched]") -> None:
        """Take in what is new of some HITs; extend them by the assignments that were dropped whole."""
        self._unseen += [state for _, state in fetched if isinstance(state, RefusedError)]
        seen = [(hit, state) for hit, state in fetched if not isinstance(state, RefusedError)]
        if not seen:
            return
        self._take(seen)
        self._stopped = why_stopped(self._study, self._target)
        wanted = self._missing(seen)
        extended, refused = extend_hits(self._study, self._crowd, wanted)
        self._reissued += len(extended)
        self._refused = refused or self._refused  # the answers to other HITs are still to be taken in
        asked_again = {one.hit.hit_key for one in extended}
        over, unanswered = [], []
        for hit, state in seen:
            if hit.hit_key in asked_again:
                continue
            if state.held:
                self._held.add(hit.hit_key)
            if not state.open:
                over.append(hit.hit_key)
                if len(state.submissions) < state.workers:
                    unanswered.append(hit)
        needless = self._needless(unanswered)
        self._closed += len(needless)
        self._expired += len(unanswered) - len(needless)
        self._over.update(over)
        if over:
            with self._study.transaction() as db:
                save_status(db, over, HitStatus.CLOSED)

    def _take(self, seen: Sequence[tuple[StudyHit, TaskState]]) -> None:
        """Append new assignments to the log, and what was decided elsewhere, as by the crowd's own delay."""
        design = asked_design(self._study)
        judge = assumed_judge(self._study, self._target)
        new = [
            (hit, found)
            for hit, state in seen
            for found in state.submissions
            if found.submission_id not in self._known
        ]
        words = self._count_words([hit for hit, _ in new])
        least = least_seconds(self._study, self._target) if words else 0.0
        checked = [
            (
                hit,
                check_assignment(
                    *(hit, found, self._pairs, design, self._withdrawn),
                    judge=judge,
                    words=words.get(hit.hit_key),
                    least=least,
                ),
            )
            for hit, found in new
        ]
        decided = {
            found.submission_id: found.state.value
            for _, state in seen
            for found in state.submissions
            if found.state is not SubmissionState.SUBMITTED
            and self._known.get(found.submission_id) is None
            and found.submission_id not in self._begun
        }
        if checked or decided:
            with self._study.transaction() as db:
                for hit, assignment in checked:
                    save_assignment(db, assignment, phase=f"batch {hit.batch}")
                save_decisions(db, decided)
        self._known |= {**dict.fromkeys(assignment.assignment_id for _, assignment in checked), **decided}
        self._collected += len(checked)
        self._reasons.update(one.verdict for _, one in checked if one.verdict != KEPT)

    def _count_words(self, hits: Sequence[StudyHit]) -> dict[str, int]:
        """Return how many words HITs show, where the policy asks whether they can have been read."""
        if not hits or not climbs(self._study):
            return {}
        with self._study.transaction(write=False) as db:
            return count_shown_words(db, hits)

    def _missing(self, seen: "Sequence[tuple[StudyHit, TaskState]]") -> list[Extension]:
        """Return one more worker for each assignment of these HITs that was dropped whole."""
        if self._stopped or self._fresh_gold:
            return []  # the pairs wait for a new HIT, with other gold pairs where there are any
        keys = [hit.hit_key for hit, _ in seen]
        with self._study.transaction(write=False) as db:
            dropped = count_dropped(db, keys)
            promised = {key: count_settled(db, key, intents.EXTEND) for key in dropped}
        missing = []
        for hit, state in seen:
            more = dropped.get(hit.hit_key, 0) - promised.get(hit.hit_key, 0)
            # Calls whose outcome was lost show in the number of workers that the crowd knows of.
            lost = max(0, state.workers - hit.assignments)
            if hit.given_up or more <= 0 or more - lost > state.room:
                continue
            first = promised[hit.hit_key] + 1
            missing += [Extension(hit=hit, number=first + done, call=done >= lost) for done in range(more)]
        return missing

    def _reissue_loose_pairs(self) -> None:
        """Publish new HITs for pairs that no HIT will settle any more, once there are enough to fill one."""
        from prefjudge.field.publish import plan_batch

        with self._study.transaction(write=False) as db:
            loose = len(waiting_pairs(db, self._target))
            still_open = count_hits(db, self._target).get(HitStatus.OPEN, 0)
        newcomers = bool(loose or still_open)
        if not (newcomers or self._stopped) and ask_again(self._study, self._target):
            with self._study.transaction(write=False) as db:
                loose = len(waiting_pairs(db, self._target))
        if self._stopped or not loose or (still_open and loose < self._study.config.design.pairs_per_hit):
            return
        hits = plan_batch(self._study, self._target)
        self._happened += tell_reward(self._study, self._target, hits)
        try:
            publish_hits(self._study, self._crowd, hits, newcomers=newcomers)
        except (BudgetError, StudyError) as error:
            self._refused = error
            return
        self._reissued += len(hits)

    def _result(self) -> CollectResult:
        with self._study.transaction(write=False) as db:
            barred = load_barred(db, self._target)
        disputes = count_disputes(self._study, self._crowd, self._target)
        with self._study.transaction(write=False) as db:
            kept, dropped = count_judgments(db, self._target)
            return CollectResult(
                endpoint=self._crowd.endpoint,
                collected=self._collected,
                dropped=self._reasons.total(),
                reissued=self._reissued,
                expired=self._expired,
                closed=self._closed,
                barred={self._study.opaque("worker", worker): why for worker, why in barred.items()},
                open=count_hits(db, self._target).get(HitStatus.OPEN, 0),
                held=len(self._held - self._over),
                capped=self._capped,
                judgments=kept,
                dropped_judgments=dropped,
                waiting=len(waiting_pairs(db, self._target)),
                reasons=dict(self._reasons),
                stopped=self._stopped,
                challenge=load_open_challenge(db) is not None,
                disputes=disputes,
                rehearsal=load_rehearsal(db),
                notices=self._happened,
            )


_Fetched = tuple[StudyHit, TaskState | RefusedError]


def _fetched(
    hits: Sequence[StudyHit], states: Iterator[TaskState | RefusedError]
) -> tuple[list[_Fetched], CrowdError | None]:
    """Return the next HITs with their states, as far as the crowd tells, and why it tells no more."""
    found: list[_Fetched] = []
    try:
        for hit in hits:
            found.append((hit, next(states)))
    except CrowdError as error:
        return found, error
    return found, None
