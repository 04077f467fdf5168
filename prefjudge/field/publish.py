"""Publication: pairs packed into HITs, and each HIT published exactly once."""

import json
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache, partial
from itertools import combinations, groupby
from math import isqrt
from operator import itemgetter

from prefjudge.core.gold import GoldPair, rotate_gold
from prefjudge.core.hits import (
    CENT,
    Comparison,
    Passage,
    Question,
    ask_together,
    in_order,
    pack_questions,
    plan_hit,
    prorated,
)
from prefjudge.core.judgments import BarringPolicy
from prefjudge.crowd.protocol import Crowd, Recruiting, RefusedError, Testing, UnknownError
from prefjudge.crowd.tasks import Choice, Eligibility, EntryTest, Page, Task, WorkerGroup
from prefjudge.database import Connection
from prefjudge.errors import BudgetError, ConfigError, CrowdError, InputError, StudyError
from prefjudge.field import pay as intents
from prefjudge.pages.hit import Example, HitPage, languages, render_hit_page
from prefjudge.reading.files import write_text
from prefjudge.study.assignments import count_workers, load_overlaps
from prefjudge.study.config import EarlyExit
from prefjudge.study.hits import (
    HitKey,
    HitStatus,
    SlotPair,
    StudyHit,
    StudySlot,
    delete_hit,
    hold_question,
    last_batch,
    load_hits,
    load_rewards,
    save_extension,
    save_hits,
    save_published,
)
from prefjudge.study.money import TOKEN_LIFE, Intent, intend_all, settle, void
from prefjudge.study.pools import (
    REVIEW_FILE,
    count_hidden,
    load_active_gold,
    load_gold,
    load_gold_sets,
    load_pairs_by_number,
    load_practice,
    load_queries,
    load_shown,
    refuse_marked,
)
from prefjudge.study.progress import Stage, lacking, waiting_pairs
from prefjudge.study.store import (
    HAPPENED,
    Study,
    drop_setting,
    forget_answers,
    load_setting,
    refuse_other_target,
    save_setting,
)
from prefjudge.words import many

_RETRY_SECONDS = 24 * 3600
"""How long who took the test waits for another try, which has the same pairs."""
_OFFERED = "test offered:"
"""Before a target: the setting that is there while workers are offered a test."""


def entry_test(study: Study) -> EntryTest | None:
    """Return the test that the config asks for; None where it asks for none."""
    rate = study.config.workers.min_practice_rate
    if rate is None:
        return None
    with study.transaction(write=False) as db:
        practice = load_practice(db)
    if not practice:
        raise StudyError(
            "min_practice_rate in [workers] of study.toml asks for a test, and no gold pair is for practice",
            f"Give two or three pairs a reason in the column practice of {study.folder / REVIEW_FILE}, "
            "then: prefjudge gold --accept; or delete min_practice_rate.",
        )
    design, words = study.config.design, languages()[study.config.design.language]
    notice = words["test_notice"].replace("{rate}", str(rate)).replace("{all}", str(len(practice)))
    how = words["how"].replace("{all}", str(len(practice)))
    return EntryTest(
        group=WorkerGroup(
            name=f"{words['test']} {_mark(study)}",
            notice=notice.replace("{title}", study.config.hit.title),
        ),
        intro=f"{design.instructions or how}\n\n{design.question}",
        choices=_choices(study, practice),
        min_rate=rate,
        work_seconds=study.config.hit.assignment_minutes * 60,
        retry_seconds=_RETRY_SECONDS,
    )


def _mark(study: Study) -> str:
    """Return the end of the names of the study's tests: one in each language that it was published in."""
    return study.opaque("test", length=8)


def note_test(study: Study, target: str) -> None:
    """Remember that workers are offered a test, before it is made."""
    with study.transaction() as db:
        save_setting(db, f"{_OFFERED}{target}", _mark(study))


def end_tests(study: Study, crowd: Crowd, target: str) -> None:
    """Offer the test no more, as every pair is judged; the next ``publish`` offers it again."""
    with study.transaction(write=False) as db:
        mark = load_setting(db, f"{_OFFERED}{target}")
    if mark is None or not isinstance(crowd, Testing):
        return
    crowd.end_tests(mark)
    with study.transaction() as db:  # after the call: one that was interrupted is repeated
        drop_setting(db, f"{_OFFERED}{target}")


def _choices(study: Study, practice: tuple[GoldPair, ...]) -> tuple[Choice, ...]:
    """Return the questions, in an order that tells nothing; half of the right answers come first."""
    # So who always takes the first passage gets half of them. Key, order and side are the same each time: a
    # test that has not changed is not sent again.

    def mark(pair: GoldPair, what: str) -> str:
        return study.opaque("test", what, pair.query, pair.good, pair.bad)

    sides = {pair: number % 2 for number, pair in enumerate(sorted(practice, key=lambda p: mark(p, "side")))}
    return tuple(
        Choice(
            key=mark(pair, "key"),
            text=pair.query,
            options=(pair.bad, pair.good) if sides[pair] else (pair.good, pair.bad),
            right=sides[pair],
        )
        for pair in sorted(practice, key=lambda p: mark(p, "key"))
    )


def refuse_test(crowd: Crowd, test: EntryTest | None) -> None:
    """Refuse a test that the crowd cannot give, before anything is published."""
    if test is None:
        return
    if not isinstance(crowd, Testing):
        raise ConfigError(
            f"{crowd.endpoint} cannot test workers, as min_practice_rate in [workers] of study.toml asks",
            "Delete min_practice_rate: newcomers practise in their first HIT.",
        )
    if fault := crowd.fault_of_test(test):
        raise InputError(fault, "Choose fewer or shorter gold pairs for practice.")


# Keeps workers from HITs whose pairs they have judged before: a second vote of theirs would not count.

_NOTICE = "Held by those who have judged some of these passages before."


def exclude_earlier(
    study: Study, crowd: Crowd, hits: Sequence[StudyHit]
) -> dict[str, tuple[WorkerGroup, ...]]:
    """Put the workers who should not take a HIT into a group of the HIT's own; return it by the HIT's key."""
    # The HITs are of one target. A repeat is harmless. HITs whose pairs are new to everyone need no group.
    with study.transaction(write=False) as db:
        overlaps = load_overlaps(db, hits[0].target, [hit.hit_key for hit in hits])
        known = count_workers(db, hits[0].target) if overlaps else 0
    groups: dict[str, tuple[WorkerGroup, ...]] = {}
    for hit in hits:
        pairs = sum(slot.pair_id is not None for slot in hit.slots)
        earlier = choose_excluded(overlaps.get(hit.hit_key, ()), pairs=pairs, known=known)
        group = WorkerGroup(name=f"prefjudge {study.opaque('earlier', hit.hit_key)}", notice=_NOTICE)
        for worker in earlier:
            with suppress(UnknownError):  # who came after the backup that the marketplace was restored from
                crowd.bar(worker, group)
        groups[hit.hit_key] = (group,) if earlier else ()
    return groups


def choose_excluded(overlap: Sequence[tuple[str, int]], *, pairs: int, known: int) -> tuple[str, ...]:
    """Return who may not take a HIT."""
    ranked = sorted(overlap, key=lambda found: (-found[1], found[0]))
    whole = sum(count >= pairs for _, count in ranked)
    return tuple(worker for worker, _ in ranked[: max(whole, known // 2)])


# HITs as tasks for a crowd: the page that workers see, and who may take it.

PAGES_FOLDER = "pages"
"""The folder of pages that are too large for the crowd, for the study's own web server."""


_UNKNOWN = Passage("")


class Pages:
    """Renders the study's HITs: holds the texts while a batch is published."""

    def __init__(self, study: Study) -> None:
        self._study = study
        with study.transaction(write=False) as db:
            self._queries, self._passages = load_queries(db), load_shown(db)
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
        """Return the page that a HIT shows, or the address of its file where the crowd refuses the page."""
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

    def _slot(self, slot: StudySlot) -> Comparison:
        query, passages = "", dict[str, Passage]()
        for pair in slot.pairs:
            if pair.gold_id is not None:
                gold = self._gold[pair.gold_id]
                good, bad = (self._passages.get(one, _UNKNOWN) for one in (gold.good_id, gold.bad_id))
                query, both = gold.query, (replace(good, text=gold.good), replace(bad, text=gold.bad))
            else:
                query_id, doc_a, doc_b = self._pairs[pair.pair_id or 0]
                query, both = self._queries[query_id], (self._passages[doc_a], self._passages[doc_b])
            passages |= dict(zip(pair.tokens, both, strict=True))
        return Comparison(
            name=slot.name, query=query, passages=tuple(passages.values()), tokens=slot.passages
        )

    def _shown(self, hit: StudyHit) -> Iterator[Comparison]:
        """Yield the comparisons as a layout shows them: as stored, the good passage of gold comes first."""
        layout = hit.layouts[0]
        for place in layout.order:
            slot = self._slot(hit.slots[place])
            shown = in_order(layout.swapped[place], len(slot.tokens))
            yield replace(
                slot,
                passages=tuple(slot.passages[number] for number in shown),
                tokens=tuple(slot.tokens[number] for number in shown),
            )

    def task(self, hit: StudyHit, crowd: Crowd, who: Eligibility) -> Task:
        """Return the task that a HIT is published as; its token is the same each time."""
        config = self._study.config
        return Task(
            token=self._study.opaque("create", hit.hit_key, length=48),
            key=hit.hit_key,
            page=self.page(hit, crowd),
            comparisons=tuple(self._shown(hit)),
            title=config.hit.title,
            description=config.hit.description.replace(
                "two passages", "two passages" if config.hit.passages == 2 else "several passages"
            ),
            pay=hit.reward_cents * CENT,
            workers=hit.assignments,
            work_seconds=config.hit.assignment_minutes * 60,
            lifetime_seconds=config.hit.lifetime_days * 86_400,
            approval_seconds=config.hit.auto_approval_days * 86_400,
            expected_seconds=round(config.design.seconds_per_pair * pairs_to_read(hit)),
            eligibility=who,
        )


def pairs_to_read(hit: StudyHit) -> float:
    """Return how many pairs take as long as a HIT: of three passages one and a half."""
    return sum(len(slot.passages) for slot in hit.slots) / 2


@lru_cache(maxsize=64)
def _shares(reward: Decimal, slots: int, early_exit: EarlyExit) -> tuple[str, ...]:
    """Return what a worker is paid who stops after 0, 1, 2, … comparisons; nothing is paid for nothing."""
    if not reward:
        return ()
    whole = early_exit is EarlyExit.FULL
    shares = (reward if whole and done else prorated(reward, done, slots) for done in range(slots + 1))
    return tuple(f"${share:.2f}" for share in shares)


def eligibility(study: Study, *, newcomers: bool = True) -> Eligibility:
    """Return who may take the study's HITs, or those that are not for newcomers."""
    workers = study.config.workers
    return Eligibility(
        locales=workers.locales,
        approved_more_than=workers.approved_more_than,
        min_approval_rate=workers.min_approval_rate,
        closed_to=(barred_group(study),) if workers.exclude_barred else (),
        limited_by=trusted_group(study) if climbs(study) else None,
        newcomers=newcomers,
        tested_by=entry_test(study),
    )


def climbs(study: Study) -> bool:
    """Return whether workers get more HITs only as fast as their work is screened."""
    return study.config.screening.policy is BarringPolicy.LADDER


def trusted_group(study: Study) -> WorkerGroup:
    """Return the group by which the study limits how many HITs a worker takes."""
    days = study.config.pay.doubt_days
    first = f" The first are paid once a few are checked, after {days:g} days at the latest." if days else ""
    return WorkerGroup(
        name=f"prefjudge {study.opaque('trusted')}",
        notice=f"How many of these tasks you may take; the number grows as your work is checked.{first}",
    )


def barred_group(study: Study) -> WorkerGroup:
    """Return the group of the barred workers. Its name says nothing to them, and is the study's own."""
    return WorkerGroup(
        name=f"prefjudge {study.opaque('mark')}",
        notice="Held by those who have taken part as far as this study allows.",
        bars=True,
    )


# Publication: each HIT is published exactly once, also when a call is interrupted.

Progress = Callable[[int, int], None]
_TOGETHER = 20
"""HITs that are recorded together: enough that the disk waits little, few to look for after a kill."""


def interrupted_hits(study: Study, target: str) -> tuple[StudyHit, ...]:
    """Return the HITs whose publication was interrupted: the marketplace may have them, or not."""
    with study.transaction(write=False) as db:
        refuse_other_target(db, target)
        return tuple(load_hits(db, target, HitStatus.PLANNED))


def publish_hits(
    study: Study,
    crowd: Crowd,
    hits: Sequence[StudyHit],
    progress: Progress | None = None,
    *,
    newcomers: bool = True,
) -> None:
    """Publish HITs, each exactly once; those that are not reached are not recorded, and planned again."""
    if not hits:
        return
    pages, who = Pages(study), eligibility(study, newcomers=newcomers)
    refuse_test(crowd, who.tested_by)
    if who.tested_by:
        note_test(study, hits[0].target)
    for start in range(0, len(hits), _TOGETHER):
        some = hits[start : start + _TOGETHER]
        # before anything is intended: a page may be one that the crowd does not take
        tasks = [pages.task(hit, crowd, who) for hit in some]
        refused = _publish_together(study, crowd, some, tasks, partial(_tell, progress, start, len(hits)))
        if refused:
            raise refused


def _publish_together(
    study: Study, crowd: Crowd, hits: Sequence[StudyHit], tasks: Sequence[Task], tell: Callable[[int], None]
) -> BudgetError | None:
    """Publish HITs as far as the budget allows; return why not all of them."""
    asked = [intents.creation(study, crowd.prices, hit) for hit in hits]
    with study.transaction() as db:
        known, refused = intend_all(db, asked, budget=study.config.budget)
        new = _new(asked, known)
        if fresh := [hit for hit, intent in zip(hits, known, strict=False) if intent.token in new]:
            forget_answers(db, fresh[0].target)
            hold_question(study, db, fresh[0].target)
            save_hits(db, fresh)
    earlier: dict[str, tuple[WorkerGroup, ...]] = {}

    def prepare() -> None:
        earlier.update(exclude_earlier(study, crowd, hits[: len(known)]))

    def publish(number: int) -> str:
        who = tasks[number].eligibility
        closed = (*who.closed_to, *earlier[tasks[number].key])
        task = replace(tasks[number], eligibility=replace(who, closed_to=closed))
        hit_id = _publish_one(crowd, task, known[number])
        tell(number + 1)
        return hit_id

    def keep(db: Connection, number: int, hit_id: str) -> None:
        save_published(db, hits[number].hit_key, hit_id, time.time())

    def forget(db: Connection, number: int) -> None:
        delete_hit(db, hits[number].hit_key)

    if known:
        _call_each(study, known, new, publish, keep, forget=forget, prepare=prepare)
    return refused


def _new(asked: Sequence[Intent], known: Sequence[Intent]) -> set[str]:
    """Return the tokens of the intents that no interrupted call has recorded before."""
    return {found.token for intent, found in zip(asked, known, strict=False) if found is intent}


def _call_each(
    study: Study,
    known: Sequence[Intent],
    new: Collection[str],
    call: Callable[[int], str],
    keep: Callable[[Connection, int, str], None],
    *,
    forget: Callable[[Connection, int], None] = lambda *_: None,
    prepare: Callable[[], None] = lambda: None,
) -> None:
    """Make each intent's call, by its number; then record together what came of them, failures too."""
    # Taken back is the intent of a call that was refused, and those `new` here that were not reached. What
    # came of a call that failed nobody knows: its intent stays, and a repeat finds what it made.
    made: list[str] = []
    begun, failed = 0, None
    try:
        prepare()
        for number in range(len(known)):
            begun += 1
            made.append(call(number))
    except CrowdError as error:
        failed = error
    undone = [number for number in range(begun, len(known)) if known[number].token in new]
    if begun and isinstance(failed, RefusedError):
        undone.append(begun - 1)
    with study.transaction() as db:
        for number, outcome in enumerate(made):
            settle(db, known[number].token, outcome, time.time())
            keep(db, number, outcome)
        for number in undone:
            void(db, known[number].token)
            forget(db, number)
    if failed:
        raise failed


def _publish_one(crowd: Crowd, task: Task, intent: Intent) -> str:
    """Publish a HIT, or find it where the crowd may have forgotten the token of the first call."""
    # From an hour before the token expires the crowd is searched first: a call with an expired token would
    # publish, and pay for, a second HIT.
    if time.time() - intent.intended > TOKEN_LIFE - 3600 and (found := _find(crowd, task.key)):
        return found
    try:
        return crowd.publish(task)
    except RefusedError:
        if found := _find(crowd, task.key):  # an earlier call made it, and the config has changed since
            return found
        raise


def _tell(progress: Progress | None, before: int, of: int, done: int) -> None:
    if progress:
        progress(before + done, of)


def _find(crowd: Crowd, key: str) -> str | None:
    return next((listed.task_id for listed in crowd.tasks() if listed.key == key), None)


# Extensions: a HIT is asked of one more worker for each assignment that was dropped whole.


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """The ``number``-th additional assignment of a HIT; without a ``call`` the crowd has it already."""

    hit: StudyHit
    number: int
    call: bool


def extend_hits(
    study: Study, crowd: Crowd, wanted: Sequence[Extension]
) -> tuple[Sequence[Extension], BudgetError | None]:
    """Extend HITs as far as the budget allows; return what was extended, and why not all of it."""
    # Of what a killed process leaves, the crowd tells how many assignments a HIT has.
    if not wanted:
        return (), None
    wanted = sorted(wanted, key=lambda one: one.call)  # what the crowd has is recorded, whatever the budget
    asked = [intents.extension(study, crowd.prices, one.hit, one.number) for one in wanted]
    with study.transaction() as db:
        known, refused = intend_all(db, asked, budget=study.config.budget)

    def extend(number: int) -> str:
        if wanted[number].call:
            crowd.extend(wanted[number].hit.hit_id or "", 1, token=known[number].token)
        return "extended"

    def keep(db: Connection, number: int, _: str) -> None:
        save_extension(db, wanted[number].hit.hit_key)

    _call_each(study, known, _new(asked, known), extend, keep)
    return wanted[: len(known)], refused


# Packs the pairs that wait into HITs.

_LAYOUTS = 4
"""How many ways there are to show a HIT, so that its workers see different sides."""
_PLACES = ("first", "second", "third", "fourth", "fifth")


def plan_batch(study: Study, target: str) -> tuple[StudyHit, ...]:
    """Return the HITs for the waiting pairs; nothing is recorded."""
    with study.transaction(write=False) as db:
        known = {pair: number for number, pair in load_pairs_by_number(db).items()}
        passages = study.config.hit.passages
        waiting = ask_together(waiting_pairs(db, target), known, passages)
        active, used = load_active_gold(db), count_hidden(db, target)
        gold = load_gold_sets(db, passages)
        refuse_marked(db, active.values())
        batch = last_batch(db) + 1
    if not known:
        raise lacking(study, Stage.POOL)
    if not waiting:
        return ()
    design = study.config.design
    if len(gold) < design.gold_per_hit:
        raise lacking(study, Stage.GOLD)
    rng = study.hidden_rng("batch", batch)
    packed = [
        (members, votes)
        # by the votes that they still need: a HIT has as many assignments
        for votes, group in groupby(sorted(waiting, key=itemgetter(0)), itemgetter(0))
        for members in pack_questions([asked for _, asked in group], design.pairs_per_hit, rng=rng)
    ]
    # All pairs of a decoy, or none: else it stands in fewer pairs than candidates do.
    bad = {number: (active[number].query_id, active[number].bad_id) for number in gold}
    decoys = sorted(set(bad.values()))
    place = dict(zip(decoys, rng.permutation(len(decoys)).tolist(), strict=True))
    gold_ids = sorted(gold, key=lambda k: (used.get(k, 0), place[bad[k]]))
    gold_ids = gold_ids[: design.gold_per_hit * len(packed)]
    dealt = rotate_gold(
        len(gold_ids),
        design.gold_per_hit,
        len(packed),
        rng=rng,
        used=[used.get(number, 0) for number in gold_ids],
    )
    return tuple(
        _study_hit(study, target, batch, number, questions, [gold[gold_ids[g]] for g in hidden], votes)
        for number, ((questions, votes), hidden) in enumerate(zip(packed, dealt, strict=True), start=1)
    )


def tell_reward(study: Study, target: str, hits: Sequence[StudyHit]) -> tuple[str, ...]:
    """Say that HITs to publish pay another reward than the last ones did."""
    with study.transaction(write=False) as db:
        before = load_rewards(db, target)[-1:]
    now = [hits[-1].reward_cents] if hits else before
    if before == now or not before:
        return ()
    return (f"a HIT pays ${now[0] / 100:.2f} now; the last ones paid ${before[0] / 100:.2f}",)


def _study_hit(
    study: Study,
    target: str,
    batch: int,
    number: int,
    questions: Sequence[Question],
    gold: Sequence[Question],
    votes: int,
) -> StudyHit:
    config = study.config
    opaque = study.opaque("hit", batch, number, length=24)
    key = str(HitKey(mark=study.mark, batch=batch, number=number, assignments=votes, opaque=opaque))
    # A stream for each HIT: what one page shows tells nothing about the places of gold pairs in another.
    rng = study.hidden_rng("hit", opaque)
    sizes = [1 + isqrt(2 * len(question)) for question in questions]
    # As many passages as the others have: their number tells no gold.
    of_gold = rng.choice(sizes, len(gold)).tolist() if max(sizes) > 2 else [2] * len(gold)
    plan = plan_hit(
        range(len(questions)), range(len(gold)), layouts=_LAYOUTS, passages=(*sizes, *of_gold), rng=rng
    )

    def slot(place: int, k: int) -> StudySlot:
        size = (*sizes, *of_gold)[k]
        tokens = [study.opaque(opaque, place, word) for word in _PLACES[:size]]
        if k < len(questions):
            both = combinations(tokens, 2)
            pairs = [SlotPair(number, None, two) for number, two in zip(questions[k], both, strict=True)]
        else:
            bad = zip(gold[k - len(questions)], tokens[1:], strict=False)
            pairs = [SlotPair(None, number, (tokens[0], token)) for number, token in bad]
        return StudySlot(name=study.opaque(opaque, place), **pairs[0]._asdict(), more=tuple(pairs[1:]))

    return StudyHit(
        hit_key=key,
        batch=batch,
        number=number,
        target=target,
        assignments=votes,
        reward_cents=int(config.hit.reward / CENT),
        layouts=plan.layouts,
        slots=tuple(slot(place, k) for place, k in enumerate(plan.slots)),
    )


# Tells a crowd whose people come from elsewhere when more may come, and when to pay them there.


def recruit(study: Study, crowd: Crowd) -> tuple[str, ...]:
    """Let as many people come as the published tasks need; return what keeps them away."""
    return _noted(study, crowd.recruit()) if isinstance(crowd, Recruiting) else ()


def steer(study: Study, crowd: Recruiting, *, stop: bool | None, places: int | None) -> tuple[str, ...]:
    """Stop those who come from elsewhere, or let them come; return how it stands there."""
    return _noted(study, crowd.steer(stop=stop, places=places))


def plan_recruiting(study: Study, crowd: Crowd, hits: Sequence[StudyHit]) -> tuple[str, ...]:
    """Return the calls by which people would be asked for, to show before anything is published."""
    if not hits or not isinstance(crowd, Recruiting):
        return ()
    people: Recruiting = crowd
    example = Pages(study).task(hits[0], crowd, eligibility(study))
    return tuple(people.plan(example, sum(hit.assignments for hit in hits)))


def settle_elsewhere(
    study: Study, crowd: Crowd, *, held: bool = False, dry_run: bool = False, heeds: str = ""
) -> tuple[Decimal | None, tuple[str, ...]]:
    """Pay people where they come from, where somebody else pays than who has decided."""
    # Returns what was paid there, how it stands, and what a person decided, which stands; with `held` what
    # was refused there is paid. What fails is raised last: of any assignment, or of the one that it `heeds`.
    if not isinstance(crowd, Recruiting):
        return None, ()
    paid, happened, unpaid = crowd.settle(held=held, dry_run=dry_run)
    if dry_run:
        return None, happened
    _noted(study, happened)
    if errors := [*dict.fromkeys(error for one, error in unpaid.items() if heeds in ("", one))]:
        raise CrowdError(
            f"{many(len(errors), 'submission is', 'submissions are')} not paid: {errors[0].message}",
            f"{errors[0].hint or 'Fix the cause, then pay again.'} ${paid} was paid just now; `prefjudge "
            "status` says how all others stand.",
        )
    return paid, happened


def _noted(study: Study, happened: tuple[str, ...]) -> tuple[str, ...]:
    with study.transaction() as db:
        save_setting(db, HAPPENED, json.dumps(happened))
    return happened
