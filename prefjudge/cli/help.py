"""Help on one screen: the road first, then what most people use of a verb; `--help-all` shows the rest."""

import os
import shutil
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any, NamedTuple

import typer

from prefjudge import GROUPS, VERBS, Verb

_WIDEST = 100
"""Help is never wider: long lines are hard to read."""


class Usual(NamedTuple):
    """An example of a verb, and the options that most people use: all where none is named."""

    example: str
    options: str = ""


USUAL = {
    "demo": Usual(""),
    "try": Usual(""),
    "init": Usual("my-study"),
    "pool": Usual(
        "my-study --runs 'runs/*' --qrels qrels.txt --queries q.tsv --collection c.tsv",
        "runs qrels queries collection depth challenge out details json",
    ),
    "gold": Usual("my-study --suggest 12"),
    "plan": Usual("my-study --budget 200", "sizes error strategy sure budget details json"),
    "publish": Usual("my-study --sandbox"),
    "serve": Usual("my-study", "host port live public_url store new_key revoke_key print_admin_token json"),
    "work": Usual("my-study"),
    "collect": Usual("my-study"),
    "resolve": Usual("my-study", "judgments rule sensitivity per_query confidence out details json"),
    "score": Usual(
        "--runs 'runs/*' --qrels qrels.txt --measure nDCG@10",
        "runs qrels measure judgments per_query out plot format details json",
    ),
    "report": Usual("my-study", "runs qrels out site texts tables live json"),
    "release": Usual("my-study --out release", "out verify texts gold public json"),
    "run": Usual("my-study --sandbox", "strategy sure between sandbox live yes workers json"),
    "status": Usual("my-study"),
    "import": Usual("my-study votes.csv"),
    "export": Usual("my-study answers.qrels"),
    "check": Usual("'runs/*' --qrels qrels.txt", "kind qrels queries collection manifest details json"),
    "compare": Usual(
        "a.run b.run --qrels qrels.txt",
        "study runs baseline qrels measure test sequential out details json",
    ),
    "winratio": Usual("my-study", "runs judgments against_qrel runs_shown out plot format details json"),
    "stability": Usual("my-study", "runs qrels measure judgments held_out plot out details json"),
    "agreement": Usual("my-study", "runs qrels measure judgments trials out details json"),
    "audit": Usual("leaderboard.csv", "runs aliases limit days until out details json"),
    "board": Usual("check .", "base head submitter out format json"),
    "reproduce": Usual(
        "shallow-pooling --runs 'runs/*' --qrels qrels.txt --simulate --out paper",
        "out init study runs qrels judgments leaderboard simulate details json",
    ),
    "judge": Usual("my-study --worth", "url model worth most json"),
    "workers": Usual("my-study", "judgments ids hold forget export unpaid details json"),
    "pay": Usual("my-study --dry-run"),
    "reject": Usual("my-study"),
    "store": Usual("check my-study"),
}


def overview(group: str = "") -> str:
    """Return the verbs of the road, and a line for each other group; or the verbs of one group."""
    if group:
        return "\n".join([f"{GROUPS[group]}:", "", *_summaries(one for one in VERBS if one.group == group)])
    others = {name: [one.name for one in VERBS if one.group == name] for name in GROUPS}
    start, road = others.pop("start"), others.pop("road")
    return "\n".join(
        [
            "Usage: prefjudge VERB [OPTIONS]",
            "",
            "Turn runs and sparse qrels into preference qrels, judged side by side, and re-score the runs.",
            f"Start here: {', or '.join(f'prefjudge {name}' for name in start)}.",
            "",
            f"{GROUPS['road']}:",
            "",
            *_summaries(one for one in VERBS if one.name in road),
            "",
            *(f"  {name:<7}  {' '.join(verbs)}" for name, verbs in others.items()),
            "",
            "prefjudge --help GROUP says what those do, and prefjudge VERB --help how to use one.",
            "--version prints the version; --install-completion teaches the shell the verbs.",
        ]
    )


def _summaries(verbs: Iterable[Verb]) -> Iterator[str]:
    shown = list(verbs)
    width = max(len(one.name) for one in shown)
    for one in shown:
        first, *rest = wrap(one.summary, _width() - width - 4)
        yield f"  {one.name:<{width}}  {first}"
        yield from (f"  {'':<{width}}  {line}" for line in rest)


def of_verb(verb: Verb, command: Any, ctx: Any) -> str:
    """Return what a verb does, an example, and the options that most people use."""
    example, names = USUAL.get(verb.name, Usual(""))
    options = [one for one in command.params if one.param_type_name == "option" and one.name != "help_all"]
    usual = [one for one in options if not names or one.name in names.split()]
    places = " ".join(
        one.name.upper() if one.required else f"[{one.name.upper()}]"
        for one in command.params
        if one.param_type_name == "argument"
    )
    heads = {id(one): _head(one, ctx) for one in usual}
    width = min(max(map(len, heads.values()), default=0), _NARROW + 6)
    lines = [
        " ".join(["Usage: prefjudge", verb.name, *([places] if places else []), "[OPTIONS]"]),
        "",
        *wrap(verb.summary, _width()),
        "",
        f"  prefjudge {verb.name} {example}".rstrip(),
        "",
    ]
    for one in usual:
        head = heads[id(one)]
        told = wrap(f"{_plain(one.help)}{_default(one)}", _width() - width - 4) or [""]
        first = [told.pop(0)] if len(head) <= width else []
        lines += [
            f"  {head:<{width}}  {' '.join(first)}".rstrip(),
            *(f"  {'':<{width}}  {one}" for one in told),
        ]
    more = len(options) - len(usual)
    rest = f"{more} more options, and longer words" if more else "More words"
    return "\n".join([*lines, "", f"{rest}: prefjudge {verb.name} --help-all"])


def _head(option: Any, ctx: Any) -> str:
    spelled = option.opts[0]
    if option.is_flag:
        return "/".join([spelled, *option.secondary_opts])
    value = str(option.display_type_rich(ctx) or "").strip("<>")
    return f"{spelled} {_KINDS.get(value, value if len(value) <= _NARROW else option.name.upper())}"


_KINDS = {
    "path": "PATH",
    "str": "TEXT",
    "int": "N",
    "float": "NUMBER",
    "int range": "N",
    "float range": "NUMBER",
    "list[str]": "TEXT",
}
_NARROW = 24


def _plain(text: str | None) -> str:
    return (text or "").replace("\\[", "[")


def _default(option: Any) -> str:
    if option.is_flag or option.default in (None, "", [], ()) or not option.show_default:
        return ""
    return f" [{getattr(option.default, 'value', option.default)}]"


def _width() -> int:
    return min(_WIDEST, shutil.get_terminal_size().columns if "COLUMNS" not in os.environ else _columns())


def _columns() -> int:
    said = os.environ["COLUMNS"]
    return max(40, int(said)) if said.isdecimal() else _WIDEST


def asked_group(args: list[str]) -> str | None:
    """Return the group that ``--help GROUP`` names; empty for ``--help`` alone, None where neither stands."""
    if not args or args[0] not in ("--help", "-h"):
        return None
    if len(args) == 1:
        return ""
    if args[1] not in GROUPS:
        typer.echo(
            f"error: no group {args[1]}\n  There are {', '.join(GROUPS)}; of a verb: prefjudge VERB --help",
            err=True,
        )
        raise typer.Exit(2)
    return args[1]
