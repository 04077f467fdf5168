"""What a model's requests cost: each is reserved before it is sent, as the work of people is."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from threading import Condition
from typing import TYPE_CHECKING

from prefjudge.errors import BudgetError
from prefjudge.study.imports import (
    TokenCount,
    count_reserved,
    count_tokens,
    drop_reservation,
    hold_reservations,
    longest_reply,
    save_reply,
    save_reservation,
)
from prefjudge.study.store import Study
from prefjudge.words import many

if TYPE_CHECKING:
    from prefjudge.crowd.model import Reply

_WRAPPING = 100
"""Tokens that an endpoint may put around a prompt: the roles, and a short system prompt of its own."""


class ModelLedger:
    """Reserves what a request may cost at most, and settles it by the tokens that the reply names.

    A reservation stays, and counts as spent, where nobody knows what became of the request: the process was
    killed, the connection was lost, or the reply names no tokens.

    Parameters
    ----------
    study : Study
        Keeps the reservations and the replies.
    model : str
        The model that is asked.
    prices : tuple of Decimal
        Dollars for a million tokens of prompts, and of replies.
    most_cost : Decimal, optional
        What the model may cost in all.
    reply_tokens : int
        The tokens at which the endpoint is told to cut a reply.
    """

    def __init__(
        self,
        study: Study,
        model: str,
        *,
        prices: tuple[Decimal, Decimal],
        most_cost: Decimal | None,
        reply_tokens: int,
    ) -> None:
        self._study, self._model, self._prices, self._most_cost = study, model, prices, most_cost
        self._changed = Condition()
        self._under_way: dict[int, TokenCount] = {}
        self._over: list[Decimal] = []
        self._reply_tokens = reply_tokens

    @contextmanager
    def request(self, key: str, prompt: str) -> Iterator["_OpenRequest"]:
        """Open a request: reserved before it is sent, and left reserved where nobody knows how it ended."""
        # No tokenizer makes more tokens of a text than the text has bytes.
        number = self._reserve(len(prompt.encode("utf-8", "surrogatepass")) + _WRAPPING)
        try:
            yield _OpenRequest(ledger=self, number=number, key=key)
        finally:
            with self._changed:
                del self._under_way[number]
                self._changed.notify_all()

    def _reserve(self, prompt_tokens: int) -> int:
        """Set aside what a request may cost, and return its number.

        Where there is no room beside the requests that are under way, their replies are waited for: they
        mostly cost less than was reserved.
        """
        with self._changed:
            while True:
                with self._study.transaction() as db:
                    hold_reservations(db)
                    # Models that reason before they reply are known to pass the cut; once is enough to learn
                    # from, in whichever process.
                    longest = max(self._reply_tokens, longest_reply(db, self._model))
                    wanted = TokenCount(prompt=prompt_tokens, reply=longest)
                    known, unknown = count_tokens(db, self._model)[1], count_reserved(db, self._model)[1]
                    spent = self._price(known) + self._price(unknown)
                    fits = self._most_cost is None or spent + self._price(wanted) <= self._most_cost
                    number = save_reservation(db, self._model, wanted, time.time()) if fits else None
                if number is not None:  # and stored: one that was not must keep nobody waiting
                    self._under_way[number] = wanted
                    return number
                if not self._under_way:
                    raise self._refusal(spent, self._price(wanted))
                self._changed.wait()

    def release(self, number: int) -> None:
        """Take back the reservation of a request that the endpoint did not take."""
        with self._study.transaction() as db:
            drop_reservation(db, number)

    def settle(self, number: int, key: str, reply: "Reply") -> None:
        """Keep the reply to a prompt and what it took, instead of what was reserved."""
        took = TokenCount(prompt=reply.prompt_tokens, reply=reply.reply_tokens)
        with self._study.transaction() as db:
            if took.prompt:
                drop_reservation(db, number)
            save_reply(db, key, self._model, reply.text, took, time.time())
        with self._changed:
            reserved = self._under_way[number]
            if took.prompt > reserved.prompt or took.reply > reserved.reply:
                self._over.append(self._price(took) - self._price(reserved))

    def cost(self) -> tuple[Decimal, Decimal, int]:
        """Return what the model has cost at most, what of it is only reserved, and for how many requests."""
        with self._study.transaction(write=False) as db:
            known = count_tokens(db, self._model)[1]
            unsettled, reserved = count_reserved(db, self._model)
        return self._price(known) + self._price(reserved), self._price(reserved), unsettled

    def notices(self) -> tuple[str, ...]:
        """Return what the ledger could not keep to."""
        said = []
        _, reserved, unsettled = self.cost()
        if reserved:
            said.append(
                f"{many(unsettled, 'request')} ended without a count of tokens: what was reserved, "
                f"{_dollars(reserved)}, counts as spent"
            )
        over = [amount for amount in self._over if amount > 0]
        if over:
            said.append(
                f"{many(len(over), 'reply', 'replies')} took more tokens than was reserved, and cost "
                f"{_dollars(sum(over, Decimal(0)))} more than that"
            )
        return tuple(said)

    def _price(self, tokens: TokenCount) -> Decimal:
        prompt_price, reply_price = self._prices
        return (prompt_price * tokens.prompt + reply_price * tokens.reply) / 1_000_000

    def _refusal(self, spent: Decimal, wanted: Decimal) -> BudgetError:
        return BudgetError(
            f"{self._model} has cost {_dollars(spent)}, one more request may cost {_dollars(wanted)}, and "
            f"${self._most_cost} is the most",
            "\n".join(("Raise --most-cost and repeat: what was answered is kept.", *self.notices())),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenRequest:
    """A request under way, in the hands of whoever sends it."""

    ledger: ModelLedger
    number: int
    key: str

    def release(self) -> None:
        """Take the reservation back: the endpoint did nothing."""
        self.ledger.release(self.number)

    def settle(self, reply: "Reply") -> None:
        """Put what the reply took instead of what was reserved, and keep the reply."""
        self.ledger.settle(self.number, self.key, reply)


def _dollars(amount: Decimal) -> str:
    return f"${amount.quantize(Decimal('0.0001'))}"
