"""Pays participants at Prolific for what the study has decided: each visit once, whatever happens in between.

A whole visit is approved, which Prolific does once however often it is asked. Work in part is approved in
part where the workspace can do that; else a bonus pays it, and the participant is asked to return the
submission. What a person decided on Prolific's pages stands: what was approved there has its reward, and what
was rejected there gets nothing before a person says so here. To pay a bonus is **not** idempotent: it is
recorded as asked for before the one call that pays, and that call is never made again. Prolific shows it some
minutes later; one that does not show is left to a person, and no other is asked for before it shows.
"""

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import Any

from prefjudge.crowd.mturk.crowd import Fees
from prefjudge.crowd.prolific.client import (
    Client,
    Found,
    LostReplyError,
    Site,
    Submission,
    Visit,
    moment_of,
)
from prefjudge.crowd.protocol import CrowdSettings, RefusedError
from prefjudge.errors import CrowdError
from prefjudge.words import many

CENT = Decimal("0.01")
_HUNDRED = 10_000
"""A reward in cents of which the cost shows the account's fee and VAT to a hundredth of a percent."""


def fees_of(rate: Decimal) -> Fees:
    """Return the prices by the config's rate alone, for plans: nothing is asked of Prolific."""
    return Fees(rate=rate, many_rate=Decimal(0), minimum=Decimal("0.00"))


class CalculatedPrices:
    """Implements :class:`~prefjudge.crowd.protocol.Prices` with what Prolific's calculator says.

    A participant is paid for ``hits`` HITs at once.
    """

    def __init__(self, client: Client, hits: int) -> None:
        self.client, self.hits = client, hits
        self._known: dict[tuple[int, int], int] = {}

    def place(self, reward: int, places: int = 1) -> int:
        """Return the cents that so many participants cost together whose reward is so many."""
        asked = (reward, places)
        if reward and asked not in self._known:
            body = {"reward": reward, "total_available_places": places}
            found = self.client.call("POST", "/api/v1/study-cost-calculator/", body)
            try:
                self._known[asked] = int(Decimal(str(found["total_cost"])).to_integral_value(ROUND_HALF_UP))
            except (KeyError, TypeError, ArithmeticError) as error:
                raise self.client.odd("a cost") from error
        return self._known.get(asked, 0)

    def submission(self, pay: Decimal, workers: int) -> Decimal:
        """Return what one HIT of a participant costs: an equal part, rounded up to the cent."""
        cost = Decimal(self.place(int(pay * self.hits / CENT))) / self.hits
        return cost.to_integral_value(ROUND_CEILING) * CENT

    def bonus(self, amount: Decimal) -> Decimal:
        """Return what a bonus costs, at the account's fee and VAT."""
        try:
            return self.place(int((amount / CENT).to_integral_value(ROUND_HALF_UP))) * CENT
        except RefusedError:  # less than Prolific takes for a reward
            return (amount * self.place(_HUNDRED) / _HUNDRED).quantize(CENT, ROUND_HALF_UP)


# Paying.

CATEGORIES = (
    "TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK", "LOW_EFFORT",
    "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER",
)  # fmt: skip
"""Why a submission may be rejected, by Prolific's names."""
_LEAST_MESSAGE = 100
_PADDING = (
    " A person has looked at your answers before this decision. If you think that it is wrong, please answer "
    "this message, and we will look again."
)
_PATIENCE = 3600.0
"""Seconds after which a bonus that was asked for should be seen; Prolific says that it takes some minutes."""
_SOON = " and not seen yet on Prolific: that takes some minutes"
_LATE = (
    " over an hour ago and not seen on Prolific: look at the study's submissions there, and pay by hand what "
    "is missing; the next `prefjudge pay` finds it, and asks for nothing again"
)
_LATE_REJECTED = (
    " over an hour ago and not seen on Prolific, where a person has rejected the submission since: nothing "
    "more is paid from here, so pay by hand what is owed"
)
_LEAST_SHARE, _MOST_SHARE = 8, 99
"""Percent of the reward that Prolific approves in part."""
_WHY_PART = "Paid for the tasks that you did: you stopped early, or there were no more for you."
_WEEK = 7 * 86_400.0
_MOST_NAMED = 20
_MOST_FAILED = 3
"""After so many visits in a row that Prolific gives no answer about, the others wait for the next look."""
_WHY_BACK = (
    "Not all tasks of this submission were done and accepted: you stopped early, or there were no more for "
    "you. What you did is paid by a bonus, so please return the submission."
)
"""True of everybody who did a part: Prolific's page is the first that says so to who took the last HIT."""
_WHY_PAID = "What you did is paid by a bonus, so please return the submission."


class Act(StrEnum):
    """What is done for a visit, by its submission's status on Prolific and what was decided here."""

    WAIT = "wait"
    """Something of it is still to come, such as the code, or a decision."""
    APPROVE = "approve"
    """Approve it, which pays the reward."""
    PART = "part"
    """Approve it in part where the workspace can; else pay a bonus, and ask to return the submission."""
    BONUS = "bonus"
    """Pay what is owed beyond what Prolific has paid."""
    STANDS = "stands"
    """A person, or time, has decided on Prolific: record it, and pay nothing on top."""
    REFUSED = "refused"
    """A person has rejected it on Prolific: nothing is paid without a word here."""


_OVER = ("RETURNED", "TIMED-OUT", "SCREENED OUT", "APPROVED", "PARTIALLY APPROVED")
"""What Prolific does not reject any more: the work is rejected here alone."""
_UNDER_WAY = ("RESERVED", "ACTIVE", "UNKNOWN", "")


def act_on(status: str, visit: Visit, reward: Decimal) -> Act:
    """Return what is done for a visit whose submission has this status; ``reward`` is the study's."""
    if status in _UNDER_WAY or not visit.decided or not visit.earned:
        return Act.WAIT
    if status == "REJECTED" and visit.due:
        return Act.REFUSED
    if status in ("APPROVED", "PARTIALLY APPROVED"):
        return Act.BONUS if visit.earned > approved_for(status, visit, reward) else Act.STANDS
    if status == "AWAITING REVIEW" and not visit.payments:
        return Act.APPROVE if visit.whole or visit.earned >= reward else Act.PART
    return Act.BONUS


def approved_for(status: str, visit: Visit, reward: Decimal) -> Decimal:
    """Return how much of what a visit has earned Prolific's approval pays; the rest is for bonuses."""
    if status == "APPROVED":
        return reward
    if status == "PARTIALLY APPROVED" and not visit.payments:  # by a person, who has looked at the work
        return min(visit.earned, reward)
    return visit.approved_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Payments:
    """The payments for the visits of one study; the account of the ``workspace`` pays."""

    client: Client
    site: Site
    study: Found
    workspace: str
    part_code: str
    """The code by which a researcher approves a submission in part."""
    settings: CrowdSettings
    """By which messages name the study and its workers."""

    def settle(
        self, visits: Sequence[Visit], listed: Mapping[str, Submission], *, held: bool = False
    ) -> tuple[Decimal, tuple[str, ...], dict[str, CrowdError]]:
        """Pay what is decided and not paid yet.

        Returns how much that was, without fees; what a person decided at Prolific, in sentences; and why
        assignments are not paid whose pay failed, by their ids.
        """
        happened, unpaid = Happened(self.settings.study), dict[str, CrowdError]()
        visits = [self._count_part(visit, visits, listed) for visit in visits]
        reward, failed = self.study.reward * CENT, 0
        met = {visit.session for visit in visits}
        happened.until = self.site.restored - self.site.ahead + _PATIENCE
        for visit in visits:
            status = listed[visit.session].status if visit.session in listed else ""
            who = f"worker {self.settings.pseudonym(visit.worker_id)}"
            try:
                act = self._act_twice(visit, status, reward, happened, held=held)
            except CrowdError as error:
                why = f"{error.message.rstrip('.')}. {error.hint}".strip()
                happened.failed.setdefault(why, []).append(who)
                unpaid |= dict.fromkeys(visit.assignments, error)
                failed = 0 if isinstance(error, RefusedError) else failed + 1
                if failed == _MOST_FAILED:
                    break
                continue
            failed = 0
            approved = status in ("APPROVED", "PARTIALLY APPROVED")
            happened.for_nothing += approved and visit.decided and not visit.earned
            unapproved = act not in (Act.APPROVE, Act.STANDS)
            if status == "AWAITING REVIEW" and unapproved and not visit.to_review:
                happened.waiting.append((listed[visit.session].approved_on, who))
        happened.forgotten += [visit.due for visit in visits if visit.due and not visit.participant]
        happened.waiting += [
            (one.approved_on, "somebody whom the worker site does not know")
            for session, one in listed.items()
            if one.status == "AWAITING REVIEW" and session not in met
        ]
        return happened.paid, happened.sentences(), unpaid

    def _act_twice(
        self, visit: Visit, status: str, reward: Decimal, happened: "Happened", *, held: bool
    ) -> Act:
        """Do what `_act` does; once more where it was refused as the submission has just become another."""
        try:
            return self._act(visit, status, reward, happened, held=held)
        except RefusedError:
            now, _, _ = self.read(visit.session)
            if now == status:
                raise
        return self._act(visit, now, reward, happened, held=held)

    def _act(self, visit: Visit, status: str, reward: Decimal, happened: "Happened", *, held: bool) -> Act:
        """Do what is to be done for one visit; return what it was."""
        act, shown, asked_back = act_on(status, visit, reward), Decimal(0), True
        if act is not Act.WAIT and (visit.due or visit.asked):  # the list is older than what is done by it
            status, shown, asked_back = self.read(visit.session)
            act = act_on(status, visit, reward)
            if act is Act.APPROVE and shown and asked_back:  # a bonus replaces the reward, known here or not
                act = Act.BONUS
        if self._rests and visit.due and asked_back and not shown and act in (Act.APPROVE, Act.PART):
            happened.resting.append(visit.due)  # a bonus that is forgotten here may replace it
            return act
        if act is Act.REFUSED:
            rest = _rest_of(visit, shown)
            if held and self._rests:
                happened.resting += [rest] * bool(rest)
            elif held:
                # the rejection of what a bonus pays stays: once taken back, Prolific approves it in full
                whole = act_on("AWAITING REVIEW", visit, reward) is Act.APPROVE
                if whole and self.unreject(visit.session):
                    act = Act.APPROVE
                else:
                    status, shown, asked_back = self.read(visit.session)
                    act = act_on(status, visit, reward)
                if rest and act in (Act.APPROVE, Act.REFUSED):
                    happened.overruled.append((rest, act is Act.APPROVE))
            if rest and (self._rests or not held):
                happened.rejected.append(rest)
                if (unseen := visit.asked - max(shown, visit.asked - visit.unseen)) > 0:
                    told = self._when_unseen(visit.paid, status)
                    happened.unseen.append((unseen, Decimal(0), told))
                return act
            act = Act.BONUS if act is Act.REFUSED else act
        if act is Act.APPROVE:
            self._decide(visit.session, {"action": "APPROVE"})
            status = "APPROVED"
            happened.paid += reward
        elif act is Act.PART and not shown and self._approve_part(visit):
            happened.paid += visit.earned
            return Act.STANDS
        if act is Act.WAIT:
            return act
        if status == "AWAITING REVIEW" and not asked_back:
            self._ask_back(visit)
        by_approval, partly = approved_for(status, visit, reward), status == "PARTIALLY APPROVED"
        if visit.due and by_approval > visit.approved_for:
            self.site.note_paid(visit.number, "by hand" if partly else "approval")
        owed = visit.earned - by_approval
        self._pay_bonus(visit, owed, status, shown, happened)
        if status == "APPROVED" and visit.asked and shown > max(owed, Decimal(0)):
            happened.twice.append((shown, shown - owed))
        else:
            happened.whole += owed < 0 and not visit.whole
        happened.parts += partly and (visit.by_hand or not visit.approved_for)  # others are from here
        happened.in_part += act is Act.STANDS and partly and visit.whole
        happened.returned += status == "RETURNED" and visit.whole
        return act

    def foresee(self, visits: Sequence[Visit], listed: Mapping[str, Submission]) -> tuple[str, ...]:
        """Return what `settle` would pay with ``held`` for what was rejected there; nothing is done."""
        each, reward = list[tuple[Decimal, bool]](), self.study.reward * CENT
        for visit in visits:
            status = listed[visit.session].status if visit.session in listed else ""
            if act_on(status, visit, reward) is Act.REFUSED:
                _, shown, _ = self.read(visit.session)
                whole = act_on("AWAITING REVIEW", visit, reward) is Act.APPROVE and not shown
                each += [(_rest_of(visit, shown), whole)] if _rest_of(visit, shown) else []
        return tuple(_overruled(each, "would be paid"))

    def _approve_part(self, visit: Visit) -> bool:
        """Approve a submission for a part of its reward; False where Prolific does not offer that.

        A repeat is harmless. The share has decimals, so that it pays to the cent.
        """
        share = round(visit.earned / (self.study.reward * CENT) * 100, 4)
        if not _LEAST_SHARE <= share <= _MOST_SHARE:
            return False
        told = {"percentage_of_reward": float(share), "message_to_participant": _WHY_PART}
        try:
            self._decide(
                visit.session,
                {"action": "COMPLETE", "completion_code": self.part_code, "completion_code_data": told},
            )
        except RefusedError:
            return False
        self.site.note_paid(visit.number, "approval")
        return True

    def _pay_bonus(
        self, visit: Visit, owed: Decimal, status: str, shown: Decimal, happened: "Happened"
    ) -> None:
        """Pay what is missing of all bonuses that are owed; what was asked for before is only looked for."""
        settled = max(shown, visit.asked - visit.unseen)
        told = self._when_unseen(visit.paid, status)
        lost = told != _SOON and not shown and 0 < visit.unseen == sum(visit.payments)
        if lost and status == "PARTIALLY APPROVED":
            self.site.note_paid(visit.number, "replaced")  # by what a person has approved since
            return
        if (unseen := min(visit.asked, owed) - settled) > 0:
            happened.unseen.append((unseen, owed - settled - unseen, told))
            return
        if visit.unseen:
            self.site.note_paid(visit.number, "seen")
        missing = owed - settled
        if owed <= 0 or not visit.due:
            return
        if missing <= 0:  # an own call is recorded before it is made
            happened.by_hand += shown > visit.asked
            for by in ("bonus", "seen"):
                self.site.note_paid(visit.number, by)
            return
        if self._rests:
            happened.resting.append(missing)
            return
        amount = missing.quantize(CENT)
        asked = {"study_id": self.study.study_id, "csv_bonuses": f"{visit.session},{amount}\n"}
        # Setting up pays nothing: one that is never paid does no harm, so a repeat does none either.
        bulk = self.client.call("POST", "/api/v1/submissions/bonus-payments/", asked)
        cost = bulk.get("total_amount") if isinstance(bulk, dict) and "id" in bulk else None
        if not isinstance(cost, (int, float)):
            raise self.client.odd("a bonus")
        self._refuse_unpaid(cost)
        if self.read(visit.session)[:2] != (status, shown):
            return  # a person has decided meanwhile, which the next look settles
        if not self.site.note_paid(visit.number, "bonus"):
            return  # another process has asked for it since this one looked
        try:
            self.client.call("POST", f"/api/v1/bulk-bonus-payments/{bulk['id']}/pay/", again=False)
            happened.paid += amount
        except LostReplyError:
            pass
        except CrowdError:  # Prolific did nothing: it may be asked again
            self.site.note_paid(visit.number, "refused")
            raise
        now, seen = status, shown
        with suppress(CrowdError):  # else the next look names it
            now, seen, _ = self.read(visit.session)
        if seen < shown + amount:
            happened.unseen.append((amount, Decimal(0), _SOON))
        if now == "APPROVED" != status:  # by a person, meanwhile
            paid = visit.asked + amount
            happened.twice.append((paid, paid + self.study.reward * CENT - visit.earned))

    def _when_unseen(self, asked: str, status: str) -> str:
        """Return what to say of a bonus that was ``asked`` for then, by the clock that recorded it."""
        if self.site.age(moment_of(asked)) <= _PATIENCE:
            return _SOON
        return _LATE_REJECTED if status == "REJECTED" else _LATE

    @property
    def _rests(self) -> bool:
        """Whether bonuses may be under way that the worker site has forgotten, as it was just restored."""
        return self.site.age(self.site.restored) < _PATIENCE

    def _count_part(self, visit: Visit, visits: Sequence[Visit], listed: Mapping[str, Submission]) -> Visit:
        """Record what a person has approved in part beside a bonus; return the visit with that.

        Prolific tells only the sum of all rewards, so that of two such parts nobody knows which got what.
        """
        if not (visit.asked and visit.due) or visit.by_hand:
            return visit
        counts, reward = Counter(one.status for one in listed.values()), self.study.reward * CENT
        parts = [one for one in visits if one.session in listed and "PARTIALLY" in listed[one.session].status]
        by_hand = [one for one in parts if one.by_hand or not one.approved_for]
        if by_hand != [visit] or len(parts) != counts["PARTIALLY APPROVED"] + counts["SCREENED OUT"]:
            return visit
        got = self.client.charged(self.study.study_id)[1] * CENT - counts["APPROVED"] * reward
        part = min(visit.due, got - sum(one.approved_for for one in parts))
        if not (0 < part < reward and self.site.note_paid(visit.number, "by hand", part)):
            return visit
        return replace(visit, payments=(*visit.payments, part), by_hand=True)

    def _refuse_unpaid(self, cents: float) -> None:
        """Refuse a bonus that the account cannot pay, before it is recorded as asked for."""
        there, _ = self.client.balance(self.workspace)
        if cents > there:
            raise RefusedError(
                f"the workspace on Prolific holds ${there * CENT:.2f}, and a bonus costs ${cents / 100:.2f}",
                "Add money to the workspace, then pay again.",
            )

    def read(self, session: str) -> tuple[str, Decimal, bool]:
        """Return a submission's status, the bonuses that Prolific shows, and whether it was asked back."""
        found = self.client.get(f"/api/v1/submissions/{session}/")
        if not isinstance(found, dict):
            raise self.client.odd("a submission")
        shown = sum((Decimal(str(cents)) for cents in found.get("bonus_payments") or ()), Decimal(0))
        return str(found.get("status")), shown * CENT, bool(found.get("return_requested"))

    def _ask_back(self, visit: Visit) -> None:
        """Ask for the submission back, whose pay the bonus replaces; asking twice is harmless."""
        path = f"/api/v1/submissions/{visit.session}/request-return/"
        why = _WHY_PAID if visit.whole else _WHY_BACK
        self.client.call("POST", path, {"request_return_reasons": [why]})

    def reject(self, session: str, reason: str) -> None:
        """Reject a submission that is open: only ever because a person said so. A repeat is harmless."""
        category, message = split_reason(reason)
        status = self.client.get(f"/api/v1/submissions/{session}/").get("status")
        if status in _OVER:
            return
        if status in _UNDER_WAY:
            raise RefusedError(
                "the participant has not finished on Prolific yet, which rejects only what awaits review",
                "Repeat it then; nobody is paid for this work meanwhile.",
            )
        self._decide(session, {"action": "REJECT", "message": message, "rejection_category": category})

    def unreject(self, session: str) -> bool:
        """Take a rejection back, because a person said so; return whether Prolific did."""
        if self.read(session)[1]:  # what a bonus pays stays rejected there
            return False
        try:
            self._decide(session, {"action": "UNREJECT"})
        except RefusedError:
            return False
        return True

    def _decide(self, session: str, decision: Mapping[str, Any]) -> None:
        self.client.call("POST", f"/api/v1/submissions/{session}/transition/", decision)


class Happened:
    """What a person did on Prolific's pages, and what waits for one."""

    def __init__(self, study: str) -> None:
        self._study = study
        self.parts = self.whole = self.in_part = self.returned = self.by_hand = self.for_nothing = 0
        self.paid = Decimal("0.00")
        """What was paid from here just now."""
        self.failed: dict[str, list[str]] = {}
        """Why what was decided is not paid, and whose it is."""
        self.unseen: list[tuple[Decimal, Decimal, str]] = []
        """Bonuses that were asked for: what each pays, what is asked for then, and what to do until then."""
        self.overruled: list[tuple[Decimal, bool]] = []
        """What was paid for submissions that were rejected there, and whether that was taken back there."""
        self.resting: list[Decimal] = []
        """What waits ``until`` then, as bonuses may be under way that are forgotten here."""
        self.until = 0.0
        self.forgotten: list[Decimal] = []
        """What was owed to those who were forgotten."""
        self.rejected: list[Decimal] = []
        """What is not paid for submissions that were rejected there."""
        self.twice: list[tuple[Decimal, Decimal]] = []
        """The bonuses of submissions that were approved in full after these, and what is paid too much."""
        self.waiting: list[tuple[float, str]] = []
        """When Prolific approves submissions that nobody here approves, and whose they are."""

    def sentences(self) -> tuple[str, ...]:
        """Return it in words, what needs a person first."""
        return tuple(filter(None, (*self._open(), *self._done())))

    def _open(self) -> Iterator[str]:
        for why, whom in self.failed.items():
            yield (
                f"{many(len(whom), 'submission is', 'submissions are')} not paid ({_named(whom)}): "
                f"{why} The next `prefjudge pay` tries again; to give it up, forget the "
                f"worker: prefjudge workers {self._study} --forget ID --unpaid (--ids shows the ids)"
            )
        for what in (_LATE, _LATE_REJECTED, _SOON):
            if bonuses := [(owed, more) for owed, more, told in self.unseen if told == what]:
                later = sum(more for _, more in bonuses)
                yield (
                    f"{many(len(bonuses), 'bonus', 'bonuses')} of ${sum(owed for owed, _ in bonuses)} "
                    f"{_were(len(bonuses))} asked for{what}"
                    f"{f'; ${later} more is asked for once it is seen' if later else ''}"
                )
        if self.resting:
            yield (
                f"${sum(self.resting)} for {many(len(self.resting), 'submission')} waits until "
                f"{datetime.fromtimestamp(self.until, UTC):%F %H:%M} UTC, an hour after the worker site's "
                "store was restored, copied or moved: what was asked for before that may not be seen yet on "
                "Prolific; the next `prefjudge pay` after that pays it"
            )
        if self.forgotten:
            yield (
                f"${sum(self.forgotten)} is owed for {many(len(self.forgotten), 'visit')} of people who were "
                "forgotten, so nobody knows whom to pay"
            )
        if self.rejected:
            yield (
                f"{many(len(self.rejected), 'submission')} with accepted work {_were(len(self.rejected))} "
                f"rejected on Prolific, and ${sum(self.rejected)} of it is not paid; to pay all the same: "
                f"prefjudge pay {self._study} --live --held"
            )
        if self.waiting:
            soon = sum(when - time.time() < _WEEK for when, _ in self.waiting)
            each = [f"{who} on {datetime.fromtimestamp(when, UTC):%F}" for when, who in sorted(self.waiting)]
            yield (
                f"{many(len(each), 'submission waits', 'submissions wait')} to be returned on Prolific, "
                f"which otherwise approves {'it' if len(each) == 1 else 'them'} in full: "
                f"{_named(each)}"
                f"{f'; {soon} within a week: ask for a return by a message there' if soon else ''}"
            )

    def _done(self) -> Iterator[str]:
        yield from _overruled(self.overruled, "is paid now")
        if self.twice:
            bonuses, more = map(sum, zip(*self.twice, strict=True))
            yield (
                f"{many(len(self.twice), 'submission was', 'submissions were')} approved in full on Prolific "
                f"after bonuses of ${bonuses}: that paid ${more} more than was earned"
            )
        for count, what in (
            (
                self.parts * (self.parts > 1),
                "{} approved in part on Prolific's pages: here only their sum is known",
            ),
            (self.whole, "done in part {} approved on Prolific in full: more than the ledger holds"),
            (self.in_part, "done in full {} approved in part on Prolific: less than the ledger holds"),
            (self.returned, "done in full {} returned on Prolific: the work counts, and a bonus pays it"),
            (
                self.for_nothing,
                "without accepted work {} approved on Prolific, in full or in part: more than is owed",
            ),
            (self.by_hand, "{} paid by a bonus on Prolific's pages, so no more from here"),
        ):
            if count:
                yield f"{many(count, 'submission')} {what.format(_were(count))}"


def _rest_of(visit: Visit, shown: Decimal) -> Decimal:
    """Return what is due of a rejected submission beyond what a person has paid by a bonus."""
    return max(Decimal(0), visit.due - max(Decimal(0), shown - visit.asked))


def _overruled(each: Sequence[tuple[Decimal, bool]], what: str) -> Iterator[str]:
    for back, how in ((True, "taking that back"), (False, "a bonus, and the rejection stays")):
        if amounts := [amount for amount, taken_back in each if taken_back == back]:
            many_ = many(len(amounts), "submission")
            yield f"${sum(amounts)} {what} for {many_} that a person rejected on Prolific, by {how}"


def _named(each: Sequence[str]) -> str:
    rest = [f"{len(each) - _MOST_NAMED} more"] if len(each) > _MOST_NAMED else []
    return ", ".join([*each[:_MOST_NAMED], *rest])


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def split_reason(reason: str) -> tuple[str, str]:
    """Return the category and the message of a rejection: ``LOW_EFFORT: every answer was the left one``.

    Without a category it is ``OTHER``. Prolific wants a hundred characters; a shorter reason is followed by a
    sentence that says how to answer it.
    """
    typed = re.match(r"([A-Z]+(?:_[A-Z]+)+)\s*:", reason.strip())
    if typed and typed[1] not in CATEGORIES:
        raise RefusedError(
            f"{typed[1]} is not a category of Prolific", f"The categories are {', '.join(CATEGORIES)}."
        )
    named = re.fullmatch(rf"({'|'.join(CATEGORIES)})\s*:\s*(.*)", reason.strip(), re.DOTALL)
    category, message = named.groups() if named else ("OTHER", reason.strip())
    if named and not message:
        raise RefusedError(f"{category} alone is not a reason", "Say after the colon what was wrong.")
    if len(message) < _LEAST_MESSAGE:
        message = f"{message.rstrip('.')}.{_PADDING}"
    return category, message
