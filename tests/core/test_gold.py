import numpy as np

from prefjudge.core.gold import suggest_gold
from prefjudge.core.qrels import Qrels


def test_gold_sets_a_relevant_passage_against_one_that_shares_no_word() -> None:
    queries = {"q1": "how do bees make honey", "q2": "when did rome fall"}
    passages = {
        "bees": "Bees collect nectar, and in the hive they turn nectar into honey.",
        "rome": "Rome fell in 476, when its last western emperor was deposed.",
        "bears": "Bears raid the hive, for bears love honey and even nectar.",
        "short": "Honey.",
    }
    judged = Qrels(
        name="qrels", queries=("q1", "q2", "q3"), docs=("bees", "rome", "short"),
        query=np.array([0, 1, 2, 0], dtype=np.int32), doc=np.array([0, 1, 2, 2], dtype=np.int32),
        grade=np.array([1.0, 1.0, 1.0, 1.0]),
    )  # fmt: skip
    gold = suggest_gold(judged, queries, passages, 9, rng=np.random.default_rng(1), min_words=5)
    by_query = {g.query_id: (g.good_id, g.bad_id) for g in gold}
    assert by_query["q1"] == ("bees", "rome")
    assert by_query["q2"][0] == "rome"
    assert set(by_query) == {"q1", "q2"}
    avoiding = suggest_gold(
        judged,
        queries,
        passages,
        9,
        rng=np.random.default_rng(1),
        min_words=5,
        avoid={"q1": frozenset({"rome"})},
    )
    assert {g.query_id: g.bad_id for g in avoiding}["q1"] == "bears"
