"""Packs the pairs that wait into HITs, and turns a packed HIT into a request to a crowd."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from prefjudge.core.costs import CENT, Estimate, Fees, estimate
from prefjudge.core.gold import rotate_gold
from prefjudge.core.hits import pack_pairs, plan_hit
from prefjudge.errors import StudyError
from prefjudge.formats.atomic import write_text
from prefjudge.study.gold import load_active_gold, load_gold
from prefjudge.study.hits import StudyHit, StudySlot, last_batch
from prefjudge.study.pooling import load_passages, load_queries
from prefjudge.study.progress import waiting_pairs
from prefjudge.study.study import Study

if TYPE_CHECKING:
    from prefjudge.crowd.protocol import Crowd, HitRequest, Requirement
    from prefjudge.render.hit_page import Slot

LOCALE = "00000000000000000071"
NUMBER_APPROVED = "00000000000000000040"
PERCENT_APPROVED = "000000000000000000L0"
PAGES_FOLDER = "pages"
"""Where pages wait for a web server that are too large for the API."""
_LAYOUTS = 4
"""How many ways to show a HIT, so that a worker who repeats another's HIT sees other sides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    pair_id: int
    query_id: str
    votes: int


def plan_batch(study: Study, target: str) -> tuple[StudyHit, ...]:
    """Return the HITs that settle the pairs that wait; nothing is recorded.

    Raises
    ------
    StudyError
        The study has no pairs, or fewer gold pairs than a HIT hides.
    """
    with study.transaction(write=False) as db:
        waiting = [
            _Wanted(pair_id=pair_id, query_id=query_id, votes=votes)
            for pair_id, query_id, _, _, votes in waiting_pairs(db, target)
        ]
        any_pairs = bool(db.execute("SELECT 1 FROM pairs LIMIT 1"))
        gold = load_active_gold(db)
        batch = last_batch(db) + 1
    if not any_pairs:
        raise StudyError("the study has no pairs to judge", f"Run: prefjudge pool {study.folder} --runs …")
    design = study.config.design
    if waiting and len(gold) < design.gold_per_hit:
        raise StudyError(
            f"a HIT hides {design.gold_per_hit} gold pairs, and the study has {len(gold)}",
            f"Run: prefjudge gold {study.folder} --suggest 12, read the file, then --accept.",
        )
    rng = study.hidden_rng("batch", batch)
    packed = [
        ([group[i] for i in members], votes)
        for votes, group in _by_votes(waiting)
        for members in pack_pairs(
            _query_codes(group), design.pairs_per_hit, one_per_query=design.one_pair_per_query, rng=rng
        )
    ]
    apart = design.one_pair_per_query
    dealt = rotate_gold(
        len(gold),
        design.gold_per_hit,
        len(packed),
        rng=rng,
        queries=[pair.query_id for pair in gold.values()] if apart else (),
        taken=[{pair.query_id for pair in pairs} for pairs, _ in packed] if apart else (),
    )
    gold_ids = list(gold)
    return tuple(
        _study_hit(study, target, batch, number, pairs, [gold_ids[g] for g in hidden], votes)
        for number, ((pairs, votes), hidden) in enumerate(zip(packed, dealt, strict=True), start=1)
    )


def _by_votes(waiting: Sequence[_Wanted]) -> list[tuple[int, list[_Wanted]]]:
    """Group the pairs by the votes that they still need: a HIT has as many assignments."""
    groups: dict[int, list[_Wanted]] = {}
    for pair in waiting:
        groups.setdefault(pair.votes, []).append(pair)
    return sorted(groups.items())


def _query_codes(group: Sequence[_Wanted]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    codes: dict[str, int] = {}
    return np.array([codes.setdefault(pair.query_id, len(codes)) for pair in group], dtype=np.int32)


def _study_hit(
    study: Study,
    target: str,
    batch: int,
    number: int,
    pairs: Sequence[_Wanted],
    gold: Sequence[int],
    votes: int,
) -> StudyHit:
    config = study.config
    key = study.opaque("hit", batch, number, length=24)
    rng = study.hidden_rng("hit", key)  # of its own, so that all pages together tell no more than one
    plan = plan_hit(range(len(pairs)), range(len(gold)), layouts=config.design.layouts or _LAYOUTS, rng=rng)
    slots = tuple(
        StudySlot(
            name=study.opaque(key, place),
            pair_id=pairs[k].pair_id if k < len(pairs) else None,
            gold_id=gold[k - len(pairs)] if k >= len(pairs) else None,
            tokens=(study.opaque(key, place, "first"), study.opaque(key, place, "second")),
        )
        for place, k in enumerate(plan.slots)
    )
    return StudyHit(
        hit_key=key,
        batch=batch,
        number=number,
        target=target,
        assignments=votes,
        reward_cents=int(config.hit.reward / CENT),
        layouts=plan.layouts,
        slots=slots,
    )


def fees(study: Study) -> Fees:
    """Return what the study's marketplace takes."""
    config = study.config.fees
    return Fees(rate=config.rate, many_rate=config.many_rate, minimum=config.minimum)


def price(study: Study, hit: StudyHit) -> Decimal:
    """Return what one assignment of a HIT costs, fee included."""
    reward = hit.reward_cents * CENT
    return reward + fees(study).of_reward(reward, hit.assignments)


def estimate_cost(study: Study, hits: Sequence[StudyHit]) -> Estimate:
    """Return what HITs will cost."""
    design, taken = study.config.design, fees(study)
    parts = [
        estimate(
            pairs=sum(slot.pair_id is not None for slot in hit.slots),
            hits=1,
            assignments_per_hit=hit.assignments,
            slots_per_hit=design.pairs_per_hit + design.gold_per_hit,
            reward=hit.reward_cents * CENT,
            fees=taken,
            seconds_per_pair=design.seconds_per_pair,
        )
        for hit in hits
    ]
    return Estimate(
        pairs=sum(part.pairs for part in parts),
        hits=len(parts),
        assignments=sum(part.assignments for part in parts),
        rewards=sum((part.rewards for part in parts), Decimal("0.00")),
        fees=sum((part.fees for part in parts), Decimal("0.00")),
        hourly=parts[0].hourly if parts else None,
    )


class Pages:
    """Renders the study's HITs: holds the texts while a batch is published."""

    def __init__(self, study: Study) -> None:
        self._study = study
        with study.transaction(write=False) as db:
            self._queries, self._passages = load_queries(db), load_passages(db)
            self._gold = load_gold(db)
            self._pairs = {
                pair_id: (query_id, doc_a, doc_b)
                for pair_id, query_id, doc_a, doc_b in db.execute(
                    "SELECT pair_id, query_id, doc_a, doc_b FROM pairs"
                )
            }
        wanted = {doc for _, a, b in self._pairs.values() for doc in (a, b)}
        without = [
            *(f"query {query}" for query, _, _ in self._pairs.values() if query not in self._queries),
            *(f"passage {doc}" for doc in sorted(wanted) if doc not in self._passages),
        ]
        if without:
            raise StudyError(
                f"{len(without)} of the texts to show are missing: {', '.join(without[:5])}",
                f"Run `prefjudge pool {study.folder}` again with --queries and --collection.",
            )

    def question(self, hit: StudyHit) -> str:
        """Return the HIT's Question XML."""
        from prefjudge.core.costs import prorated
        from prefjudge.render.hit_page import (
            HitPage,
            fits_html_question,
            render_external_question,
            render_hit_page,
            render_html_question,
        )

        design = self._study.config.design
        reward, slots = hit.reward_cents * CENT, len(hit.slots)
        page = HitPage(
            title=self._study.config.hit.title,
            question=design.question,
            instructions=design.instructions,
            consent=design.consent,
            reward=f"${reward:.2f}",
            shares=tuple(f"${prorated(reward, done, slots):.2f}" for done in range(slots + 1)),
            slots=tuple(self._slot(slot) for slot in hit.slots),
            layouts=hit.layouts,
            allow_ties=design.allow_ties,
            strengths=design.strengths,
            language=design.language,
        )
        html = render_hit_page(page)
        if not design.pages_url or fits_html_question(html):
            return render_html_question(html)
        name = f"{hit.hit_key}.html"
        write_text(self._study.folder / PAGES_FOLDER / name, html)
        return render_external_question(f"{design.pages_url.rstrip('/')}/{name}")

    def _slot(self, slot: StudySlot) -> "Slot":
        from prefjudge.render.hit_page import Slot

        if slot.gold_id is not None:
            gold = self._gold[slot.gold_id]
            query, passages = gold.query, (gold.good, gold.bad)
        else:
            query_id, doc_a, doc_b = self._pairs[slot.pair_id or 0]
            query, passages = self._queries[query_id], (self._passages[doc_a], self._passages[doc_b])
        return Slot(name=slot.name, query=query, passages=passages, tokens=slot.tokens)

    def request(self, hit: StudyHit, requirements: Sequence["Requirement"]) -> "HitRequest":
        """Return the request that publishes a HIT; its token is the same each time."""
        from prefjudge.crowd.protocol import HitRequest

        config = self._study.config
        return HitRequest(
            token=self._study.opaque("create", hit.hit_key, length=48),
            annotation=hit.hit_key,
            question=self.question(hit),
            title=config.hit.title,
            description=config.hit.description,
            keywords=config.hit.keywords,
            reward=hit.reward_cents * CENT,
            assignments=hit.assignments,
            duration_seconds=config.hit.assignment_minutes * 60,
            lifetime_seconds=config.hit.lifetime_days * 86_400,
            auto_approval_seconds=config.hit.auto_approval_days * 86_400,
            requirements=requirements,
        )


def requirements(study: Study, crowd: "Crowd") -> tuple["Requirement", ...]:
    """Return who may take the study's HITs."""
    from prefjudge.crowd.protocol import Requirement

    workers = study.config.workers
    needs = []
    if workers.locales:
        comparator = "EqualTo" if len(workers.locales) == 1 else "In"
        needs.append(
            Requirement(qualification_type_id=LOCALE, comparator=comparator, locales=workers.locales)
        )
    for kind, comparator, value in (
        (NUMBER_APPROVED, "GreaterThan", workers.approved_more_than),
        (PERCENT_APPROVED, "GreaterThanOrEqualTo", workers.min_approval_rate),
    ):
        if value is not None:
            needs.append(Requirement(qualification_type_id=kind, comparator=comparator, integers=(value,)))
    if workers.exclude_barred:
        needs.append(Requirement(qualification_type_id=barring_mark(study, crowd), comparator="DoesNotExist"))
    return tuple(needs)


def barring_mark(study: Study, crowd: "Crowd") -> str:
    """Return the qualification that marks barred workers, made at the first use.

    Its name says nothing to workers, and is the study's own.
    """
    return crowd.qualification(
        f"prefjudge {study.opaque('mark')}", "Held by those who have taken part as far as this study allows."
    )
