"""Records a HIT again from the marketplace: what it asks, who answered, what was decided and paid."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations, product
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from prefjudge.core.hits import CENT, Layout, Side, in_order
from prefjudge.crowd.protocol import Crowd
from prefjudge.crowd.simulated import SeenPage, SeenSlot, read_page, seen
from prefjudge.crowd.tasks import ListedTask, PaidBonus, Submission, SubmissionState, TaskState
from prefjudge.database import Connection
from prefjudge.field import pay as intents
from prefjudge.field.publish import PAGES_FOLDER, climbs
from prefjudge.field.settle import (
    STOPPED_EARLY,
    assumed_judge,
    check_assignment,
    prorated_amount,
    prorated_decision,
)
from prefjudge.field.trust import bar_workers, least_seconds, recall_doubt
from prefjudge.study.assignments import load_decisions, save_assignment, save_decision, save_rejection
from prefjudge.study.hits import (
    HitStatus,
    SlotPair,
    StudyHit,
    StudySlot,
    count_asked,
    count_shown_words,
    load_hits,
    read_hit_key,
    recall_question,
    save_assignment_count,
    save_hits,
    save_published,
    save_status,
)
from prefjudge.study.money import Intent, intend, settle
from prefjudge.study.pools import (
    load_gold,
    load_pairs_by_number,
    load_passages,
    load_pools,
    load_queries,
    load_withdrawn,
    save_pair,
)
from prefjudge.study.store import Study

DECIDED_BEFORE = "This was rejected before the marketplace was restored from a backup."


@dataclass(slots=True, kw_only=True)
class Learnt:
    """What the store learnt from one HIT; a HIT ``given_up`` is recorded without its slots."""

    new: bool = False
    given_up: bool = False
    assignments: int = 0
    decisions: int = 0
    bonuses: int = 0
    repeated: int = 0
    """Decisions of the study that the marketplace did not know any more."""
    approved: int = 0
    """Assignments that it has approved in full since, though the study has decided otherwise."""


class HitRecovery:
    """Records the HITs of a study again, one after the other."""

    def __init__(self, study: Study, crowd: Crowd, target: str, *, give_up: bool = False) -> None:
        self._study = study
        self._crowd = crowd
        self._target = target
        self._give_up = give_up
        self._matcher, self._question, self._least = PageMatcher(study), "", 0.0
        study.secret  # noqa: B018 - read now: it may need a transaction, and none begins within another
        with study.transaction(write=False) as db:
            self.known = {hit.hit_key: hit for hit in load_hits(db, target)}

    def find(self, listed: ListedTask) -> StudyHit | None:
        """Return a HIT as the store has it, or else its page; None where it shows texts that are unknown.

        With ``give_up`` such a HIT has no slots: only what it may cost counts.
        """
        hit = self.known.get(listed.key) or self._read(listed)
        return self._without_slots(listed) if hit is None and self._give_up else hit

    def recall_doubt(self, batch: Sequence[StudyHit]) -> None:
        """Drop the votes of the barred, and those in doubt that a batch asked for again, as before it."""
        new = not any(hit.hit_key in self.known for hit in batch)
        slots = ((hit, pair) for hit in batch for slot in hit.slots for pair, *_ in slot.pairs if new)
        asked = Counter(pair for hit, pair in slots for _ in range(hit.assignments) if pair is not None)
        bar_workers(self._study, self._crowd, self._target)
        recall_doubt(self._study, self._target, asked)
        self._least = least_seconds(self._study, self._target)

    def take_in(self, listed: ListedTask, hit: StudyHit) -> Learnt:
        """Record what the marketplace knows of a HIT, in one transaction."""
        known = self.known.get(listed.key)
        fetched, bonuses = self._crowd.fetch(listed.task_id), self._crowd.bonuses(listed.task_id)
        if hit.given_up and fetched.open:
            self._crowd.close(listed.task_id)  # before it is recorded: after a kill, a repeat closes it
            fetched = self._crowd.fetch(listed.task_id)
        learnt = Learnt(new=known is None, given_up=known is None and hit.given_up)
        self._repeat_decisions(fetched, bonuses, learnt)
        with self._study.transaction() as db:
            if known is None:
                shown = {pair for slot in hit.slots for pair, *_ in slot.pairs}
                for number in sorted(self._matcher.added.keys() & shown):
                    save_pair(db, number, *self._matcher.added[number])
                save_hits(db, [hit])
                if self._question:
                    recall_question(db, self._target, self._question)
            self._publish(db, hit, listed, fetched)
            self._take(db, hit, fetched, learnt)
            self._note_payments(db, hit, fetched, bonuses, learnt)
        return learnt

    def _read(self, listed: ListedTask) -> StudyHit | None:
        """Return the HIT that a page shows; None where the study lacks one of its texts."""
        hit, page = self._without_slots(listed), self._page(listed)
        if hit is None or page is None:
            return None
        found = self._matcher.match(page, hit.assignments)
        if found is None:
            return None
        slots, layouts = found
        self._question = page.question
        return replace(hit, slots=slots, layouts=layouts)

    def _without_slots(self, listed: ListedTask) -> StudyHit | None:
        """Return a HIT with what its key and its offer say."""
        key = read_hit_key(listed.key)
        if key is None:
            return None
        return StudyHit(
            hit_key=listed.key,
            batch=key.batch,
            number=key.number,
            target=self._target,
            assignments=key.assignments,
            reward_cents=int(listed.pay / CENT),
            layouts=(),
            slots=(),
        )

    def _page(self, listed: ListedTask) -> SeenPage | None:
        """Return a HIT's page, from the crowd or from the folder that the study's web server serves."""
        page = self._crowd.page(listed.task_id)
        if not page.address:
            return read_page(page.html)
        file = self._study.folder / PAGES_FOLDER / PurePosixPath(urlsplit(page.address).path).name
        return read_page(file.read_text(encoding="utf-8")) if file.is_file() else None

    def _publish(self, db: Connection, hit: StudyHit, listed: ListedTask, fetched: TaskState) -> None:
        """Record that the HIT was published, and what it and its extensions commit."""
        # The key holds the assignments at publication. Each one above that was an extension with an intent
        # of its own; with the same subjects and numbers, the ledger gets the tokens that it had.
        first = read_hit_key(hit.hit_key)
        begun = first.assignments if first else hit.assignments
        origin, prices = replace(hit, assignments=begun), self._crowd.prices
        self._spent(db, intents.creation(self._study, prices, origin), listed.task_id)
        for number in range(1, fetched.workers - begun + 1):
            self._spent(db, intents.extension(self._study, prices, origin, number), "extended")
        save_assignment_count(db, hit.hit_key, max(fetched.workers, begun))
        if hit.hit_id is None:
            save_published(db, hit.hit_key, listed.task_id, listed.created)
        if listed.deleted or (hit.given_up and not fetched.open):
            save_status(db, [hit.hit_key], HitStatus.CLOSED)

    def _spent(self, db: Connection, intent: Intent, outcome: str) -> None:
        """Record a call that was made, unless the ledger knows it."""
        if intend(db, intent, budget=None).outcome is None:  # no budget: the money is spent already
            settle(db, intent.token, outcome, time.time())

    def _take(self, db: Connection, hit: StudyHit, fetched: TaskState, learnt: Learnt) -> None:
        known = load_decisions(db)
        pairs, withdrawn = load_pairs_by_number(db), load_withdrawn(db)
        judge, design = assumed_judge(self._study, self._target), self._study.config.design
        words = count_shown_words(db, [hit]).get(hit.hit_key) if climbs(self._study) else None
        for found in fetched.submissions:
            if found.submission_id in known:
                continue
            checked = check_assignment(
                *(hit, found, pairs, design, withdrawn), judge=judge, words=words, least=self._least
            )
            save_assignment(db, checked, phase=f"batch {hit.batch}")
            learnt.assignments += 1

    def _note_payments(
        self,
        db: Connection,
        hit: StudyHit,
        fetched: TaskState,
        bonuses: Sequence[PaidBonus],
        learnt: Learnt,
    ) -> None:
        """Record decisions and bonuses, so that nothing is paid again."""
        decided = load_decisions(db)
        instead = {paid.submission_id: paid for paid in bonuses if paid.reason.startswith(STOPPED_EARLY)}
        for paid in instead.values():
            intent = intents.bonus(
                self._study, self._crowd.prices, self._target, paid.submission_id, paid.amount
            )
            learnt.bonuses += intend(db, intent, budget=None) is intent
            self._spent(db, intent, "paid")
        for found in fetched.submissions:
            if found.state is SubmissionState.SUBMITTED or decided.get(found.submission_id) is not None:
                continue
            learnt.decisions += 1
            if found.state is SubmissionState.APPROVED:
                save_decision(db, found.submission_id, found.state.value)
            else:
                self._reject(db, hit, found, instead.get(found.submission_id), fetched.workers)

    def _repeat_decisions(self, fetched: TaskState, bonuses: Sequence[PaidBonus], learnt: Learnt) -> None:
        """Decide again what the study has decided, where a restored marketplace has forgotten it.

        The study's ledger has it, so nothing is recorded. Else the marketplace would in time approve by
        itself, in full, what was paid in part or rejected.
        """
        with self._study.transaction(write=False) as db:
            decided = load_decisions(db)
        for found in fetched.submissions:
            name, decision = found.submission_id, decided.get(found.submission_id) or ""
            amount = prorated_amount(decision)
            if found.state is not SubmissionState.SUBMITTED:
                otherwise = amount is not None or decision == SubmissionState.REJECTED
                learnt.approved += otherwise and found.state is SubmissionState.APPROVED
                continue
            if decision == SubmissionState.APPROVED:
                self._crowd.approve(name)
            elif amount is not None:
                text = f"{STOPPED_EARLY}were paid ${amount} by a bonus."
                token = intents.bonus(self._study, self._crowd.prices, self._target, name, amount).token
                if not any(paid.submission_id == name for paid in bonuses):
                    self._crowd.bonus(found.worker_id, name, amount, text, token=token)
                self._crowd.release(name, text)
            elif decision == SubmissionState.REJECTED:  # where the people come from, it is rejected already
                self._crowd.release(name, DECIDED_BEFORE)
            else:
                continue
            learnt.repeated += 1

    def _reject(
        self,
        db: Connection,
        hit: StudyHit,
        found: Submission,
        paid: PaidBonus | None,
        assignments: int,
    ) -> None:
        reward, prices = Decimal(hit.reward_cents) * CENT, self._crowd.prices
        release = intents.release(self._study, prices, self._target, found.submission_id, reward, assignments)
        self._spent(db, release, "released" if paid else "rejected")
        if paid:  # rejected to take the reward back after an early exit: not a verdict on the work
            save_decision(db, found.submission_id, prorated_decision(paid.amount))
        else:
            save_rejection(db, found.submission_id, found.reason, time.time())


class PageMatcher:
    """Knows the texts of a study, and how often each pair has been asked for.

    A page has texts, not ids. Where several passages have the same text, a judgment is good for any of
    their pairs: workers saw the same. It goes to the pair asked for least often, so that all are judged.
    """

    def __init__(self, study: Study) -> None:
        with study.transaction(write=False) as db:
            queries, passages = load_queries(db), load_passages(db)
            pools, gold = load_pools(db, newcomers=True), load_gold(db)
            pairs = load_pairs_by_number(db)
            self._asked = Counter(count_asked(db))
        self._queries: dict[str, list[str]] = defaultdict(list)
        for query, text in queries.items():
            self._queries[seen(text)].append(query)
        self._docs: dict[tuple[str, str], list[str]] = defaultdict(list)
        for query, doc in zip(pools.query.tolist(), pools.doc.tolist(), strict=True):
            name = pools.docs[doc]
            if name in passages:
                self._docs[pools.queries[query], seen(passages[name])].append(name)
        self._gold = {(seen(g.query), seen(g.good), seen(g.bad)): number for number, g in gold.items()}
        self._pairs = {pair: number for number, pair in pairs.items()}
        self.added: dict[int, tuple[str, str, str]] = {}
        """Pairs that the study did not have, such as those of a challenge, by their new numbers."""

    def match(
        self, page: SeenPage, assignments: int
    ) -> tuple[tuple[StudySlot, ...], tuple[Layout, ...]] | None:
        """Return a page's slots and layouts as the study has them; None where a pair is not found."""
        slots: list[StudySlot] = []
        for slot in page.slots:
            pairs = self._find(slot)
            if pairs is None:
                return None
            slots.append(StudySlot(name=slot.name, **pairs[0]._asdict(), more=tuple(pairs[1:])))
        for one in slots:
            self._asked.update({pair: assignments for pair, *_ in one.pairs if pair is not None})
        sides = [
            [
                _side(side, slot.tokens, one.passages)
                for side, slot, one in zip(layout.swapped, page.slots, slots, strict=True)
            ]
            for layout in page.layouts
        ]
        layouts = (replace(layout, swapped=tuple(of)) for layout, of in zip(page.layouts, sides, strict=True))
        return tuple(slots), tuple(layouts)

    def _find(self, slot: SeenSlot) -> list[SlotPair] | None:
        places = range(len(slot.passages))
        for good in places:
            pairs = [
                SlotPair(None, self._gold.get((slot.query, slot.passages[good], slot.passages[bad])), two)
                for bad in places
                if bad != good and (two := (slot.tokens[good], slot.tokens[bad]))
            ]
            if all(pair.gold_id is not None for pair in pairs):
                return pairs
        candidates = self._candidates(slot)
        return min(
            candidates, key=lambda of: (sum(self._asked[p.pair_id or 0] for p in of), of), default=None
        )

    def _candidates(self, slot: SeenSlot) -> Iterable[list[SlotPair]]:
        for query in self._queries.get(slot.query, ()):
            for docs in product(*(self._docs.get((query, text), ()) for text in slot.passages)):
                if len({*docs}) == len(docs):
                    by_doc = sorted(zip(docs, slot.tokens, strict=True))
                    yield [
                        SlotPair(self._number(query, a, b), None, (one, other))
                        for (a, one), (b, other) in combinations(by_doc, 2)
                    ]

    def _number(self, query: str, a: str, b: str) -> int:
        number = self._pairs.get((query, a, b))
        if number is None:
            number = self._pairs[query, a, b] = max(self._pairs.values(), default=0) + 1
            self.added[number] = (query, a, b)
        return number


def _side(side: Side, source: Sequence[str], stored: Sequence[str]) -> Side:
    """Return a side by the places in which a slot stores its passages, instead of those in the source."""
    shown = tuple(stored.index(source[place]) for place in in_order(side, len(source)))
    return shown if len(shown) > 2 else bool(shown[0])
