"""Positions against trec_eval's own code, where its Python binding is installed."""

import gzip

import numpy as np
import pytest

from prefjudge.core.runs import Order
from prefjudge.reading.labels import read_qrels
from prefjudge.reading.runs.heads import Reading, RunFiles

pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed (extra trec)")


def test_reciprocal_rank_and_average_precision(data_dir):
    qrels = read_qrels(data_dir / "cacm" / "qrels.txt")
    labels: dict[str, dict[str, int]] = {}
    for query, doc, grade in zip(qrels.query, qrels.doc, qrels.grade, strict=True):
        labels.setdefault(qrels.queries[query], {})[qrels.docs[doc]] = int(grade)
    scorer = pytrec_eval.RelevanceEvaluator(labels, {"recip_rank", "map"})
    paths = sorted((data_dir / "cacm" / "runs").iterdir())[::2]
    # the binding holds scores as float32
    for path, ranks in zip(paths, RunFiles(paths, Reading(order=Order.SCORE_F32)).judged(qrels), strict=True):
        run: dict[str, dict[str, float]] = {}
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            query, _, doc, _, score, _ = line.split()
            run.setdefault(query, {})[doc] = float(score)
        theirs = scorer.evaluate(run)
        for code, query in enumerate(qrels.queries):
            hits = np.sort(ranks.position[(ranks.query == code) & (ranks.grade > 0)])
            relevant = sum(grade > 0 for grade in labels[query].values())
            precision = (np.arange(1, hits.size + 1) / hits).sum() / relevant
            assert theirs[query]["recip_rank"] == pytest.approx(1 / hits[0] if hits.size else 0, abs=1e-12)
            assert theirs[query]["map"] == pytest.approx(precision, abs=1e-9)
