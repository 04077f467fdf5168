import pytest

from prefjudge.evaluation.measures.measures import score_lists
from prefjudge.show.studies import result_lists_table


def test_reciprocal_ranks_of_all_lists_of_three_are_those_of_the_paper() -> None:
    """Craswell et al. (SIGIR 2021), Table 3."""
    found = score_lists()
    assert found.lists[:2] == ((1, 1, 1), (1, 1, 0))
    assert [round(score, 2) for score in found.scores] == [1, 1, 1, 1, 0.5, 0.5, 0.33, 0]
    assert [round(step, 2) for step in found.steps] == [0.5, 0.17, 0.33]
    assert not found.equally_spaced
    (note,) = result_lists_table(found).notes
    assert note == "The 4 values are not equally far apart: the steps are 0.50, 0.17, 0.33."


def test_precision_is_equally_spaced_and_the_first_place_decides_success() -> None:
    found = score_lists("P@4", depth=4)
    assert len(found.lists) == 16
    assert found.equally_spaced
    assert set(score_lists("Success@1", depth=2).scores) == {0.0, 1.0}


def test_lists_are_scored_by_the_measure_asked_for() -> None:
    """AP of three documents: the mean precision at the relevant ones of the list."""
    found = score_lists("AP", depth=3)
    expected = [1, 1, (1 + 2 / 3) / 2, 1, (1 / 2 + 2 / 3) / 2, 1 / 2, 1 / 3, 0]
    assert found.measure == "AP"
    assert found.scores == pytest.approx(expected)
    assert score_lists("Judged", depth=2).scores == (1.0, 1.0, 1.0, 1.0)
    assert score_lists("Judged", depth=2).equally_spaced
    assert score_lists().measure == "RR@10"
