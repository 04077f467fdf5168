"""The part of a study's config that says what a board takes in: ``[board]`` in study.toml."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Login = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*(\[bot\])?$")]


class BoardConfig(BaseModel):
    """Who may submit what to a leaderboard that is kept in Git.

    Attributes
    ----------
    maintainers : tuple of str
        Who may change more than a submission of their own, by their logins.
    per_team, days : int
        At most this many submissions of a team, and of a submitter, in any so many days.
    late_days : int
        The date in a submission's name is at most so many days ago.
    embargo_days : int
        An embargo ends at most so many days after that date; 0: there is none.
    megabytes, unpacked_megabytes : float
        The largest run file, as it is stored and unpacked.
    types : tuple of str
        What a submission may be.
    links : tuple of str
        Which of ``paper`` and ``code`` must be given.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    maintainers: tuple[Login, ...] = ()
    per_team: Annotated[int, Field(ge=1)] = 2
    days: Annotated[int, Field(ge=1, le=3660)] = 30
    late_days: Annotated[int, Field(ge=0, le=3660)] = 7
    embargo_days: Annotated[int, Field(ge=0, le=3660)] = 270
    megabytes: Annotated[float, Field(gt=0, le=2000)] = 50
    unpacked_megabytes: Annotated[float, Field(gt=0, le=100_000)] = 1000
    types: Annotated[tuple[str, ...], Field(min_length=1)] = ("full ranking", "reranking")
    links: tuple[Annotated[str, Field(pattern="^(paper|code)$")], ...] = ()

    def trusts(self, login: str) -> bool:
        """Return whether a login is that of a maintainer."""
        return any(is_same_login(login, one) for one in self.maintainers)


def is_same_login(one: str, other: str) -> bool:
    """Return whether two logins are one: hosts of repositories do not tell capitals apart."""
    return one.casefold() == other.casefold()
