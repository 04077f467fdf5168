"""Finds again the versions of the answers that a rebuilt study's challenges were made against."""

import time

from prefjudge.core.planning.challenge import Duel
from prefjudge.fieldwork.drives import find_drive
from prefjudge.formats.labels.qrels import read_qrels
from prefjudge.study.answers import last_version, load_open_challenge, save_answers, save_conclusion
from prefjudge.study.assignments import load_judgments
from prefjudge.study.settings import load_setting
from prefjudge.study.study import Study

FIRST_VERSION = "preference-v1.qrels"


def keep_answers_so_far(study: Study, target: str) -> None:
    """Record the next version of the answers, where the recovered judgments decide it.

    The answers come from the judgments, because `preference.qrels` may hold a later version: a challenge
    repeated against that one finds neither the newcomers that became answers, nor the pairs published for
    them. No file is written: the store may not know yet what the files hold.
    """
    with study.transaction(write=False) as db:
        version, log = last_version(db), load_judgments(db, target=target)
        challenge, driven = load_open_challenge(db), load_setting(db, "strategy")
    first, duels = study.folder / FIRST_VERSION, tuple[Duel, ...]()
    if challenge is None and (version or not len(log)):
        return
    if challenge is None and first.is_file():
        answers = read_qrels(first, name="preference")
    elif challenge is None and driven is None:
        return
    else:
        drive = find_drive(study, None, None, asks=False)
        if challenge is not None and drive.next(log).open.any():
            return
        answers, duels = drive.conclude(log)
    with study.transaction() as db:
        save_answers(db, version + 1, answers)
        if challenge is not None:
            save_conclusion(db, challenge.number, duels, time.time())
