"""The ledger: every cent moves from one account to another, and never appears or vanishes.

Accounts are ``requester:ID`` (free to spend), ``hold:ID`` (promised to a requester's open HITs),
``worker:ID`` (owed to a worker), ``paid out``, ``fees``, and ``outside``, whose balance is minus all that was
ever paid in.
"""

from prefjudge.marketplace.errors import from_cents, refused
from prefjudge.marketplace.store.store import Transaction

OUTSIDE = "outside"
FEES = "fees"
PAID_OUT = "paid out"
PLAY_MONEY = 1_000_000  # cents: the 10,000 dollars of Mechanical Turk's sandbox
UNBALANCED = (
    "SELECT account FROM (SELECT account, cents AS change FROM accounts"
    " UNION ALL SELECT source, cents FROM transfers"
    " UNION ALL SELECT target, -cents FROM transfers) AS legs"
    " GROUP BY account HAVING sum(change) <> 0 ORDER BY account"
)
"""Selects the accounts whose balance is not the sum of their transfers."""
MAX_CENTS = 10**11
"""Cents at once: small enough that sums of many fit the database's 64-bit integers."""


def free(requester_id: str) -> str:
    """Name the account from which a requester spends."""
    return f"requester:{requester_id}"


def hold(requester_id: str) -> str:
    """Name the account that keeps what a requester's open HITs may cost."""
    return f"hold:{requester_id}"


def earned(worker_id: str) -> str:
    """Name the account of what a worker has earned and not been paid yet."""
    return f"worker:{worker_id}"


def balance(tx: Transaction, account: str, *, lock: bool = False) -> int:
    """Return an account's balance in cents, locked until the transaction ends where ``lock`` is set."""
    clause = tx.locked if lock else ""
    sql = f"SELECT cents FROM accounts WHERE account = :account{clause}"
    return int(tx.value(sql, account=account) or 0)


def transfer(tx: Transaction, source: str, target: str, cents: int, kind: str, reference: str) -> None:
    """Move money; zero cents do nothing."""
    if not cents:
        return
    moved = {"time": tx.now, "source": source, "target": target, "cents": cents}
    tx.insert("transfers", {**moved, "kind": kind, "reference": reference})
    # in the order of their names, so that two transactions never wait for each other
    for account, change in sorted([(source, -cents), (target, cents)]):
        tx.insert(
            "accounts",
            {"account": account, "cents": change},
            "ON CONFLICT (account) DO UPDATE SET cents = accounts.cents + excluded.cents",
        )


def spend(tx: Transaction, requester_id: str, target: str, cents: int, kind: str, reference: str) -> None:
    """Move money that must be there."""
    if cents > MAX_CENTS:
        raise refused(
            "InvalidParameterValue",
            f"The {kind} would be {from_cents(cents)} dollars; the maximum is {from_cents(MAX_CENTS)}.",
        )
    account = free(requester_id)
    # locked: otherwise two calls at once could both spend the last of it
    available = balance(tx, account, lock=True)
    if available < cents:
        if not tx.marketplace.sandbox:
            raise refused(
                "InsufficientFunds", f"{kind} needs {cents} cents; {available} cents are available."
            )
        paid_in = -(-(cents - available) // PLAY_MONEY) * PLAY_MONEY
        transfer(tx, OUTSIDE, account, paid_in, "play money", requester_id)
    transfer(tx, account, target, cents, kind, reference)


def imbalance(tx: Transaction) -> list[str]:
    """Return the accounts whose balance is not the sum of their transfers: none in a sound store."""
    return tx.values(UNBALANCED)
