"""Rules: every way to resolve a tournament, by its name."""

from prefjudge.core.counting import Rule, most_wins, shallow_pooling
from prefjudge.core.kemeny import kemeny
from prefjudge.core.majority import copeland, on_matrices, schulze, shallow_pooling_pairs, smith, unbeaten

RULES: dict[str, Rule] = {
    "shallow-pooling": shallow_pooling,
    "shallow-pooling-pairs": on_matrices(shallow_pooling_pairs),
    "most-wins": most_wins,
    "unbeaten": unbeaten,
    "copeland": on_matrices(copeland),
    "smith": on_matrices(smith),
    "schulze": on_matrices(schulze),
    "kemeny": on_matrices(kemeny),
}
"""The first is the default."""
