"""Arguments and options that several verbs share."""

from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, TypedDict, TypeVar, get_type_hints

import typer

from prefjudge.errors import ConfigError

Verb = TypeVar("Verb", bound=Callable[..., None])

NewStudy = Annotated[Path, typer.Argument(metavar="STUDY", help="The folder to make.", show_default=False)]
StudyFolder = Annotated[Path, typer.Argument(metavar="STUDY", help="The study's folder.", show_default=False)]
MaybeStudy = Annotated[
    Path | None,
    typer.Argument(metavar="[STUDY]", help="The study's folder; leave it out to work on files alone."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
Out = Annotated[Path | None, typer.Option(help="The file to write.")]
Target = Annotated[
    str | None, typer.Option(metavar="PATH", help="The file to write, or an address that a cluster writes.")
]
Plot = Annotated[Path | None, typer.Option(help="Draw it: a .svg or .png file.")]
Format = Annotated[str, typer.Option(help="What to print: terminal, csv, md or tex.")]
Seed = Annotated[int | None, typer.Option(help="The seed of what is drawn; a study has its own.")]
Sandbox = Annotated[bool, typer.Option("--sandbox", help="Use the sandbox: play money.")]
Live = Annotated[bool, typer.Option("--live", help="Use the live target of the config, which pays.")]

# what is scored
Labels = Annotated[list[str], typer.Option(help="FILE or NAME=FILE. May be repeated.")]
Measures = Annotated[list[str], typer.Option(help="RR@10, nDCG@10, AP(rel=2)@100 …; may be repeated.")]
Judgments = Annotated[
    Path | None, typer.Option(help="Side-by-side judgments, for measures such as ppref@10.")
]
Pool = Annotated[
    Path | None,
    typer.Option(help="The pool that was judged, as pool --out writes it; a study knows its own."),
]
OnlyQueries = Annotated[Path | None, typer.Option(help="Look at the queries of this file only.")]

# runs, and how they are read
Runs = Annotated[
    list[str], typer.Option(help="Run files, a folder, or a pattern such as 'runs/*.gz'. May be repeated.")
]
OrderBy = Annotated[str | None, typer.Option(help="score, score-f32, rank or file.")]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Processes that read side by side; by default one a core, for large files."),
]


def one_target(*, sandbox: bool, live: bool) -> None:
    """Refuse to guess which of the two was meant.

    Raises
    ------
    ConfigError
        Both targets are named.
    """
    if sandbox and live:
        raise ConfigError("--sandbox and --live exclude each other", "Leave one of them out.")


class ReadOptions(TypedDict):
    """How runs are read: what every verb that reads them takes, as ``**reading: Unpack[ReadOptions]``."""

    trust: Annotated[bool, typer.Option("--trust", help="Read only what is needed of the runs.")]
    on_duplicate: Annotated[str, typer.Option(help="error, first or best: a document listed twice.")]
    workers: Workers
    cache: Annotated[Path | None, typer.Option(help="Keep copies of checked runs here.")]
    engine: Annotated[str, typer.Option(help="What reads the runs: files, duckdb or spark.")]


_DEFAULTS = ReadOptions(trust=False, on_duplicate="error", workers=None, cache=None, engine="files")


def reads_runs(verb: Verb) -> Verb:
    """Spell the options in ``**reading`` out for typer, which reads signatures and knows no Unpack."""
    own = [one for one in signature(verb).parameters.values() if one.kind is not one.VAR_KEYWORD]
    hints = get_type_hints(ReadOptions, include_extras=True)
    shared = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[name])
        for name, default in _DEFAULTS.items()
    ]
    verb.__signature__ = signature(verb).replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
    return verb
