"""Annotations: findings in the form that GitHub Actions shows beside a changed file."""

import re


def annotation(level: str, path: str, text: str) -> str:
    """Return one workflow command; a leading ``path:line:column:`` of the text becomes its place."""
    place = f"file={_property(path)}"
    match = re.match(r"(?::(\d+))(?::(\d+))?:\s*", text.removeprefix(path))
    if text.startswith(path) and match:
        place += f",line={match[1]}" + (f",col={match[2]}" if match[2] else "")
        text = text.removeprefix(path)[match.end() :]
    return f"::{level} {place}::{_message(text.removeprefix(f'{path}: '))}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
