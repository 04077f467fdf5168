"""The strategy that the options of `run` ask for."""

from collections.abc import Sequence
from dataclasses import replace

from prefjudge.core.planning.sure import Sure
from prefjudge.errors import InputError
from prefjudge.field.challenge import check_sure


def asked_runs(for_: str, between: Sequence[str], sure: float | None) -> tuple[str, ...] | None:
    """Return the runs to be told apart, none for all neighbours; None where winners are asked for."""
    if for_ != "runs":
        if between:
            raise InputError("--between is for --for runs", "Give both, or neither.")
        return None
    if sure is None:
        raise InputError(
            "--for runs is for --sure", "Add --sure P: how sure the order is to be, such as 0.9."
        )
    if between and not (len(between) == len({*between}) == 2):
        raise InputError(f"--between {' '.join(between)}: not two runs", "Give it twice, with two run tags.")
    return tuple(sorted(between))


def asked_strategy(
    strategy: str | None, sure: float | None, most_rounds: int | None, runs: tuple[str, ...] | None
) -> str | None:
    """Return the name of the strategy that the options ask for."""
    if sure is None:
        if most_rounds is not None:
            raise InputError("--most-rounds is for --sure", "Give both, or neither.")
        return strategy
    check_sure(sure)
    if strategy is not None:
        raise InputError("--sure is a strategy of its own", "Give --strategy or --sure.")
    made = Sure(sure, runs=runs)
    return (made if most_rounds is None else replace(made, rounds=most_rounds)).name
