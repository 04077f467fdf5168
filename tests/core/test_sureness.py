"""How sure the winners are, from probabilities that are set by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from prefjudge.core.resolving.confidence import (
    Confidence,
    ConfidenceSummary,
    ModelCheck,
    resolved_queries,
    summarise_confidence,
)
from prefjudge.core.resolving.resolutions import Resolution, resolve
from prefjudge.core.resolving.scales import Scales, Trust, prior_scales
from tests.core.tables import judgments_of

FOUND = resolve(
    judgments_of(
        "one a b a", "one a b a",
        "ring a b a", "ring b c b", "ring c a c",
        "thin a b a", "thin c d c",
        "sure a b b",
    ),
    sparse_rule="none",
)  # fmt: skip
CHANCES = {"one": (0.8, 0.2), "ring": (0.2, 0.3, 0.5), "thin": (0.8, 0.1, 0.06, 0.04), "sure": (0.05, 0.95)}


KNOWN = Scales(scale=np.array([0.9, 1.0, 1.1]), weight=np.array([0.25, 0.5, 0.25]), lapses=np.zeros(3))


def confidence(scales: Scales = KNOWN) -> Confidence:
    chance = np.concatenate([np.array(CHANCES[query]) for query in FOUND.queries])
    return Confidence(
        model="a model", scales=scales, draws=10, queries=FOUND.queries, docs=FOUND.docs, start=FOUND.start,
        doc=FOUND.doc, chance=chance, good=chance, loss=0.1 * (1.0 - chance), strength=np.zeros(chance.size),
        deviation=np.ones(chance.size),
    )  # fmt: skip


def test_sureness_is_a_mean_over_the_queries_that_have_winners() -> None:
    # one: a, at the bound of 80 %; ring: any of three, a third each; sure: b, at that of 95 %; thin: nobody.
    assert summarise_confidence(FOUND, confidence()) == ConfidenceSummary(
        model="a model",
        scale=1.0,
        rests_on="votes",
        error=KNOWN.error,
        error_low=KNOWN.interval()[0],
        error_high=KNOWN.interval()[1],
        lapses=0.0,
        trust=None,
        doubted=None,
        mean=pytest.approx((0.8 + 1 / 3 + 0.95) / 3),
        mean_low=pytest.approx((0.8 + 1 / 3 + 0.95) / 3),
        mean_high=pytest.approx((0.8 + 1 / 3 + 0.95) / 3),
        at_80=2,
        at_95=1,
        alone=0,
        outdone=0,
        fits=None,
        checks=(),
    )


def test_votes_that_do_not_tell_how_many_are_wrong_give_no_share_of_wrong_votes() -> None:
    found = summarise_confidence(FOUND, confidence(prior_scales()))
    assert found.rests_on == "prior"
    assert (found.error, found.error_low, found.error_high, found.lapses) == (None,) * 4
    assert found.mean == summarise_confidence(FOUND, confidence()).mean


def test_what_is_known_of_workers_is_said_and_what_cannot_be_checked() -> None:
    trust = Trust(
        workers=("w", "v", "u"), reliability=np.array([0.4, 1.0, 0.5]), crowd=0.8, mean=0.7,
        cast=np.ones(3, dtype=np.int64), gold=np.ones((2, 3), dtype=np.int64),
        _key=np.zeros(0, dtype=np.int64), _without=np.zeros(0),
    )  # fmt: skip
    found = summarise_confidence(FOUND, replace(confidence(), trust=trust))
    assert (found.trust, found.doubted) == (0.7, 1)
    _, doubted, unchecked = found.words
    assert "those of 1 worker less than half as much" in doubted
    assert "these votes cannot show whether these probabilities fit" in unchecked
    nobody = summarise_confidence(FOUND, replace(confidence(), trust=replace(trust, reliability=np.ones(3))))
    assert len(nobody.words) == 2


def test_winners_without_a_rival_are_counted_apart() -> None:
    start = np.array([0, *(FOUND.start[1:] - 1)])
    lone = replace(FOUND, start=start, doc=FOUND.doc[1:], winner=np.array([True, *FOUND.winner[2:]]))
    found = summarise_confidence(
        lone, replace(confidence(), chance=np.array([1.0, *confidence().chance[2:]]))
    )
    assert (found.at_80, found.alone) == (2, 1)
    assert "(2 with 0.8 or more, of which 1 is alone in the pool); " in found.words[0]
    assert "alone" not in summarise_confidence(FOUND, confidence()).words[0]


def test_a_winner_that_is_not_the_likeliest_is_counted_and_said() -> None:
    chance = confidence().chance.copy()
    chance[:2] = 0.4, 0.6  # one: a wins by the rule
    found = summarise_confidence(FOUND, replace(confidence(), chance=chance))
    assert found.outdone == 1
    assert found.words[1].startswith(
        "in 1 query another candidate is more likely to be the best than the winner"
    )
    chance[:2] = 0.497, 0.503  # as two digits show them, they are as likely
    assert summarise_confidence(FOUND, replace(confidence(), chance=chance)).outdone == 0


def test_nothing_is_sure_where_nothing_is_resolved() -> None:
    nobody = replace(FOUND, winner=np.zeros_like(FOUND.winner))
    found = summarise_confidence(nobody, confidence())
    assert math.isnan(found.mean)
    assert (found.at_80, found.at_95) == (0, 0)


def test_a_resolved_query_tells_all_and_probabilities_where_they_are_known() -> None:
    chance = confidence().chance
    chance[0] = 0.123456
    by_id = {one.query_id: one for one in resolved_queries(FOUND, replace(confidence(), chance=chance))}
    assert by_id["one"] == Resolution(
        query_id="one", status="single", winners=("a",), margin=2.0, cycle=(), pool_size=2, votes=2,
        missing=0, p_best={"a": 0.1235, "b": 0.2}, likely=("b", "a"), loss={"a": 0.02, "b": 0.08},
    )  # fmt: skip
    assert (by_id["ring"].status, by_id["ring"].cycle) == ("cycle", ("a", "b", "c"))
    assert (by_id["thin"].status, by_id["thin"].missing, by_id["thin"].winners) == ("sparse", 4, ())
    assert list(by_id["sure"].p_best.items()) == [("a", 0.05), ("b", 0.95)]
    likely = {one.query_id: one.likely for one in by_id.values()}
    assert (likely["sure"], likely["one"]) == (("b",), ("b", "a"))
    assert (by_id["sure"].among, by_id["one"].among) == ("b: 0.95", "any candidate")
    assert all(one.p_best == {} for one in resolved_queries(FOUND, None))


def test_checks_that_fail_are_said_with_their_direction() -> None:
    fine = ModelCheck(name="cycles", of=90, seen=0.1, low=0.05, high=0.15)
    bad = (
        ModelCheck(name="cycles", of=90, seen=0.2, low=0.05, high=0.15),
        ModelCheck(name="unanimous", of=80, seen=0.9, low=0.2, high=0.4),
    )
    found = summarise_confidence(FOUND, confidence(), (fine, *bad))
    assert found.fits is False
    first, unfit = found.words
    assert "on average" in first
    assert "of 90 threes 20.0% form a cycle, where 5.0% to 15.0%" in unfit
    assert "of 80 pairs 90.0% are unanimous" in unfit
    assert unfit.endswith("may be too high or too low")
    for check, way in zip(bad, ("too high", "too low"), strict=True):
        (*_, unfit) = summarise_confidence(FOUND, confidence(), (fine, check)).words
        assert unfit.endswith(f"may be {way}")
    assert summarise_confidence(FOUND, confidence(), (fine,)).fits is True
    assert len(summarise_confidence(FOUND, confidence(), (fine,)).words) == 1
