"""A study's best answers: one source for its page, its release, its leaderboards and its challenges."""

from dataclasses import dataclass

import numpy as np

from prefjudge.core.asking.strategies import Strategy
from prefjudge.core.planning.strategy_names import BySize, parse_strategy
from prefjudge.core.planning.sure import Sure
from prefjudge.core.pooling.qrels import Qrels
from prefjudge.core.resolving.preferences import PREFERENCE_NAME
from prefjudge.core.resolving.resolutions import Resolutions, with_answers
from prefjudge.counts import many
from prefjudge.errors import StudyError, quoted
from prefjudge.formats.labels.qrels import read_qrels
from prefjudge.formats.lines.problems import Notice
from prefjudge.gather.judgments import JudgmentInput, fitting_rule, gather_judgments
from prefjudge.gather.winners import find_winners
from prefjudge.study.answers import last_version, load_answers, load_open_challenge
from prefjudge.study.study import QRELS_FILE, Study
from prefjudge.study.targets import advised, live_since


@dataclass(frozen=True, slots=True, kw_only=True)
class BestAnswers:
    """The best-known answers, and the judgments and tournaments behind them, whose winners they are.

    ``version`` is that of the answers which ``run`` keeps; 0 where ``resolve`` wrote them. ``counted_by`` is
    the rule of the tournaments, and ``derived`` says whether their winners are the answers.
    """

    votes: JudgmentInput
    qrels: Qrels
    version: int
    resolutions: Resolutions
    counted_by: str
    derived: bool
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswers:
    """The answers that a strategy has kept of the votes that it asked for, and could keep of others."""

    answers: Qrels
    strategy: Strategy


def kept_by_strategy(study: Study, answers: Qrels, version: int) -> KeptAnswers | None:
    """Return the best answers with the strategy that found them.

    None where none did, and where it cannot be asked again with other votes: a challenge has brought votes of
    its own, a model chose what people were shown, or votes went where they told runs apart.
    """
    name = study.setting("strategy")
    with study.transaction(write=False) as db:
        challenged = load_open_challenge(db) is not None
    if version != 1 or challenged or not name or study.setting("strategy model"):
        return None
    strategy = parse_strategy(name)
    sizes = strategy.steps if isinstance(strategy, BySize) else ((0, strategy),)
    if any(isinstance(one, Sure) and one.runs is not None for _, one in sizes):
        return None
    return KeptAnswers(answers=answers, strategy=strategy)


def load_best_answers(study: Study, notices: list[Notice] | None = None) -> tuple[Qrels, int]:
    """Return the last version of the answers that ``run`` keeps, or else what ``resolve`` wrote, version 0.

    Raises
    ------
    StudyError
        Neither has happened yet, or no query was judged far enough.
    """
    with study.transaction(write=False) as db:
        version = last_version(db)
        kept, rehearsed_until = load_answers(db, version, PREFERENCE_NAME), live_since(db)
    if version:
        return kept, version
    path = study.folder / QRELS_FILE
    driven = study.setting("strategy")
    settle = advised(study, "run") if driven else f"prefjudge resolve {quoted(study.folder)}"
    if not path.is_file() or path.stat().st_mtime < rehearsed_until:
        raise StudyError("the study has no preference qrels yet", f"Run: {settle}")
    if not path.stat().st_size:
        raise StudyError(
            "no query of the study has a best answer yet",
            f"Collect more judgments, then run: {settle}",
        )
    return read_qrels(path, name=PREFERENCE_NAME, notices=notices), 0


def explain_best_answers(study: Study, *, verb: str) -> BestAnswers:
    """Return the best-known answers with the tournaments that they won.

    A notice says so where the judgments now lead to other answers than ``resolve`` wrote.

    Raises
    ------
    StudyError
        There are no judgments, or no answers.
    """
    with study.reading():
        votes = gather_judgments(study, None, verb=verb)
        qrels, version = load_best_answers(study)
    (rule,), notices = ((votes.rule,), ()) if version else fitting_rule(votes)
    found = find_winners(votes.log, rule=rule, pools=votes.pools, asked=votes.asked)
    answered = with_answers(found, qrels, (version and votes.driven_by) or rule)
    others = np.unique(found.query[found.winner != answered.winner]).size
    if others and not version:
        notices += (
            f"{QRELS_FILE} has other answers to {many(others, 'query')} than {rule} finds in the "
            "judgments as they are: other options made it, or judgments have come since. `prefjudge resolve` "
            "makes it again",
        )
    return BestAnswers(
        votes=votes,
        qrels=qrels,
        version=version,
        resolutions=answered,
        counted_by=rule,
        derived=not version and not others,
        notices=notices,
    )
