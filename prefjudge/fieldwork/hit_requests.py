"""HITs as requests to a crowd: the page that workers see, and who may take it."""

from collections.abc import Sequence

from prefjudge.core.asking.costs import CENT, prorated
from prefjudge.crowd.protocol import Crowd, HitRequest, Requirement
from prefjudge.errors import StudyError, quoted
from prefjudge.formats.atomic import write_text
from prefjudge.render.hit_page import (
    HitPage,
    Slot,
    fits_html_question,
    render_external_question,
    render_hit_page,
    render_html_question,
)
from prefjudge.study.gold import load_gold
from prefjudge.study.hits import StudyHit, StudySlot
from prefjudge.study.pooling import load_pairs_by_number, load_passages, load_queries
from prefjudge.study.study import Study

LOCALE = "00000000000000000071"
NUMBER_APPROVED = "00000000000000000040"
PERCENT_APPROVED = "000000000000000000L0"
PAGES_FOLDER = "pages"
"""Where pages wait for a web server that are too large for the API."""


class Pages:
    """Renders the study's HITs: holds the texts while a batch is published."""

    def __init__(self, study: Study) -> None:
        self._study = study
        with study.transaction(write=False) as db:
            self._queries, self._passages = load_queries(db), load_passages(db)
            self._gold = load_gold(db)
            self._pairs = load_pairs_by_number(db)
        wanted = {doc for _, a, b in self._pairs.values() for doc in (a, b)}
        without = [
            *(f"query {query}" for query, _, _ in self._pairs.values() if query not in self._queries),
            *(f"passage {doc}" for doc in sorted(wanted) if doc not in self._passages),
        ]
        if without:
            raise StudyError(
                f"{len(without)} of the texts to show are missing: {', '.join(without[:5])}",
                f"Run `prefjudge pool {quoted(study.folder)}` again with --queries and --collection.",
            )

    def question(self, hit: StudyHit) -> str:
        """Return the HIT's Question XML."""
        design = self._study.config.design
        reward, slots = hit.reward_cents * CENT, len(hit.slots)
        page = HitPage(
            title=self._study.config.hit.title,
            question=design.question,
            instructions=design.instructions,
            consent=design.consent,
            reward=f"${reward:.2f}" if reward else "",
            shares=tuple(f"${prorated(reward, done, slots):.2f}" for done in range(slots + 1) if reward),
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
        if slot.gold_id is not None:
            gold = self._gold[slot.gold_id]
            query, passages = gold.query, (gold.good, gold.bad)
        else:
            query_id, doc_a, doc_b = self._pairs[slot.pair_id or 0]
            query, passages = self._queries[query_id], (self._passages[doc_a], self._passages[doc_b])
        return Slot(name=slot.name, query=query, passages=passages, tokens=slot.tokens)

    def request(self, hit: StudyHit, requirements: Sequence["Requirement"]) -> "HitRequest":
        """Return the request that publishes a HIT; its token is the same each time."""
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
