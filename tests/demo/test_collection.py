"""The demo's collection is whole, of the stated size, and its runs are the ones that the script makes."""

import importlib.util
from collections import Counter
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "prefjudge" / "demo"


def rows(name: str, separator: str | None = "\t") -> list[list[str]]:
    return [line.split(separator) for line in (DEMO / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def queries() -> dict[str, str]:
    return dict(rows("queries.tsv"))


@pytest.fixture(scope="module")
def passages() -> dict[str, str]:
    return dict(rows("collection.tsv"))


@pytest.fixture(scope="module")
def truth() -> dict[tuple[str, str], float]:
    header, *body = rows("truth.tsv")
    assert header == ["query_id", "doc_id", "utility"]
    return {(query, doc): float(utility) for query, doc, utility in body}


@pytest.fixture(scope="module")
def labels() -> set[tuple[str, str]]:
    return {(query, doc) for query, _, doc, _ in rows("qrels.txt", None)}


@pytest.fixture(scope="module")
def runs() -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for path in sorted((DEMO / "runs").iterdir()):
        rankings = found.setdefault(path.stem, {})
        for query, q0, doc, rank, score, tag in rows(f"runs/{path.name}", None):
            rankings.setdefault(query, []).append(doc)
            assert (q0, int(rank), tag) == ("Q0", len(rankings[query]), path.stem)
            assert float(score) == float(score)
    return found


def test_sizes(queries, passages, labels, runs):
    assert (len(queries), len(passages), len(runs)) == (15, 80, 6)
    assert len(rows("queries.tsv")) == 15
    assert len(rows("collection.tsv")) == 80
    assert 15 <= len(labels) <= 16
    assert len(set(passages.values())) == 80
    lengths = {doc: len(text.split()) for doc, text in passages.items()}
    assert {doc: length for doc, length in lengths.items() if not 25 <= length <= 70} == {}
    assert all(len(ranking) == 10 == len(set(ranking)) for run in runs.values() for ranking in run.values())


def test_every_id_resolves(queries, passages, labels, truth, runs):
    assert {query for query, _ in labels} == set(queries)
    assert {doc for _, doc in labels} <= set(passages)
    assert set(truth) == {(query, doc) for query in queries for doc in passages}
    assert all(set(run) == set(queries) for run in runs.values())
    assert {doc for run in runs.values() for ranking in run.values() for doc in ranking} <= set(passages)


def test_gold_pairs_set_a_good_answer_against_an_off_topic_passage(queries, passages, truth):
    header, *gold = rows("gold.tsv")
    ids = {text: doc for doc, text in passages.items()}
    assert header == ["query_id", "query", "good", "bad"]
    assert len(gold) == 6
    for query, text, good, bad in gold:
        assert queries[query] == text
        assert truth[query, ids[good]] > 0.9
        assert truth[query, ids[bad]] == 0.0


def test_each_query_has_one_clearly_best_answer_and_the_label_often_misses_it(
    queries, passages, truth, labels
):
    missed = 0
    for query in queries:
        ranked = sorted(passages, key=lambda doc: truth[query, doc], reverse=True)
        assert truth[query, ranked[0]] - truth[query, ranked[1]] > 0.15
        assert sum(0.5 <= truth[query, doc] < 0.9 for doc in passages) >= 2
        missed += (query, ranked[0]) not in labels
    assert missed == 12


def test_pools_at_depth_1_have_sizes_1_to_6(queries, labels, runs, truth):
    pools = {query: {doc for labelled, doc in labels if labelled == query} for query in queries}
    for run in runs.values():
        for query, ranking in run.items():
            pools[query].add(ranking[0])
    assert Counter(map(len, pools.values())) == {1: 2, 2: 2, 3: 4, 4: 5, 5: 1, 6: 1}
    assert sum(len(list(combinations(pool, 2))) for pool in pools.values()) == 69
    assert all(max(truth[query, doc] for doc in pool) > 0.9 for query, pool in pools.items())


def test_preferences_turn_the_leaderboard_over(queries, labels, runs, truth):
    """Under the labels the run that learned them leads; under the best answers the strong runs do."""
    best = {max((key for key in truth if key[0] == query), key=truth.__getitem__) for query in queries}

    def ranking(relevant: set[tuple[str, str]]) -> list[str]:
        score = {
            tag: sum(
                1 / (place + 1)
                for query in run
                for place, doc in enumerate(run[query])
                if (query, doc) in relevant
            )
            for tag, run in runs.items()
        }
        return sorted(score, key=lambda tag: -score[tag])

    assert ranking(labels)[0] == "label-tuned"
    assert set(ranking(best)[:3]) == {"reranker-large", "reranker-small", "late-interaction"}


def test_the_script_makes_exactly_these_runs():
    script = load(ROOT / "scripts" / "make_demo_runs.py")
    made = {f"{tag}.txt": text for tag, text in script.make_runs().items()}
    assert made == {path.name: path.read_text(encoding="utf-8") for path in (DEMO / "runs").iterdir()}
    assert script.make_runs(seed=script.SEED + 1) != script.make_runs()


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
