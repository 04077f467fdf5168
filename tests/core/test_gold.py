import numpy as np

from prefjudge.core.asking.gold import suggest_gold
from prefjudge.core.pooling.qrels import Qrels
from tests.core.tables import qrels_of


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


def test_gold_comes_near_the_lengths_of_pooled_pairs() -> None:
    rng = np.random.default_rng(4)
    words = ["alpha", "bravo", "carbon", "delta", "energy", "forest", "garden", "harbour"]

    def text(count: int) -> str:
        return " ".join(rng.choice(words, size=count))

    queries = {f"q{i}": text(2 + i % 9) for i in range(120)}
    passages = {f"d{i:04d}": text(int(rng.integers(3, 150))) for i in range(3000)}
    judged = Qrels(
        name="qrels", queries=tuple(queries), docs=tuple(passages),
        query=np.repeat(np.arange(120, dtype=np.int32), 20),
        doc=rng.permutation(3000)[:2400].astype(np.int32), grade=np.ones(2400),
    )  # fmt: skip
    lengths = [(20, 60, 400), (45, 300, 700)]
    found = suggest_gold(judged, queries, passages, 40, rng=np.random.default_rng(2), lengths=lengths)
    assert len(found) == 40 == len({pair.query_id for pair in found})
    aims = {(query, *way) for query, a, b in lengths for way in ((a, b), (b, a))}
    met = set()
    for pair in found:
        got = np.log([len(pair.query), len(pair.good), len(pair.bad)])
        nearest = min(aims, key=lambda aim: float(np.abs(np.log(aim) - got).sum()))
        assert np.all(np.abs(np.log(nearest) - got) < np.log([2.0, 1.5, 1.5]))
        met.add(nearest)
    assert met == aims, "the relevant passage was never the longer, or never the shorter one"


def test_a_short_passage_is_gold_only_where_the_pairs_are_as_short() -> None:
    queries = {f"q{i}": "what is it" for i in range(30)}
    passages = {f"s{i}": "Short title" for i in range(30)} | {f"l{i}": "long text " * 30 for i in range(30)}
    judged = Qrels(
        name="qrels", queries=tuple(queries), docs=tuple(passages),
        query=np.tile(np.arange(30, dtype=np.int32), 2), doc=np.arange(60, dtype=np.int32), grade=np.ones(60),
    )  # fmt: skip

    def lengths_of(lengths: list[tuple[int, int, int]]) -> set[int]:
        found = suggest_gold(judged, queries, passages, 9, rng=np.random.default_rng(1), lengths=lengths)
        return {len(text) for pair in found for text in (pair.good, pair.bad)}

    assert lengths_of([]) == {300}
    assert lengths_of([(10, 280, 310)]) == {len(passages["l0"])}
    assert lengths_of([(10, 11, 300)]) == {11, 300}


def test_the_off_topic_passage_has_the_smallest_share_of_the_topics_words_not_the_fewest() -> None:
    passages = {
        "good": "bees make honey",
        "long": "honey " + " ".join(f"word{i} and{i}" for i in range(20)),
        "short": "honey cakes",
    }
    judged = Qrels(
        name="qrels", queries=("q",), docs=("good",), query=np.zeros(1, np.int32), doc=np.zeros(1, np.int32),
        grade=np.ones(1),
    )  # fmt: skip
    for seed in range(6):  # whichever passage is the first on the shelf
        (pair,) = suggest_gold(
            judged, {"q": "who makes honey"}, passages, 1, rng=np.random.default_rng(seed), min_words=1
        )
        assert (pair.good_id, pair.bad_id) == ("good", "long")


def test_a_passage_is_found_wherever_chance_puts_it() -> None:
    passages = {"good": "Bees make honey of nectar.", "bad": "Rome fell in the year 476."}
    for seed in range(8):
        (pair,) = suggest_gold(
            qrels_of([("q", "good", 1.0)]), {"q": "who makes honey"}, passages, 1,
            rng=np.random.default_rng(seed), min_words=3,
        )  # fmt: skip
        assert (pair.good_id, pair.bad_id) == ("good", "bad")
