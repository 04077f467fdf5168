"""The test that newcomers take before their first HIT, made of the gold pairs for practice."""

from prefjudge.core.asking.gold import GoldPair
from prefjudge.crowd.protocol import Crowd, Testing
from prefjudge.crowd.tasks import Choice, EntryTest, WorkerGroup
from prefjudge.errors import ConfigError, InputError, StudyError
from prefjudge.render.pages.hit import languages
from prefjudge.study.gold import REVIEW_FILE, load_practice
from prefjudge.study.settings import drop_setting, load_setting, save_setting
from prefjudge.study.study import Study

_RETRY_SECONDS = 24 * 3600
"""How long who took the test waits for another try, which has the same pairs."""
_OFFERED = "test offered:"
"""Before a target: the setting that is there while workers are offered a test."""


def entry_test(study: Study) -> EntryTest | None:
    """Return the test that the config asks for; None where it asks for none.

    Raises
    ------
    StudyError
        No gold pair is for practice.
    """
    rate = study.config.workers.min_practice_rate
    if rate is None:
        return None
    with study.transaction(write=False) as db:
        practice = load_practice(db)
    if not practice:
        raise StudyError(
            "min_practice_rate in [workers] of study.toml asks for a test, and no gold pair is for practice",
            f"Give two or three pairs a reason in the column practice of {study.folder / REVIEW_FILE}, "
            "then: prefjudge gold --accept; or delete min_practice_rate.",
        )
    design, words = study.config.design, languages()[study.config.design.language]
    notice = words["test_notice"].replace("{rate}", str(rate)).replace("{all}", str(len(practice)))
    how = words["how"].replace("{all}", str(len(practice)))
    return EntryTest(
        group=WorkerGroup(
            name=f"{words['test']} {_mark(study)}",
            notice=notice.replace("{title}", study.config.hit.title),
        ),
        intro=f"{design.instructions or how}\n\n{design.question}",
        choices=_choices(study, practice),
        min_rate=rate,
        work_seconds=study.config.hit.assignment_minutes * 60,
        retry_seconds=_RETRY_SECONDS,
    )


def _mark(study: Study) -> str:
    """Return the end of the names of the study's tests: one in each language that it was published in."""
    return study.opaque("test", length=8)


def note_test(study: Study, target: str) -> None:
    """Remember that workers are offered a test, before it is made."""
    with study.transaction() as db:
        save_setting(db, f"{_OFFERED}{target}", _mark(study))


def end_tests(study: Study, crowd: Crowd, target: str) -> None:
    """Offer the test no more, as every pair is judged; the next ``publish`` offers it again."""
    with study.transaction(write=False) as db:
        mark = load_setting(db, f"{_OFFERED}{target}")
    if mark is None or not isinstance(crowd, Testing):
        return
    crowd.end_tests(mark)
    with study.transaction() as db:  # after the call: one that was interrupted is repeated
        drop_setting(db, f"{_OFFERED}{target}")


def _choices(study: Study, practice: tuple[GoldPair, ...]) -> tuple[Choice, ...]:
    """Return the questions, in an order that tells nothing; half of the right answers come first.

    So who always takes the first passage gets half of them. Key, order and side are the same each time: a
    test that has not changed is not sent again.
    """

    def mark(pair: GoldPair, what: str) -> str:
        return study.opaque("test", what, pair.query, pair.good, pair.bad)

    sides = {pair: number % 2 for number, pair in enumerate(sorted(practice, key=lambda p: mark(p, "side")))}
    return tuple(
        Choice(
            key=mark(pair, "key"),
            text=pair.query,
            options=(pair.bad, pair.good) if sides[pair] else (pair.good, pair.bad),
            right=sides[pair],
        )
        for pair in sorted(practice, key=lambda p: mark(p, "key"))
    )


def refuse_test(crowd: Crowd, test: EntryTest | None) -> None:
    """Refuse a test that the crowd cannot give, before anything is published.

    Raises
    ------
    ConfigError
        The crowd has no tests.
    InputError
        It does not take this one.
    """
    if test is None:
        return
    if not isinstance(crowd, Testing):
        raise ConfigError(
            f"{crowd.endpoint} cannot test workers, as min_practice_rate in [workers] of study.toml asks",
            "Delete min_practice_rate: newcomers practise in their first HIT.",
        )
    if fault := crowd.fault_of_test(test):
        raise InputError(fault, "Choose fewer or shorter gold pairs for practice.")
