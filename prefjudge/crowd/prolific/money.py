"""Pays participants at Prolific for what the study has decided: each visit once, whatever happens in between.

A whole visit is approved, which Prolific does once however often it is asked. Work in part is paid by a
bonus, and the participant is asked to return the submission. What a person decided on Prolific's pages
stands: what was approved there has its reward, and what was rejected there gets nothing before a person says
so here. To pay a bonus is **not** idempotent: it is
recorded as asked for before the one call that pays, and that call is never made again. Prolific shows the
bonuses of a submission, some minutes later; one that does not show is left to a person.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from typing import Any

from prefjudge.crowd.mturk.crowd import Fees
from prefjudge.crowd.prolific.client import Client, Found, Site, Visit
from prefjudge.crowd.protocol import RefusedError
from prefjudge.errors import CrowdError
from prefjudge.words import many

CENT = Decimal("0.01")
_HUNDRED = 10_000
"""A reward in cents of which the cost shows the account's fee and VAT to a hundredth of a percent."""


def fees_of(rate: Decimal) -> Fees:
    """Return the prices by the config's rate alone, for plans: nothing is asked of Prolific."""
    return Fees(rate=rate, many_rate=Decimal(0), minimum=Decimal("0.00"))


@dataclass
class CalculatedPrices:
    """Implements :class:`~prefjudge.crowd.protocol.Prices` with what Prolific's calculator says.

    A participant is paid for ``hits`` HITs at once.
    """

    client: Client
    hits: int
    _known: dict[int, int] = field(default_factory=dict)

    def place(self, reward: int) -> int:
        """Return the cents that one participant costs whose reward is so many."""
        if reward and reward not in self._known:
            asked = {"reward": reward, "total_available_places": 1}
            found = self.client.call("POST", "/api/v1/study-cost-calculator/", asked)
            try:
                self._known[reward] = int(Decimal(str(found["total_cost"])).to_integral_value(ROUND_HALF_UP))
            except (KeyError, TypeError, ArithmeticError) as error:
                raise self.client.odd("a cost") from error
        return self._known.get(reward, 0)

    def submission(self, pay: Decimal, workers: int) -> Decimal:
        """Return what one HIT of a participant costs: an equal part, rounded up to the cent."""
        cost = Decimal(self.place(int(pay * self.hits / CENT))) / self.hits
        return cost.to_integral_value(ROUND_CEILING) * CENT

    def bonus(self, amount: Decimal) -> Decimal:
        """Return what a bonus costs, at the account's fee and VAT."""
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
_WHY_BACK = (
    "Not all tasks of this submission were done and accepted: you stopped early, or there were no more for "
    "you. What you did is paid by a bonus, so please return the submission."
)
"""True of everybody who is asked: Prolific's page is the first that says so to who took the last HIT."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payments:
    """The payments for the visits of one study; the account of the ``workspace`` pays."""

    client: Client
    site: Site
    study: Found
    workspace: str

    def settle(
        self, visits: Sequence[Visit], statuses: Mapping[str, str], *, held: bool = False
    ) -> tuple[str, ...]:
        """Pay what is decided and not paid yet; return what a person decided at Prolific, in sentences."""
        unseen, refused, reward = 0, list[RefusedError](), self.study.reward * CENT
        rejected = whole = 0
        for visit in visits:
            status = statuses.get(visit.session, "")
            if not visit.decided or not visit.earned or status in ("", "ACTIVE", "RESERVED"):
                continue  # something of it is still to come, such as the code
            if status == "REJECTED" and not (held or visit.paid):
                rejected += 1
            elif status == "APPROVED" and visit.earned <= reward:  # by us, by a person, or after three weeks
                whole += visit.earned < reward
                if not visit.paid:
                    self.site.note_paid(visit.number)
            elif status == "AWAITING REVIEW" and visit.earned == reward:
                if not visit.paid:
                    self._approve(visit)
            else:
                owed = visit.earned - (reward if status == "APPROVED" else 0)
                try:
                    unseen += not self._pay_bonus(visit, status, owed)
                except RefusedError as error:
                    refused.append(error)
        if refused:
            raise RefusedError(
                f"{many(len(refused), 'bonus is', 'bonuses are')} not paid: {refused[0].message}",
                refused[0].hint or "Nothing was paid for them. Fix the cause, then pay again.",
            )
        if unseen:
            raise CrowdError(
                f"{many(unseen, 'bonus', 'bonuses')} may not have been paid: Prolific was asked, and shows "
                "none",
                "Look at the submissions of the study on Prolific, and pay there what is missing. The next "
                "`prefjudge pay` finds it.",
            )
        return (*_said_of_rejected(rejected), *_said_of_whole(whole))

    def _approve(self, visit: Visit) -> None:
        self._decide(visit.session, {"action": "APPROVE"})
        self.site.note_paid(visit.number)

    def _pay_bonus(self, visit: Visit, status: str, owed: Decimal) -> bool:
        """Pay a bonus, unless it was asked for before; return whether it is paid, or may still come."""
        if self._shown(visit.session) >= owed:
            if not visit.paid:
                self.site.note_paid(visit.number)
            return True
        if visit.paid:
            return time.time() - _moment(visit.paid) < _PATIENCE
        if status == "AWAITING REVIEW":
            self._ask_back(visit.session)
        csv = f"{visit.session},{owed.quantize(CENT)}\n"
        asked = {"study_id": self.study.study_id, "csv_bonuses": csv}
        # Setting up pays nothing: one that is never paid does no harm, so a repeat does none either.
        bulk = self.client.call("POST", "/api/v1/submissions/bonus-payments/", asked)
        if not (
            isinstance(bulk, dict) and "id" in bulk and isinstance(bulk.get("total_amount"), (int, float))
        ):
            raise self.client.odd("a bonus")
        self._refuse_unpaid(bulk["total_amount"])
        if not self.site.note_paid(visit.number):
            return True  # another process has asked for it since this one looked
        try:
            self.client.call("POST", f"/api/v1/bulk-bonus-payments/{bulk['id']}/pay/", again=False)
        except RefusedError:  # Prolific did nothing: it may be asked again
            self.site.note_refused(visit.number)
            raise
        return True

    def _refuse_unpaid(self, cents: float) -> None:
        """Refuse a bonus that the account cannot pay, before it is recorded as asked for."""
        there = self.client.balance(self.workspace)
        if cents > there:
            raise RefusedError(
                f"the workspace on Prolific holds ${there * CENT:.2f}, and a bonus costs ${cents / 100:.2f}",
                "Add money to the workspace, then pay again.",
            )

    def _shown(self, session: str) -> Decimal:
        """Return the bonuses that Prolific shows for a submission."""
        found = self.client.get(f"/api/v1/submissions/{session}/")
        paid = found.get("bonus_payments") if isinstance(found, dict) else None
        return sum((Decimal(str(cents)) for cents in paid or ()), Decimal(0)) * CENT

    def _ask_back(self, session: str) -> None:
        """Ask for the submission back, whose pay the bonus replaces; asking twice is harmless."""
        path = f"/api/v1/submissions/{session}/request-return/"
        self.client.call("POST", path, {"request_return_reasons": [_WHY_BACK]})

    def reject(self, session: str, reason: str) -> None:
        """Reject a submission: only ever because a person said so. A repeat is harmless."""
        category, message = split_reason(reason)
        self._decide(session, {"action": "REJECT", "message": message, "rejection_category": category})

    def _decide(self, session: str, decision: Mapping[str, Any]) -> None:
        self.client.call("POST", f"/api/v1/submissions/{session}/transition/", decision)


def _said_of_rejected(count: int) -> tuple[str, ...]:
    if not count:
        return ()
    was, paid = ("was", "is") if count == 1 else ("were", "are")
    return (
        f"{many(count, 'submission')} with accepted work {was} rejected on Prolific and {paid} not paid; to "
        "pay all the same: prefjudge pay STUDY --live --held",
    )


def _said_of_whole(count: int) -> tuple[str, ...]:
    if not count:
        return ()
    return (
        f"{many(count, 'submission')} done in part {'was' if count == 1 else 'were'} approved on Prolific, "
        "which pays the whole reward: more than the ledger of this study holds",
    )


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


def _moment(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
