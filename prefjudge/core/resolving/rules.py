"""Rules: every way to resolve a tournament, by its name."""

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.resolving.bradley_terry import bradley_terry
from prefjudge.core.resolving.counting import Rule, TieWorth, most_wins, shallow_pooling
from prefjudge.core.resolving.kemeny import kemeny
from prefjudge.core.resolving.majority import (
    copeland,
    on_matrices,
    schulze,
    shallow_pooling_pairs,
    smith,
    unbeaten,
)
from prefjudge.core.resolving.noisy_bradley_terry import noisy_rule

_BY_QUERY: dict[str, Rule] = {
    "shallow-pooling": shallow_pooling,
    "shallow-pooling-pairs": on_matrices(shallow_pooling_pairs),
    "most-wins": most_wins,
    "unbeaten": unbeaten,
    "copeland": on_matrices(copeland),
    "smith": on_matrices(smith),
    "schulze": on_matrices(schulze),
    "kemeny": on_matrices(kemeny),
    "bradley-terry": bradley_terry,
}
NOISY = "noisy-bradley-terry"
RULES: tuple[str, ...] = (*_BY_QUERY, NOISY)
"""The names of the rules; the first is the default."""


def find_rule(
    name: str,
    judgments: Judgments,
    *,
    pools: Pools | None = None,
    ties: TieWorth = TieWorth.IGNORE,
    strengths: bool = False,
) -> Rule:
    """Return the rule of that name.

    Parameters
    ----------
    name : str
        One of :data:`RULES`.
    judgments, pools, ties, strengths
        What is to be resolved: ``noisy-bradley-terry`` learns the workers from all queries together.

    Raises
    ------
    ValueError
        There is no such rule.
    """
    if name == NOISY:
        return noisy_rule(judgments, pools=pools, ties=ties, strengths=strengths)
    if name not in _BY_QUERY:
        raise ValueError(f"no rule {name!r}: choose from {', '.join(RULES)}")
    return _BY_QUERY[name]
