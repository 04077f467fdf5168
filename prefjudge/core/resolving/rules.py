"""Rules: every way to resolve a tournament, by its name."""

from dataclasses import dataclass
from typing import Annotated, Protocol

from prefjudge.core.judges.judgments import Judgments
from prefjudge.core.pooling.pools import Pools
from prefjudge.core.resolving.bradley_terry import bradley_terry
from prefjudge.core.resolving.counting import (
    Floats,
    Rule,
    Standing,
    TieWorth,
    Weights,
    most_wins,
    shallow_pooling,
)
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
from prefjudge.core.resolving.tournament import Tournaments
from prefjudge.registers import Register


class Learner(Protocol):
    """Learns a rule from all queries together, for instance how reliable each worker is."""

    def __call__(self, judgments: Judgments, *, pools: Pools | None, ties: TieWorth, strengths: bool) -> Rule:
        """Return the rule for each query."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRule:
    """What the name of a rule stands for.

    Attributes
    ----------
    rule : callable, optional
        Resolves a block of tournaments, each query by itself.
    learn : callable, optional
        Makes such a rule from all judgments, where the rule needs them.
    counts_votes : bool
        Whether it counts what a candidate has won, so that all must have been shown as often. Where some
        were shown more often, another rule takes its place.
    weighs_workers : bool
        Whether it weighs judgments by who made them, so that it takes workers who can be told apart.
    for_partial : bool
        Whether it finds a best answer where not every pair was judged.
    """

    rule: Rule | None = None
    learn: Learner | None = None
    counts_votes: bool = False
    weighs_workers: bool = False
    for_partial: bool = False


RULES = Register(
    "rule",
    NamedRule,
    {
        "shallow-pooling": NamedRule(rule=shallow_pooling, counts_votes=True),
        "shallow-pooling-pairs": NamedRule(rule=on_matrices(shallow_pooling_pairs), counts_votes=True),
        "most-wins": NamedRule(rule=most_wins, counts_votes=True),
        "unbeaten": NamedRule(rule=unbeaten, for_partial=True),
        "copeland": NamedRule(rule=on_matrices(copeland), counts_votes=True),
        "smith": NamedRule(rule=on_matrices(smith)),
        "schulze": NamedRule(rule=on_matrices(schulze)),
        "kemeny": NamedRule(rule=on_matrices(kemeny)),
        "bradley-terry": NamedRule(rule=bradley_terry, for_partial=True),
        "noisy-bradley-terry": NamedRule(learn=noisy_rule, weighs_workers=True, for_partial=True),
    },
)
"""The rules by their names; the first is the default for files."""

PAPER_RULE = "shallow-pooling"
UNEVEN_RULE = "bradley-terry"
"""Where a rule does not fit because some pairs have more votes than others."""
NO_RULE = "none"
"""In the place of a rule for queries that are judged in part: they get no winner."""
WEIGHING_RULE = "noisy-bradley-terry"
"""The default of a study, whose workers are known."""

RuleName = Annotated[str, RULES]


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
        What is to be resolved: some rules learn from all queries together.

    Raises
    ------
    ValueError
        There is no such rule.
    """
    if name not in RULES:
        raise ValueError(f"no rule {name!r}: choose from {', '.join(RULES)}")
    named = RULES[name]
    with RULES.using(name):
        rule = named.rule
        if named.learn is not None:
            rule = named.learn(judgments, pools=pools, ties=ties, strengths=strengths)
        if rule is None:
            raise TypeError("it has neither a rule nor a way to learn one")

    def by_name(block: Tournaments, weights: Weights, won: Floats) -> Standing:
        with RULES.using(name):
            standing = rule(block, weights, won)
            if standing.score.shape != standing.winner.shape or len(standing.score) != block.doc.size:
                raise ValueError(f"{len(standing.score)} scores for {block.doc.size} candidates")
        return standing

    return by_name
