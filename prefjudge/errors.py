"""Every deliberate error: what went wrong, where, and how to fix it.

The subclasses say who must act. A command line prints ``message`` and ``hint`` and never a traceback.
"""

from collections.abc import Sequence


def quoted(path: object) -> str:
    """Return a path as a shell takes it, for the commands in messages and hints."""
    from shlex import quote

    return quote(str(path))


class PrefjudgeError(Exception):
    """The base of every error that prefjudge raises on purpose.

    Parameters
    ----------
    message : str
        What went wrong and where.
    hint : str, optional
        What to do about it.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class InputError(PrefjudgeError):
    """A file or value that the user gave cannot be read as what it should be.

    ``problems`` holds each problem found (``file:line:column: what: the offending text``), up to a limit,
    so that a file can be fixed in one go.
    """

    def __init__(self, message: str, hint: str = "", problems: Sequence[str] = ()) -> None:
        super().__init__("\n".join([message, *problems]), hint)
        self.problems = tuple(problems)


class ConfigError(PrefjudgeError):
    """The study's config is wrong."""


class PluginError(PrefjudgeError):
    """What another package adds to prefjudge cannot be used; all else can."""


class StudyError(PrefjudgeError):
    """The study is not in the state that the verb needs."""


class BudgetError(PrefjudgeError):
    """The call would spend more than the config allows."""


class CrowdError(PrefjudgeError):
    """The marketplace refused, failed or could not be reached."""


class NotFinished(PrefjudgeError):  # noqa: N818 - a state, not a fault
    """The work is not finished: HITs are open, or queries undecided."""

    exit_code = 3
