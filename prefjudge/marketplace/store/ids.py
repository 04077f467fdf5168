"""New identifiers, in the alphabet and length that clients of Mechanical Turk expect."""

import secrets
import string

_ALPHABET = string.ascii_uppercase + string.digits


def new_id() -> str:
    """Return an unguessable id of 30 characters for a HIT, an assignment or a type."""
    return "3" + _letters(29)


def new_worker_id() -> str:
    """Return a worker id: ``A`` and 13 characters."""
    return "A" + _letters(13)


def new_access_key() -> str:
    """Return the public half of a requester's key."""
    return "PJ" + _letters(18)


def new_secret() -> str:
    """Return 256 random bits as text, for keys, sessions and tokens."""
    return secrets.token_urlsafe(32)


def _letters(count: int) -> str:
    """Return unguessable characters of the alphabet, drawn together: a draw for each is a system call."""
    number, letters = secrets.randbelow(len(_ALPHABET) ** count), []
    for _ in range(count):
        number, letter = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[letter])
    return "".join(letters)
