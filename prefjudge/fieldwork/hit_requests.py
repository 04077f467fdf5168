"""HITs as tasks for a crowd: the page that workers see, and who may take it."""

from decimal import Decimal
from functools import lru_cache

from prefjudge.core.asking.costs import CENT, prorated
from prefjudge.core.judges.screening import BarringPolicy
from prefjudge.crowd.protocol import Crowd
from prefjudge.crowd.tasks import Eligibility, Page, Task, WorkerGroup
from prefjudge.errors import InputError
from prefjudge.fieldwork.entry_test import entry_test
from prefjudge.formats.lines.atomic import write_text
from prefjudge.render.pages.hit import Example, HitPage, Slot, render_hit_page
from prefjudge.study.config import EarlyExit
from prefjudge.study.gold import load_gold, load_practice
from prefjudge.study.hits import StudyHit, StudySlot
from prefjudge.study.pooling import load_pairs_by_number, load_passages, load_queries
from prefjudge.study.progress import Stage, lacking
from prefjudge.study.study import Study

PAGES_FOLDER = "pages"
"""The folder of pages that are too large for the crowd, for the study's own web server."""


class Pages:
    """Renders the study's HITs: holds the texts while a batch is published."""

    def __init__(self, study: Study) -> None:
        self._study = study
        with study.transaction(write=False) as db:
            self._queries, self._passages = load_queries(db), load_passages(db)
            self._gold = load_gold(db)
            practice = load_practice(db)
            self._pairs = load_pairs_by_number(db)
        pairs = tuple(
            Example(query=pair.query, better=pair.good, worse=pair.bad, reason=pair.practice)
            for pair in practice
        )
        # Who answered them in a test reads the reasons, rather than answer them again.
        tested = study.config.workers.min_practice_rate is not None
        self._practice = () if tested else pairs
        self._explained = pairs if tested else ()
        wanted = {doc for _, a, b in self._pairs.values() for doc in (a, b)}
        without = [
            *(f"query {query}" for query, _, _ in self._pairs.values() if query not in self._queries),
            *(f"passage {doc}" for doc in sorted(wanted) if doc not in self._passages),
        ]
        if without:
            what = f"{len(without)} of the texts to show are missing: {', '.join(without[:5])}"
            raise lacking(study, Stage.TEXTS, what=what)

    def page(self, hit: StudyHit, crowd: Crowd) -> Page:
        """Return the page that a HIT shows, or the address of its file where the crowd refuses the page.

        Raises
        ------
        InputError
            The crowd refuses it, and the study has no web server for it.
        """
        html, url = self._html(hit), self._study.config.design.pages_url
        fault = crowd.fault_of(html)
        if not fault:
            return Page(html=html)
        if not url:
            raise InputError(
                fault,
                "Put fewer pairs in a HIT, or serve the pages yourself: set design.pages_url in study.toml.",
            )
        name = f"{hit.hit_key}.html"
        write_text(self._study.folder / PAGES_FOLDER / name, html)
        return Page(address=f"{url.rstrip('/')}/{name}")

    def _html(self, hit: StudyHit) -> str:
        design, words = self._study.config.design, self._study.config.words
        reward = hit.reward_cents * CENT
        return render_hit_page(
            HitPage(
                title=self._study.config.hit.title,
                question=design.question,
                instructions=design.instructions,
                consent=design.consent,
                reward=f"${reward:.2f}" if reward else "",
                shares=_shares(reward, len(hit.slots), self._study.config.pay.early_exit),
                slots=tuple(self._slot(slot) for slot in hit.slots),
                layouts=hit.layouts,
                allow_ties=design.allow_ties,
                strengths=design.strengths,
                language=design.language,
                examples=(
                    *(Example(**one.model_dump()) for one in design.examples),
                    *self._explained,
                ),
                practice=self._practice,
                task=words.task,
                passage=words.passage,
                unable=design.allow_unable,
                comments=design.comments,
                keep_days=self._study.config.workers.keep_days,
            )
        )

    def _slot(self, slot: StudySlot) -> Slot:
        if slot.gold_id is not None:
            gold = self._gold[slot.gold_id]
            query, passages = gold.query, (gold.good, gold.bad)
        else:
            query_id, doc_a, doc_b = self._pairs[slot.pair_id or 0]
            query, passages = self._queries[query_id], (self._passages[doc_a], self._passages[doc_b])
        return Slot(name=slot.name, query=query, passages=passages, tokens=slot.tokens)

    def task(self, hit: StudyHit, crowd: Crowd, who: Eligibility) -> Task:
        """Return the task that a HIT is published as; its token is the same each time."""
        config = self._study.config
        return Task(
            token=self._study.opaque("create", hit.hit_key, length=48),
            key=hit.hit_key,
            page=self.page(hit, crowd),
            title=config.hit.title,
            description=config.hit.description,
            pay=hit.reward_cents * CENT,
            workers=hit.assignments,
            work_seconds=config.hit.assignment_minutes * 60,
            lifetime_seconds=config.hit.lifetime_days * 86_400,
            approval_seconds=config.hit.auto_approval_days * 86_400,
            expected_seconds=round(config.design.seconds_per_pair * len(hit.slots)),
            eligibility=who,
        )


@lru_cache(maxsize=64)
def _shares(reward: Decimal, slots: int, early_exit: EarlyExit) -> tuple[str, ...]:
    """Return what a worker is paid who stops after 0, 1, 2, … comparisons; nothing is paid for nothing."""
    if not reward:
        return ()
    whole = early_exit is EarlyExit.FULL
    shares = (reward if whole and done else prorated(reward, done, slots) for done in range(slots + 1))
    return tuple(f"${share:.2f}" for share in shares)


def eligibility(study: Study) -> Eligibility:
    """Return who may take the study's HITs."""
    workers = study.config.workers
    return Eligibility(
        locales=workers.locales,
        approved_more_than=workers.approved_more_than,
        min_approval_rate=workers.min_approval_rate,
        closed_to=(barred_group(study),) if workers.exclude_barred else (),
        limited_by=trusted_group(study) if climbs(study) else None,
        tested_by=entry_test(study),
    )


def climbs(study: Study) -> bool:
    """Return whether workers get more HITs only as fast as their work is screened."""
    return study.config.screening.policy is BarringPolicy.LADDER


def trusted_group(study: Study) -> WorkerGroup:
    """Return the group by which the study limits how many HITs a worker takes."""
    days = study.config.pay.doubt_days
    first = f" The first ones are paid once a few were, after {days:g} days at the latest." if days else ""
    return WorkerGroup(
        name=f"prefjudge {study.opaque('trusted')}",
        notice=f"How many of these tasks you may take; the number grows as your work is looked at.{first}",
    )


def barred_group(study: Study) -> WorkerGroup:
    """Return the group of the barred workers. Its name says nothing to them, and is the study's own."""
    return WorkerGroup(
        name=f"prefjudge {study.opaque('mark')}",
        notice="Held by those who have taken part as far as this study allows.",
        bars=True,
    )
