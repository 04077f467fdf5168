"""Shows the settlement, and pays it."""

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from prefjudge.steps.settlement import Act, Due, find_dues, pay_dues
from prefjudge.study.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class PayResult:
    """Who is, or was, owed what and why; ``decided`` counts the assignments that are settled by now."""

    endpoint: str
    dues: tuple[Due, ...]
    owed: Decimal
    paid: bool
    decided: dict[str, int]


def pay(study: str | Path, *, live: bool = False, dry_run: bool = False) -> PayResult:
    """Pay what is owed to the workers whose assignments were collected; nothing is paid twice.

    Parameters
    ----------
    study : Path
        The study.
    live : bool
        Pay at the live target.
    dry_run : bool
        Show the settlement only.
    """
    from prefjudge.steps.serve import open_crowd

    opened = Study(study)
    target = "live" if live else "sandbox"
    dues = find_dues(opened, target)
    with open_crowd(opened, target) as crowd:
        if not dry_run:
            pay_dues(opened, crowd, target, dues)
        endpoint = crowd.endpoint
    with opened.transaction(write=False) as db:
        decided: dict[str, int] = dict(
            db.execute(
                "SELECT coalesce(decision, 'undecided'), count(*) FROM assignments "
                "GROUP BY decision ORDER BY 1"
            )
        )
    return PayResult(
        endpoint=endpoint,
        dues=dues,
        owed=sum((due.amount for due in dues), Decimal("0.00")),
        paid=not dry_run and any(due.act is not Act.DECIDE for due in dues),
        decided=decided,
    )
