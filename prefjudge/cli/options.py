"""Arguments and options that several verbs share."""

from pathlib import Path
from typing import Annotated

import typer

NewStudy = Annotated[Path, typer.Argument(metavar="STUDY", help="The folder to make.", show_default=False)]
StudyFolder = Annotated[Path, typer.Argument(metavar="STUDY", help="The study's folder.", show_default=False)]
MaybeStudy = Annotated[
    Path | None,
    typer.Argument(metavar="[STUDY]", help="The study's folder; leave it out to work on files alone."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
Runs = Annotated[
    list[str], typer.Option(help="Run files, or a quoted pattern such as 'runs/*.gz'. May be repeated.")
]
Out = Annotated[Path | None, typer.Option(help="The file to write.")]
Live = Annotated[bool, typer.Option("--live", help="Use the live target of the config, which pays.")]
