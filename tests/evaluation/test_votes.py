"""Votes drawn anew follow the strengths that the votes support."""

import numpy as np
import pytest

from prefjudge.core.resolving.confidence import assess_confidence
from prefjudge.evaluation.comparing.redrawn_votes import VoteModel, fit_votes

from .judging import Vote, make_judgments

VOTES: list[Vote] = [
    *[("1", "a", "b", 1)] * 8, ("1", "b", "a", 1), ("1", "c", "a", -1), ("1", "b", "c", 1),
    ("2", "c", "b", 1), ("2", "b", "a", 0), ("2", "c", "a", 1),
]  # fmt: skip
LOG = make_judgments(VOTES)


def test_a_vote_goes_to_the_left_by_the_logistic_curve_of_the_strengths() -> None:
    model = fit_votes(LOG, rng=np.random.default_rng(1))
    fitted = assess_confidence(LOG, rng=np.random.default_rng(1), draws=1)
    strength = {
        (fitted.queries[query], fitted.docs[fitted.doc[row]]): fitted.strength[row]
        for query in range(len(fitted.queries))
        for row in range(fitted.start[query], fitted.start[query + 1])
    }
    expected = [
        1 / (1 + np.exp(strength[query, right] - strength[query, left])) for query, left, right, _ in VOTES
    ]
    np.testing.assert_allclose(model.left, expected, rtol=1e-12)
    assert model.scale == fitted.scales.mean
    assert model.left[0] == pytest.approx(1 - model.left[8])  # the sides change, the documents do not
    assert model.left[0] > 0.5 > model.left[8]


def test_votes_are_drawn_by_their_probabilities_and_ties_stay_ties() -> None:
    model = VoteModel(judgments=LOG, left=np.linspace(0, 1, len(VOTES)), scale=1.0)
    rng = np.random.default_rng(2)
    drawn = [model.draw(rng) for _ in range(4_000)]
    choice = np.array([one.choice for one in drawn])
    assert choice.dtype == np.int8
    tied = LOG.choice == 0
    assert (choice[:, tied] == 0).all()
    assert set(choice[:, ~tied].ravel().tolist()) == {-1, 1}
    share = (choice == 1).mean(axis=0)
    np.testing.assert_allclose(share[~tied], model.left[~tied], atol=0.04)
    assert drawn[0].left is LOG.left
    assert drawn[0].query is LOG.query
    assert drawn[0].right is LOG.right
