"""Payouts: what the admin has paid workers, outside the marketplace, of their earnings here."""

import csv
import io

from prefjudge.marketplace.errors import invalid, refused
from prefjudge.marketplace.money import ledger
from prefjudge.marketplace.money.amounts import from_cents
from prefjudge.marketplace.people import workers
from prefjudge.marketplace.store.marketplace import Transaction

COLUMNS = ("worker_id", "name", "earned", "paid_out", "owed")


def record(tx: Transaction, worker_id: str, cents: int, reference: str) -> None:
    """Record that a worker was paid.

    Raises
    ------
    RequestError
        ``DuplicateRequest``: the worker was paid by this reference before; or the worker is owed less.
    """
    workers.find(tx, worker_id)
    if not 1 <= len(reference) <= 200:
        raise invalid(
            "reference", "must name the payment, for instance at your bank, so that none counts twice"
        )
    account = ledger.earned(worker_id)
    # locked: of two records with one reference, the second sees the first
    owed = ledger.balance(tx, account, lock=True)
    if tx.rows(
        "SELECT 1 FROM transfers WHERE source = :account AND kind = 'payout' AND reference = :reference",
        account=account,
        reference=reference,
    ):
        raise refused(
            "DuplicateRequest", f"A payout to {worker_id} by the reference {reference} is recorded."
        )
    if not 1 <= cents <= owed:
        raise invalid("amount", f"{from_cents(cents)} is not between 0.01 and the {from_cents(owed)} owed")
    ledger.transfer(tx, account, ledger.PAID_OUT, cents, "payout", reference)


def paid_out(tx: Transaction) -> dict[str, int]:
    """Return how many cents each worker was paid, by account."""
    return tx.tally(
        "SELECT source, sum(cents) FROM transfers WHERE target = :paid AND kind = 'payout' GROUP BY source",
        paid=ledger.PAID_OUT,
    )


def table(tx: Transaction) -> str:
    """Write what each worker has earned, was paid, and is owed, as CSV."""
    paid = paid_out(tx)
    written = io.StringIO()
    rows = csv.writer(written)
    rows.writerow(COLUMNS)
    for worker_id, name, owed in tx.rows(
        "SELECT w.worker_id, w.name, a.cents FROM workers w"
        " JOIN accounts a ON a.account = 'worker:' || w.worker_id ORDER BY w.worker_id"
    ):
        before = paid.get(ledger.earned(worker_id), 0)
        amounts = (from_cents(cents) for cents in (owed + before, before, owed))
        rows.writerow([worker_id, inert(name or ""), *amounts])
    return written.getvalue()


def inert(text: str) -> str:
    """Return a text that a spreadsheet does not read as a formula: workers choose their names.

    Whoever follows a panel's link can choose a participant's id, too; of no panel does one begin so.
    """
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
