"""``prefjudge backup``."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from prefjudge.cli.options import Json
from prefjudge.cli.output import print_json, say

if TYPE_CHECKING:
    from prefjudge.steps.backup import BackupResult


def backup(
    call: "Callable[..., BackupResult]",
    *,
    study: Path | None,
    file: Path | None,
    store: str | None,
    json: Json = False,
) -> None:
    """Print what was copied and read back; with ``--store`` the one file named is the file to write."""
    result = call(study=None, file=study) if store is not None and file is None else call()
    if json:
        print_json(result)
        return
    ledger = ", ".join(f"{name} ${sum_}" for name, sum_ in result.ledger.items()) or "empty"
    say(f"wrote {result.file}: the {result.kind}'s store as of {result.taken}, {result.bytes:,} bytes")
    say(
        f"read back: sound, {sum(result.rows.values()):,} rows in {len(result.rows)} tables; ledger: {ledger}"
    )
