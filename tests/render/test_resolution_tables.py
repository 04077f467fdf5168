from math import nan

from prefjudge.core.resolving.resolutions import Kind, Variation
from prefjudge.show.studies import sensitivity_table
from prefjudge.show.tables import to_records


def variation(kind: Kind, name: str, changed: int = 0, lost: int = 0, tau: float = nan) -> Variation:
    return Variation(
        kind=kind, name=name, resolved=9 - lost, changed=changed, lost=lost, gained=0, correlation=tau
    )


def test_the_greatest_effect_comes_first_and_each_kind_is_summed_up() -> None:
    table = sensitivity_table(
        "copeland",
        [
            variation(Kind.WORKER, "b"),
            variation(Kind.RUN, "small", changed=1, tau=0.9),
            variation(Kind.RUN, "large", changed=1, tau=0.5),
            variation(Kind.WORKER, "c", lost=3),
            variation(Kind.WORKER, "a"),
            variation(Kind.WORKER, "d", changed=2, lost=2),
            variation(Kind.RULE, "smith", tau=1.0),
        ],
    )
    assert [row["name"] for row in to_records(table)] == ["smith", "d", "c", "a", "b", "large", "small"]
    assert table.notes[:3] == (
        "rule: 0 of 1 change winners; the lowest tau is 1.000.",
        "worker: 2 of 4 change winners, those of 4 queries at most.",
        "run: 2 of 2 change winners, those of 1 query at most; the lowest tau is 0.500.",
    )
