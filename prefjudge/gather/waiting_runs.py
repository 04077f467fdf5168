"""Runs whose challenge is under way: their newcomers are not judged, so no board ranks them yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prefjudge.gather.inputs import paths_of
from prefjudge.study.answers import load_open_challenge
from prefjudge.study.pooling import InputFile, load_inputs
from prefjudge.study.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRuns:
    """The runs of the challenge that is under way, and the query_id and doc_id of their newcomers."""

    challenge: int
    names: tuple[str, ...]
    files: tuple[str | Path, ...]
    newcomers: frozenset[tuple[str, str]]

    def others(self, runs: Sequence[str | Path]) -> tuple[str | Path, ...]:
        """Return the run files that do not wait, however they are called here."""
        waiting = {Path(path).resolve() for path in self.files}
        return tuple(path for path in runs if Path(path).resolve() not in waiting)

    def __str__(self) -> str:
        names = ", ".join(self.names)
        return (
            f"challenge {self.challenge} is under way: {names} not judged yet, and not ranked; "
            "`prefjudge run` continues it"
        )


def split_runs(study: Study) -> tuple[list[InputFile], WaitingRuns | None]:
    """Return the study's run files that are judged, and those that wait for a challenge to end."""
    with study.transaction(write=False) as db:
        challenge = load_open_challenge(db)
        runs = [found for found in load_inputs(db) if found.kind == "run"]
    if challenge is None:
        return runs, None
    names = {source for _, _, source in challenge.rows}
    waiting = [found for found in runs if found.name in names]
    return [found for found in runs if found.name not in names], WaitingRuns(
        challenge=challenge.number,
        names=tuple(found.name for found in waiting),
        files=paths_of(waiting, "run", study.folder),
        newcomers=frozenset((query, doc) for query, doc, _ in challenge.rows),
    )
