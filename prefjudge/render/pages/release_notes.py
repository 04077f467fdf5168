"""The page that goes with a release, in Markdown."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from prefjudge.core.resolving.preferences import HowResolved
from prefjudge.core.resolving.rules import WEIGHING_RULE
from prefjudge.render.pages.about import title_of
from prefjudge.render.pages.catalogue import hub_head

_INPUT = ("kind", "name", "digest")
_DESIGN = (
    ("question", "Question"),
    ("pairs_per_hit", "Pairs in a HIT"),
    ("gold_per_hit", "Gold pairs hidden in it"),
    ("judgments_per_pair", "Judgments of a pair"),
    ("allow_ties", "Ties allowed"),
)

_BY_SIDE = (
    " The study also counted which side of the screen each worker favours; `resolve` does not take the sides "
    "of a file for those of a screen, so that an answer may differ."
)
_KEPT = (
    "The answers are version {} of those that `prefjudge run` keeps; a rule may find others in the same "
    "judgments. "
)


def _who(rehearsal: Mapping[str, int] | None) -> str:
    """Return who judged, in words."""
    if not rehearsal:
        return "people"
    some = rehearsal["simulated"] < rehearsal["judgments"]
    return "people and simulated workers" if some else "simulated workers"


def _sides(record: Mapping[str, Any]) -> str:
    """Return what is known of left and right, in words."""
    unknown = [one["name"] for one in record.get("imports", ()) if not one["sides"]]
    but = f", but in votes imported from {', '.join(unknown)}, which does not say" if unknown else ""
    return f"`left` and `right` are the sides on which a worker saw the passages{but}."


def _rehearsed(rehearsal: Mapping[str, int]) -> str:
    """Return what must be read before all else."""
    return (
        f"**Rehearsal: {rehearsal['simulated']:,} of {rehearsal['judgments']:,} judgments are simulated.** "
        "They say how the study would go, and nothing about what people prefer: do not score by them. "
        "`judgments.jsonl` says under `judge` whose each judgment is."
    )


def release_notes(record: Mapping[str, Any]) -> str:
    """Return the page for the record of a release."""
    numbers, design, pool = record["numbers"], record["design"], record["pool"]
    kept = record["version"]
    given_up = "judgments_per_pair" if record["driven_by"] else ""  # a strategy decides
    rule = "bradley-terry" if kept else record["rule"]
    asked = record.get(
        "asked", True
    )  # else all votes were imported, and nothing is known of how they were made
    depth = f"top {pool['depth']} of each run, order {pool['order']}, qrels {pool['qrels']}"
    how = f"by the strategy `{record['driven_by']}`" if record["driven_by"] else "all pairs of a pool"
    facts = [
        ("Queries", f"{numbers['queries']:,}"),
        ("Best answers", f"{numbers['answers']:,}"),
        ("Judgments that count", f"{numbers['judgments']:,}"),
        ("Judgments that were dropped", f"{numbers['dropped']:,}"),
        ("Workers", f"{numbers['workers']:,}"),
        *([("Pool", depth), ("Judged", how)] if asked else [("Pool", "what the imported votes are about")]),
        *([("Tried first, or vetoed, by", record["model"])] if record["model"] else []),
        ("Answers by", record["rule"] + ("" if kept else HowResolved(**record["how"]).options)),
        *((words, _plain(design[key])) for key, words in _DESIGN if asked and key != given_up),
        *([("Screening", record["screening"]["policy"])] if asked else []),
        *([("Reward of a HIT", f"${record['reward']}")] if asked else []),
    ]
    rehearsal = record.get("rehearsal")
    by_side = _BY_SIDE if rule == WEIGHING_RULE else ""
    parts = [
        f"# {_cell(title_of(record))}",
        *([_cell(record["about"]["description"])] if record["about"]["description"] else []),
        *([_rehearsed(rehearsal)] if rehearsal else []),
        f"Preference judgments of search results: {_who(rehearsal)} chose, side by side, the passage that "
        f"best answers the question. Made with prefjudge {record['prefjudge']}.",
        _table(("", ""), facts),
        "## Files",
        _table(
            ("file", "holds", "rows"),
            [(f"`{one['name']}`", one["holds"], f"{one['rows']:,}") for one in record["files"]],
        ),
        "`release.json` says the same for programs, with the design and the digests of the inputs; "
        "`SHA256SUMS` is checked by `sha256sum -c`. Workers, HITs and assignments have pseudonyms, the same "
        f"in all files; times are rounded up to whole seconds. {_sides(record)}",
        "## Made from",
        _table(
            ("kind", "name", "digest"),
            [(one["kind"], one["name"], one["digest"]) for one in record["inputs"]]
            + [
                ("votes", f"{one['name']} ({one['votes']:,})", one["digest"])
                for one in record.get("imports", ())
            ],
        ),
        "## Using it",
        f"{_KEPT.format(kept) if kept else ''}A query with one candidate has no judgment: that candidate is "
        f"its answer.{by_side}\n\n```console\n"
        f"$ prefjudge resolve --judgments judgments.txt --rule {rule} --out again.qrels\n"
        "$ prefjudge score --runs 'RUNS' --qrels preference.qrels\n"
        "$ prefjudge release --verify .            # every byte, and the answers from the judgments alone\n"
        "$ prefjudge import MY-STUDY .             # a study again\n```\n\n"
        "```python\n"
        "from datasets import load_dataset         # of Hugging Face\n"
        'judgments = load_dataset("FOLDER", "judgments", split="train")\n```\n\n'
        "`croissant.json` describes the tables to programs that read Croissant. `ir_dataset.py` makes the "
        "folder a dataset of ir_datasets.",
        *([f"## Notes\n\n{_list(record['notices'])}"] if record["notices"] else []),
        f"## Licence\n\n{_licence(record)}",
    ]
    return hub_head(record) + "\n\n".join(parts) + "\n"


def _licence(record: Mapping[str, Any]) -> str:
    if not record["license"]:
        return (
            "None is given, so that nobody may use this: add one before you publish, and respect that of the "
            "texts."
        )
    has_texts = any(one["name"] == "passages.tsv" for one in record["files"])
    texts = " The texts have their own." if has_texts else ""
    return f"[{record['license']}](https://spdx.org/licenses/{record['license']}.html).{texts}"


def _plain(value: object) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _cell(text: str) -> str:
    """Return a text on one line, in which names of runs are not read as markup."""
    return " ".join(escape(text, quote=False).replace("|", "\\|").split())


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _list(words: Sequence[str]) -> str:
    return "\n".join(f"- {_cell(one)}" for one in words)
