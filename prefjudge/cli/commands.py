"""Makes the command of a verb from the signature and the docstring of its step.

A result is printed as its ``screen``, or with ``--details`` as its ``tables``. A verb that says more has a
function of its name in a file of ``_ROOMS``, which prints its ``result``. One that asks, waits, shows its
progress, or ends with a code of its own takes the step itself instead, as ``call``, with what was typed
filled in. Further words are taken by their names: those of the step, and
options of the verb's own. One that is annotated with ``typer.Option`` takes the place of the step's.
``VERB_ENVIRONMENT`` names the options that are read from the environment where they are not typed.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from decimal import Decimal, InvalidOperation
from enum import Enum, StrEnum
from functools import partial
from inspect import Parameter, Signature, signature
from math import inf, nan
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from prefjudge import GROUPS, VERBS, Verb, step
from prefjudge.cli import crowd, road, share, sure
from prefjudge.cli.help import asked_group, of_verb, overview
from prefjudge.cli.options import Json
from prefjudge.cli.output import at_work, notice, print_json, print_result, stamp
from prefjudge.cli.step_options import StepOption, step_options, step_words
from prefjudge.errors import InputError
from prefjudge.renamed import told

HELP_NAMES = {"help_option_names": ["-h", "--help"]}


class Verbs(TyperGroup):
    """The verbs. The command of one is made when it is typed: ``--help`` needs their summaries alone."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for verb in VERBS:
            self.add_command(
                TyperCommand(name=verb.name, help=verb.summary, rich_help_panel=GROUPS[verb.group]), verb.name
            )

    def get_params(self, ctx: Any) -> Any:
        """Return the options before a verb."""
        options = super().get_params(ctx)
        read_lightly(options)  # type: ignore[arg-type]
        return options

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what was typed; ``--help`` is answered here, as it takes the name of a group."""
        group = asked_group(args)
        if group is not None:
            typer.echo(overview(group))
            raise typer.Exit
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the road, where nothing was typed."""
        typer.echo(overview())

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is typed, with its options."""
        _refuse_old("verb", args[0])
        name, known, rest = super().resolve_command(ctx, args)
        return name, known and command_of(next(verb for verb in VERBS if verb.name == name)), rest


def _refuse_old(kind: Literal["verb", "option"], name: str, verb: str = "") -> None:
    """Say in one line what stands for an old name that was typed, and end as for any wrong usage."""
    if words := told(kind, name, verb=verb):
        typer.echo(words, err=True)
        raise typer.Exit(2)


class _VerbCommand(TyperCommand):
    """The command of one verb."""

    verb: Verb

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print one screen; ``--help-all`` prints every option."""
        if ctx.meta.get(_WHOLE):
            super().format_help(ctx, formatter)
        else:
            typer.echo(of_verb(self.verb, self, ctx))

    def get_params(self, ctx: Any) -> Any:
        """Return its options."""
        options = super().get_params(ctx)
        read_lightly(options, signature(self.callback) if self.callback else None)  # type: ignore[arg-type]
        return options

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what was typed. What is empty, or not a number, is refused here in words of ours."""
        taken = {spelled for option in self.params for spelled in option.opts}
        for word in {one.partition("=")[0] for one in args} - taken:
            _refuse_old("option", word, self.verb.name)
        given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        numbers = _numbers(signature(self.callback)) if self.callback else {}
        for option in self.get_params(ctx):
            assert isinstance(option, TyperArgument | TyperOption), option
            if {*args} & {*option.opts} and (other := {*args} & {*option.secondary_opts}):
                raise typer.BadParameter(f"{other.pop()} says the opposite.", ctx=ctx, param=option)
            value = given.get(option.name)
            if value is None:
                value = option.value_from_envvar(ctx)
            for text in value if isinstance(value, list | tuple) else [value]:
                doubt = _doubt(text, numbers.get(str(option.name))) if isinstance(text, str) else ""
                if doubt and not ctx.resilient_parsing:
                    raise typer.BadParameter(doubt, ctx=ctx, param=option)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


class _Number(NamedTuple):
    """What an option takes that takes a number."""

    kind: type[int] | type[float]
    low: float | None
    high: float | None

    def __str__(self) -> str:
        """Return it as the end of a sentence."""
        words = "a whole number" if self.kind is int else "a number"
        if self.low is None:
            return words
        return f"{words} of {self.low} {'or more' if self.high is None else f'to {self.high}'}"

    def doubt(self, text: str) -> str:
        """Return why a text is not taken for such a number; empty where it is."""
        try:
            number = self.kind(text)
        except ValueError:
            number = nan
        low, high = -inf if self.low is None else self.low, inf if self.high is None else self.high
        if not low <= number <= high:  # not so of nan, either
            return f"{text!r} is not {self}."
        return f"{text} is too large." if abs(number) >= _BEYOND else ""


_BEYOND = 2**63
"""Numbers from here on are refused, as numpy cannot count so far."""


def _numbers(options: Signature) -> dict[str, _Number]:
    found = {}
    for option in options.parameters.values():
        base, info = get_args(option.annotation)[:2]
        for kind in {int, float}.intersection([base, *get_args(base)]):
            found[option.name] = _Number(kind, info.min, info.max)
    return found


def _doubt(text: str, number: _Number | None) -> str:
    """Return why an option does not take a text; empty where it may."""
    if not text:
        return "it is empty. Give a value, or leave it out."
    return number.doubt(text) if number else ""


def command_of(verb: Verb) -> Any:
    """Return the command of a verb, with its options."""
    alone = typer.Typer(
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings=HELP_NAMES,
    )
    words = f"{verb.summary}\n\n{step_words(verb.function)}".replace("[", r"\[")
    alone.command(verb.name, cls=_VerbCommand, help=words)(verb_function(verb.function))
    command: Any = typer.main.get_command(alone)
    command.verb = verb
    from_environment = _printed(f"{verb.function.upper()}_ENVIRONMENT") or ()
    for option in command.params:
        if option.name in from_environment:
            option.envvar = f"PREFJUDGE_{option.name.upper()}"
    return command


_ROOMS = (road, share, sure, crowd)


def _printed(name: str) -> Any:
    """Return what stands under a name in the files that print; None where nothing does."""
    return next((found for room in _ROOMS if (found := vars(room).get(name))), None)


_WHOLE = "prefjudge.help-all"


def _whole_help(ctx: typer.Context, asked: bool) -> None:
    if asked:
        ctx.meta[_WHOLE] = True
        typer.echo(ctx.get_help(), color=ctx.color)
        raise typer.Exit


_JSON = Parameter("json", Parameter.KEYWORD_ONLY, default=False, annotation=Json)
_HELP_ALL = Parameter(
    "help_all",
    Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool, typer.Option("--help-all", is_eager=True, callback=_whole_help, help="Show every option.")
    ],
)


def verb_function(name: str) -> Callable[..., None]:
    """Return a function whose signature typer reads as the options of a verb."""
    show: Callable[..., None] = _printed(name) or print_result
    verb = next(one.name for one in VERBS if one.function == name)
    (first, _), *others = signature(show).parameters.items()
    own = dict(others)
    words = tuple(own)
    if first == "result":
        own["json"] = _JSON
    known = {option.name: option for option in step_options(name)}
    parameters = [_parameter(option, own.get(option.name)) for option in known.values()]
    parameters += [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own.values() if one.name not in known]
    parameters.append(_HELP_ALL)

    def run(**given: object) -> None:
        arguments = {word: _plain(value) for word, value in given.items() if word in known}
        call = partial(step(name), **arguments)
        if "workers" not in known and "workers" in signature(call).parameters:
            call = partial(call, workers=_processes())
        said = {word: given[word] for word in words}
        if first == "result":
            with at_work(verb):
                result = call()
            _print(result, show, bool(given["json"]), said)
        else:
            show(call, **said)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


def _processes() -> int | None:
    """Return how many processes read runs: PREFJUDGE_WORKERS, else as many as pay."""
    text = os.environ.get("PREFJUDGE_WORKERS")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text)):
        raise InputError(
            f"PREFJUDGE_WORKERS is {text!r}; it takes a whole number of 1 or more",
            "Unset it to let prefjudge choose.",
        )
    return int(text)


def _print(
    result: Any,
    show: Callable[..., None],
    json: bool,
    words: Mapping[str, object],
) -> None:
    """Print a result, and what there is to know of its input: for people, or as JSON."""
    notices = getattr(result, "notices", ())
    if json or "details" not in words:  # one screen has its notes below what was found
        notice(notices)
        stamp(getattr(result, "rehearsal", None))
    if json:
        print_json(result, notices)
    else:
        show(result, **words)


def _plain(value: object) -> object:
    """Return what was chosen as text: the enumerations are made for typer alone."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.value if isinstance(value, Enum) else value


def _parameter(option: StepOption, own: Parameter | None) -> Parameter:
    """Return a step's option as typer takes it, shaped by what the verb's own function says of it."""
    shape, default = None, _default(option)
    if own is not None and get_origin(own.annotation) is Annotated:
        base, shape = get_args(own.annotation)[:2]
        kind = _kind(option) if option.choices else base
        default = default if own.default is Parameter.empty else own.default
    else:
        kind = _kind(option)
    info = copy(shape) if shape is not None else _info(option)
    info.help = info.help or _help(option)
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info])


def _info(option: StepOption) -> Any:
    if option.positional:
        metavar = None if "several" in option.kinds else option.name.upper()
        return typer.Argument(metavar=metavar, show_default=False)
    dashed = f"--{option.name.rstrip('_').replace('_', '-')}"
    if "bool" in option.kinds and option.default is False:
        return typer.Option(dashed)
    if "Decimal" in option.kinds:
        return typer.Option(metavar="DOLLARS", parser=_money)
    metavar = "NAME" if len(option.choices) > _SHOWN else None
    spelled = [dashed] if option.name.endswith("_") else []  # a word that Python keeps for itself
    return typer.Option(*spelled, min=option.low, max=option.high, metavar=metavar)


_SHOWN = 5
"""At most this many choices are shown beside an option's name; more are listed in its help."""


def _help(option: StepOption) -> str:
    words = [option.help]
    if len(option.choices) > _SHOWN:
        words.append(f"One of: {', '.join(option.choices)}.")
    if "several" in option.kinds and not option.positional:
        words.append("May be repeated.")
    return " ".join(words).replace("[", r"\[")  # a config's section is no markup


def _kind(option: StepOption) -> Any:
    kind: Any = next((kind for name, kind in _KINDS.items() if name in option.kinds), None)
    if option.choices:
        choices: Callable[..., Any] = StrEnum
        kind = choices(option.name, {choice: choice for choice in option.choices})
    if "several" in option.kinds:
        return list.__class_getitem__(kind if option.choices else str)
    return kind if option.required or _default(option) is not None else kind | None


_KINDS = {"Path": Path, "str": str, "Decimal": Decimal, "float": float, "int": int, "bool": bool}
"""What is typed for an option; the first of these that it takes."""


def _default(option: StepOption) -> Any:
    if option.required:
        return Parameter.empty
    if "several" in option.kinds:
        return [] if option.default is None else [str(option.default)]
    return option.default


def _money(text: str) -> Decimal:
    """Return an amount of dollars."""
    try:
        amount = Decimal(text.removeprefix("$"))
    except InvalidOperation:
        amount = Decimal(-1)
    if not amount.is_finite() or amount < 0:
        raise typer.BadParameter(f"{text!r} is not an amount of dollars, such as 1.50.")
    return amount


# What is typed for an option, as its kind. Typer asks pydantic for this: a model for each option that a verb
# has, given or not. With its import they take longer than numpy's, and 9 MB of each process. Pydantic is left
# what is refused, and what has a parser.

Options = Iterable[TyperArgument | TyperOption]


def read_lightly(options: Options, words: Signature | None = None) -> None:
    """Have options read what is typed for them by the kinds in a signature, once and for all."""
    known = words.parameters if words else {}
    for option in options:
        read = option.process_value
        if isinstance(read, partial):
            continue
        word = known.get(str(option.name))
        kind = get_args(word.annotation)[0] if word else bool
        option.process_value = partial(_value, option, kind, read)  # type: ignore[method-assign]


def _value(
    option: TyperArgument | TyperOption, kind: Any, read: Callable[[Any, Any], Any], ctx: Any, value: Any
) -> Any:
    try:
        value = _as_kind(kind, value)
    except ValueError:
        return read(ctx, value)  # typer says what is wrong with it
    if value is None and (option.multiple or option.nargs == -1):
        value = ()
    if option.required and not value:
        return read(ctx, value)
    return option.callback(ctx, option, value) if option.callback else value


def _as_kind(kind: Any, value: Any) -> Any:
    """Return a text as a kind, and what is no text as it is; `ValueError` where that is not for us."""
    if isinstance(value, list | tuple):
        (each,) = get_args(kind)
        return [_as_kind(each, one) for one in value]
    if not isinstance(value, str):
        return value
    (base,) = {*get_args(kind)} - {type(None)} or {kind}
    if base is Path and os.path.exists(value) and not os.access(value, os.R_OK):  # noqa: PTH110 - any name
        raise ValueError
    if base in (int, float) and not value.isascii():
        raise ValueError  # Python reads the digits of every script
    if base in (str, Path, int, float) or (isinstance(base, type) and issubclass(base, Enum)):
        return base(value)
    raise ValueError
