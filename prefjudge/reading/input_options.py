"""How runs, queries and collections are read: the options of the verbs that read all of them."""

from typing import cast

from prefjudge.reading import run_options as read_options
from prefjudge.reading import text_options
from prefjudge.reading.run_options import ReadOptions
from prefjudge.reading.text_options import TextOptions


class InputOptions(ReadOptions, TextOptions, total=False):
    """How files are read: the words of `ReadOptions` and of `TextOptions`, as ``Unpack[InputOptions]``."""


DEFAULTS: InputOptions = {**read_options.DEFAULTS, **text_options.DEFAULTS}
"""What stands where a word is not given."""


def run_options(how: InputOptions) -> ReadOptions:
    """Return the words that say how runs are read."""
    return cast("ReadOptions", {word: said for word, said in how.items() if word in read_options.DEFAULTS})
