"""The official leaderboard beside the boards of ``score``: its table, and its order."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prefjudge.core.judges.rehearsal import joint
from prefjudge.core.pooling.qrels import Qrels, restrict
from prefjudge.errors import InputError
from prefjudge.evaluation.leaderboards.boards import Board, label_board
from prefjudge.evaluation.scoring.measures import Measure
from prefjudge.evaluation.submissions.official import (
    OfficialBoard,
    find_entry,
    official_board,
    official_order,
)
from prefjudge.evaluation.submissions.submissions import group_submissions, short_name
from prefjudge.formats.labels.qrels import read_qrels
from prefjudge.formats.labels.stamps import file_stamps, rehearsal_in
from prefjudge.formats.leaderboard_csv import read_aliases, read_leaderboard
from prefjudge.gather.readers import Reader
from prefjudge.gather.score_inputs import ScoreInputs
from prefjudge.study.pooling import load_inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """The order in which plots show the runs, and whose it is."""

    name: str
    runs: tuple[str, ...]


def check_order(order_by: str | Path | None, found: ScoreInputs) -> None:
    """Refuse what is not a board, before any work is done.

    Raises
    ------
    InputError
        It is neither a label set's name nor a file.
    """
    names = [labels.name for labels in found.qrels]
    if order_by is None or str(order_by) in names or Path(order_by).is_file():
        return
    raise InputError(
        f"--order-by {order_by}: neither a label set's name nor a file",
        f"Give a label set ({', '.join(names)}), or a leaderboard's CSV.",
    )


def stamped(found: ScoreInputs, *boards: str | Path | None) -> ScoreInputs:
    """Return the sources with the stamps of the leaderboards' files that are shown beside them, too."""
    names = {labels.name for labels in found.qrels}
    files = [
        board for board in boards if board is not None and str(board) not in names and Path(board).is_file()
    ]
    theirs = rehearsal_in(stamp for file in files for stamp in file_stamps(file))
    return replace(found, rehearsal=joint(filter(None, (found.rehearsal, theirs))))


def run_order(order_by: str | Path, boards: Sequence[Board]) -> RunOrder:
    """Return the runs in the order of a board: a label set's, or that of a leaderboard's CSV."""
    for board in boards:
        if board.leaderboard.qrels == str(order_by):
            runs = tuple(row.run for row in board.leaderboard.ranked)
            return RunOrder(name=f"the {order_by} qrels", runs=runs)
    scored = tuple(row.run for row in boards[0].leaderboard.ranked)
    return RunOrder(name="the leaderboard", runs=official_order(scored, read_leaderboard(order_by)))


def official_scores(
    leaderboard: str | Path,
    found: ScoreInputs,
    measure: Measure,
    boards: Sequence[Board],
    reader: Reader,
) -> OfficialBoard:
    """Score the runs under the original qrels on all and on the selected queries, beside a leaderboard.

    The original qrels are the first label set; the selected queries are those of the second, the preference
    qrels. A study has restricted the original ones, so that they are read again.

    Raises
    ------
    InputError
        There is no label set, or no run is on the leaderboard.
    """
    if not found.qrels:
        raise InputError("a leaderboard's table needs qrels", "Add --qrels FILE.")
    entries = read_leaderboard(leaderboard)
    liked = found.qrels[1] if len(found.qrels) > 1 else None
    every = _unrestricted(found)
    selected = restrict(every, liked.queries) if liked else every
    ranks = reader.judged_all([every, selected])
    one, other = (
        label_board(placed, labels, measure, top=labels).leaderboard
        for placed, labels in zip(ranks, (every, selected), strict=True)
    )
    same = (board.leaderboard for board in boards if board.leaderboard.measure == str(measure))
    preference = next((board for board in same if liked and board.qrels == liked.name), None)
    made = official_board(entries, one, other, preference)
    if not made.listed:
        raise InputError(
            f"{leaderboard} lists none of the runs, such as {one.ranked[0].run!r}",
            "Give runs whose tags are ids of its entries, or descriptions of one entry each.",
        )
    return made


TeamsOf = Callable[[Sequence[str]], Mapping[str, str]]
"""The team of each of some runs; a run without one stands alone."""
AUDITED = "audit"


def find_teams(teams: str | Path | None, leaderboard: str | Path | None) -> TeamsOf | None:
    """Return who the teams of runs are: as a file says, or as a leaderboard prints them.

    Raises
    ------
    InputError
        A file cannot be read, or there is no leaderboard that prints teams.
    """
    if teams is None:
        return None
    if str(teams) != AUDITED:
        named = read_aliases(teams, "its team")
        return lambda runs: named
    if leaderboard is None:
        raise InputError("--teams audit takes the teams that a leaderboard prints", "Add --leaderboard FILE.")
    entries = sorted(read_leaderboard(leaderboard), key=lambda entry: (entry.date, entry.line))
    groups = group_submissions([(entry.name, entry.team) for entry in entries])
    short = Counter(short_name(team.name) for team in groups.teams)
    team_of = {
        submission: cut if short[cut := short_name(team.name)] == 1 else team.name
        for team in groups.teams
        for submission in team.submissions
    }

    def printed(runs: Sequence[str]) -> dict[str, str]:
        found = {run: find_entry(run, entries) for run in runs}
        return {run: team_of[one.name] for run, one in found.items() if one and one.name in team_of}

    return printed


def _unrestricted(found: ScoreInputs) -> Qrels:
    """Return the original qrels with all their queries."""
    if found.study is None:
        return found.qrels[0]
    with found.study.transaction(write=False) as db:
        inputs = [one for one in load_inputs(db) if one.kind == "qrels"]
    return read_qrels(Path(inputs[0].path), name=inputs[0].name) if inputs else found.qrels[0]
