"""Pair agreement: how often a run orders two passages as people do."""

from collections.abc import Sequence
from dataclasses import dataclass

from prefjudge.core.pooling.qrels import JudgedRanks
from prefjudge.evaluation.scoring.judged_pairs import ComparedPairs, positions


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAgreement:
    """How one run orders the judged pairs that it has near its top.

    Attributes
    ----------
    run : str
        The run tag.
    agree, disagree : int
        The decided pairs with both documents within the depth that the run orders as the majority does, and
        those that it does not.
    """

    run: str
    agree: int
    disagree: int

    @property
    def ratio(self) -> float:
        """The share of agreement; NaN where the run has no judged pair within the depth."""
        pairs = self.agree + self.disagree
        return self.agree / pairs if pairs else float("nan")


def pair_agreement(
    ranks: Sequence[JudgedRanks], pairs: ComparedPairs, *, depth: int = 10
) -> tuple[PairAgreement, ...]:
    """Compare the order of judged pairs in each run with the preferences.

    Parameters
    ----------
    ranks : sequence of JudgedRanks
        Where each run placed the rows of ``pairs.documents``.
    pairs : ComparedPairs
        The preferences; pairs with as many votes either way do not count.
    depth : int
        Both documents of a pair must stand within the first ``depth`` places.

    Returns
    -------
    tuple of PairAgreement
        One per run, in the order given.

    Notes
    -----
    Arabzadeh et al., "Shallow pooling for sparse labels" (2021), section 4.1: 63.07 % for their run L at 10.
    """
    preferred, other = pairs.preferred[pairs.decided], pairs.other[pairs.decided]
    rows = []
    for placed in ranks:
        place = positions(placed, pairs.documents)
        both = (place[preferred] <= depth) & (place[other] <= depth)
        agree = int((both & (place[preferred] < place[other])).sum())
        rows.append(PairAgreement(run=placed.run, agree=agree, disagree=int(both.sum()) - agree))
    return tuple(rows)
