from dataclasses import replace

import numpy as np

from prefjudge.core.gold import GoldPair, lexical_success, suggest_gold
from prefjudge.core.runs import Qrels
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
    by_query = {g.query_id: (g.good_id, g.bad_id) for g in reversed(gold)}
    assert ("q1", "bears") not in {(g.query_id, g.bad_id) for g in gold}, "it is about the same"
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
    judged = Qrels.all_relevant(
        name="qrels", queries=("q",), docs=("good",), query=np.zeros(1, np.int32), doc=np.zeros(1, np.int32),
    )  # fmt: skip
    for seed in range(6):  # whichever passage is the first on the shelf
        (pair,) = suggest_gold(
            judged, {"q": "who makes honey"}, passages, 1, rng=np.random.default_rng(seed), min_words=1
        )
        assert (pair.good_id, pair.bad_id) == ("good", "long")


def drawn_texts(rng: np.random.Generator) -> tuple[dict[str, str], dict[str, str], Qrels]:
    """Return queries and passages that share function words by chance, and a relevant passage for each."""
    function, about = [f"f{i}" for i in range(12)], [f"word{i}" for i in range(60)]

    def text(topic: list[str], own: int, common: int) -> str:
        words = [*rng.choice(topic, own, replace=False), *rng.choice(function, common)]
        return " ".join([*words, *rng.choice(about, 20)])

    topics = [list(rng.choice(about, 12, replace=False)) for _ in range(60)]
    queries = {
        f"q{n}": " ".join([*topic[:3], *rng.choice(function, 6, replace=False)])
        for n, topic in enumerate(topics)
    }
    passages = {f"d{n}": text(topic, 5, 8 + n % 7) for n, topic in enumerate(topics)}
    return queries, passages, qrels_of([(f"q{n}", f"d{n}", 1.0) for n in range(60)])


def test_words_in_common_with_the_question_tell_the_right_passage_of_half_of_the_gold() -> None:
    queries, passages, judged = drawn_texts(np.random.default_rng(1))
    found = suggest_gold(judged, queries, passages, 60, rng=np.random.default_rng(2))
    assert len({pair.query_id for pair in found}) == 60
    success = lexical_success(found, passages)
    assert success is not None
    assert success <= 0.6
    least = [replace(pair, bad=min(passages.values(), key=lambda text: shared(pair.query, text)))
             for pair in found]  # fmt: skip
    easy = lexical_success(least, passages)
    assert easy is not None
    assert easy > 0.9, "what shares fewest words with the question gives the answer away"


def shared(query: str, text: str) -> int:
    return len(set(query.split()) & set(text.split()))


def test_a_query_is_used_again_with_another_off_topic_passage() -> None:
    queries, passages, judged = drawn_texts(np.random.default_rng(1))
    found = suggest_gold(judged, queries, passages, 150, rng=np.random.default_rng(2))
    assert len(found) == 150 == len({(pair.query_id, pair.bad_id) for pair in found})
    assert {pair.query_id for pair in found[:60]} == set(queries), "each was used before any again"
    assert all(pair.bad_id != pair.good_id for pair in found)


def test_the_success_of_a_choice_by_words() -> None:
    def gold(good: str, bad: str) -> GoldPair:
        return GoldPair(query_id="q", query="who makes honey", good_id="a", good=good, bad_id="b", bad=bad)

    more, less, none = gold("bees make honey", "rome"), gold("bees", "honey cake"), gold("bees", "rome")
    assert lexical_success([], {}) is None
    assert lexical_success([more], {}) == 1.0
    assert lexical_success([less], {}) == 1.0, "who chooses the passage with fewer words is right"
    assert lexical_success([none], {}) == 0.5
    assert lexical_success([more, less], {}) == 0.5
    assert lexical_success([more, more, less, none], {}) == 0.625
