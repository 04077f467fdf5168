"""What a worker, or a program in a worker's place, is told when something cannot be done."""

from prefjudge.errors import PrefjudgeError


class Refusal(PrefjudgeError):  # noqa: N818 - said to a worker, who did nothing wrong
    """A worker's request that cannot be granted; ``code`` is for programs, the message for people."""

    def __init__(self, code: str, message: str, status: int = 409) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
