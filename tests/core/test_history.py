from prefjudge.core.resolving.resolutions import Change, find_changes
from tests.core.tables import qrels_of


def test_changes_are_told_by_query_whatever_the_order_of_the_rows() -> None:
    before = qrels_of([("q3", "b", 1), ("q3", "a", 1), ("q1", "a", 1), ("q2", "c", 1)])
    after = qrels_of([("q4", "d", 1), ("q3", "a", 1), ("q3", "b", 1), ("q1", "b", 1), ("q1", "a", 1)])
    assert find_changes(before, after) == (
        Change(query_id="q1", before=("a",), after=("a", "b")),
        Change(query_id="q2", before=("c",), after=()),
        Change(query_id="q4", before=(), after=("d",)),
    )
