"""The command line: turns what is typed into a verb, and errors into messages and exit codes."""

import gc
import os
import re
import signal
import sys
import warnings
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from prefjudge import VERBS
from prefjudge.cli.commands import HELP_NAMES, Verbs
from prefjudge.errors import PrefjudgeError
from prefjudge.renamed import OldName

app = typer.Typer(
    name="prefjudge",
    cls=Verbs,
    help="Turn runs and sparse qrels into preference qrels, judged side by side by a crowd, and re-score.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings=HELP_NAMES,
)

_OBJECTS = 20_000
"""New objects after which the garbage collector looks for circles. After 700, as by default, it takes a
twelfth of a large report's time."""
_NEAR = 0.7
"""How alike a name is to be that is offered in place of one that does not exist."""
_MISUSED: type[Exception] = typer.BadParameter.__bases__[0]
"""What every wrong usage is; typer keeps the name to itself."""
_INTERRUPTED = 130
"""The exit code after Ctrl-C, which typer returns without a word."""
_ANEW = {"try", "reproduce", "check", "compare", "winratio", "stability", "agreement", "audit"}
"""Verbs that begin anew when they are repeated."""


def _print_version(asked: bool) -> None:
    if asked:
        from prefjudge.version import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    pass


def repeat_runs(arguments: list[str]) -> list[str]:
    """Put ``--runs`` before each file that a shell made of an unquoted ``--runs DIR/*``."""
    repeated: list[str] = []
    for place, argument in enumerate(arguments):
        after_run = place > 1 and repeated[-2:-1] == ["--runs"]
        if after_run and not argument.startswith("-") and os.path.isfile(argument):  # noqa: PTH113 - pathlib waits
            repeated.append("--runs")
        repeated.append(argument)
    return repeated


def _end(code: int) -> NoReturn:
    if code == _INTERRUPTED:
        goes_on = _ANEW.isdisjoint(sys.argv[1:2])
        sys.stderr.write(f"\ninterrupted{'; repeat the verb to continue where it stopped' * goes_on}\n")
    sys.exit(code)


def _misused(error: Any) -> None:
    """Say what was typed wrong as every other error is said, and where to read how it is typed."""
    from difflib import get_close_matches

    from prefjudge.cli.output import complain

    ctx, what, near = error.ctx, error.format_message().rstrip("."), list[str]()
    verb = f"{ctx.info_name} " if ctx and ctx.parent else ""
    if (option := getattr(error, "option_name", "")) and what.startswith("No such option"):
        known = [name for one in ctx.command.params for name in one.opts] if ctx else []
        what, near = f"no option {option}", get_close_matches(option, known, 2, _NEAR)
    elif typed := re.match("No such command '(.*?)'", what):
        known = [one.name for one in VERBS]
        what, near = f"no verb {typed[1]}", get_close_matches(typed[1], known, 2, _NEAR)
    elif typed := re.match(r"Got unexpected extra argument\S* \((.*)\)", what):
        what = f"too many arguments: {typed[1]}"
        if Path(typed[1].split()[0]).exists() and any("--runs" in one.opts for one in ctx.command.params):
            near = ["--runs FILE --qrels FILE"]
    meant = f"Did you mean {' or '.join(near)}? " if near else ""
    if what:  # nothing was typed, and help was printed
        complain(PrefjudgeError(what[:1].lower() + what[1:], f"{meant}See: prefjudge {verb}--help"))


def _note_old_names() -> None:
    """Have an old name told as every other note; what other packages warn of is theirs to show."""
    from prefjudge.cli.output import notice

    theirs = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, OldName):
            notice((str(message),))
        else:
            theirs(message, category, *where, **more)

    warnings.showwarning = show


def main() -> None:
    """Run the command line; a user's mistake ends in a message, never in a traceback."""
    gc.set_threshold(_OBJECTS)
    _note_old_names()
    # Read when numpy is loaded. No matrix here is worth a second thread, and OpenBLAS's threads wait for each
    # other in a loop: on busy cores they double the time of a large report.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1"))
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")  # ids of any bytes are printed as they are
    for told in (
        signal.SIGTERM,
        getattr(signal, "SIGHUP", signal.SIGTERM),
    ):  # as after Ctrl-C, a verb tidies up
        if signal.getsignal(told) is signal.SIG_DFL:
            signal.signal(told, lambda number, _: sys.exit(128 + number))
    try:
        try:
            code = app(repeat_runs(sys.argv[1:]), standalone_mode=False)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
        if code:
            _end(code)
    except typer.Abort:
        sys.stderr.write("\nstopped: the question was not answered\n")
        sys.exit(1)
    except _MISUSED as error:
        _misused(error)
        sys.exit(2)
    except PrefjudgeError as error:
        from prefjudge.cli.output import complain

        complain(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _end(_INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        if error.filename is not None:  # a file that vanished, or a folder where nothing can be written
            sys.stderr.write(f"error: {error.filename}: {error.strerror}\n")
            sys.exit(1)
        with suppress(OSError):
            sys.stdout.close()  # otherwise Python tries again at its exit, and prints a second error
        sys.stderr.write(f"error: the output cannot be written: {error.strerror}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
