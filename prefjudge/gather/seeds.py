"""The random numbers of a verb: from the study's streams, or from a seed."""

from typing import TYPE_CHECKING

from prefjudge.study.study import Study

if TYPE_CHECKING:
    import numpy as np

DEFAULT_SEED = 2021
"""The seed of what is drawn on plain files; a study has its own."""


def generator(study: Study | None, stream: str, seed: int | None = None) -> "np.random.Generator":
    """Return a generator of the seed given, else the study's stream of that name."""
    import numpy as np

    if seed is None and study is not None:
        return study.rng(stream)
    return np.random.default_rng(DEFAULT_SEED if seed is None else seed)


def seed_words(study: Study | None, seed: int | None) -> str:
    """Return the seed that `generator` takes, in words."""
    own = seed is None and study is not None
    return "the study's" if own else str(DEFAULT_SEED if seed is None else seed)
