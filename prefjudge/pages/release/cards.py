"""Cards of a release: its notes, its citation, and what other catalogues want to know of it."""

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from prefjudge.core.resolving.resolutions import HowResolved
from prefjudge.errors import InputError
from prefjudge.words import Rehearsal, json_text


def title_of(record: Mapping[str, Any]) -> str:
    """Return what a release is called."""
    return str(record.get("about", {}).get("title") or record["name"])


def description_of(record: Mapping[str, Any]) -> str:
    """Return what a release is, in the words of its study where it has any; a rehearsal always says so."""
    stamp = f"{stamp_words(record)}. " if record.get("rehearsal") else ""
    own = record.get("about", {}).get("description") or (
        f"{record['numbers']['judgments']:,} side-by-side preference judgments of search results for "
        f"{record['numbers']['queries']:,} queries, and the best answers that follow from them."
    )
    return stamp + own


def stamp_words(record: Mapping[str, Any]) -> str:
    """Return what a rehearsal says everywhere; empty where there is none."""
    return str(Rehearsal(**record["rehearsal"])) if record.get("rehearsal") else ""


# Croissant: what is in a release, for programs that load datasets by their description (version 1.0).

_JUDGED = {
    **dict.fromkeys(("query", "left", "right", "choice"), "Text"),
    **dict.fromkeys(("strength", "milliseconds"), "Integer"),
    **dict.fromkeys(("worker", "judge", "phase", "assignment", "hit", "dropped"), "Text"),
}
_WORKED = {
    **dict.fromkeys(("assignment", "hit", "worker", "judge"), "Text"),
    **dict.fromkeys(("answered", "gold_right", "gold_missed", "seconds"), "Integer"),
    "verdict": "Text",
}
_CHOSEN = dict.fromkeys(
    ("prompt", "chosen", "rejected", "query_id", "chosen_id", "rejected_id", "worker"), "Text"
)
_SAID = dict.fromkeys(("model", "judge", "query", "a", "b", "a_first", "b_first"), "Text")
_REMARKED = dict.fromkeys(("assignment", "worker", "query", "a", "b", "others", "unable", "comment"), "Text")
_LIKELY = {"query": "Text", "doc": "Text", "p_best": "Float", "loss": "Float"}
_TOURNAMENT = dict.fromkeys(("query_id", "rule", "status"), "Text")
TABLES: Mapping[str, Mapping[str, str]] = {
    "judgments.jsonl": _JUDGED,
    "resolutions.jsonl": _TOURNAMENT,
    "likely.jsonl": _LIKELY,
    "assignments.jsonl": _WORKED,
    "models.jsonl": _SAID,
    "comments.jsonl": _REMARKED,
    "chosen.jsonl": _CHOSEN,
}
"""The tables, each a part of the dataset, and the kinds of their columns; the first is loaded by default."""


def croissant(record: Mapping[str, Any]) -> dict[str, object]:
    """Return the description of a release."""
    about, licence = record["about"], record["license"]
    named = {one["name"]: one for one in record["files"]}
    found: dict[str, object] = {
        "@context": json.loads(_file("croissant_context.json")),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": title_of(record),
        "description": description_of(record),
        "version": "1.0.0",
        **({"license": f"https://spdx.org/licenses/{licence}.html"} if licence else {}),
        **({"url": about["url"]} if about["url"] else {}),
        **({"datePublished": about["date"]} if about["date"] else {}),
        **({"keywords": list(about["keywords"])} if about["keywords"] else {}),
        "distribution": [_file_object(one) for one in record["files"]],
        "recordSet": [_record_set(name, TABLES[name]) for name in TABLES if name in named],
    }
    if about["authors"]:
        found["citeAs"] = _cited(record)
        found["creator"] = [{"@type": "sc:Person", "name": author["name"]} for author in about["authors"]]
    return found


def _cited(record: Mapping[str, Any]) -> str:
    about = record["about"]
    names = " and ".join(author["name"] for author in about["authors"])
    parts = [f"{names}: {title_of(record)}.", about["date"] and f"{about['date'][:4]}.", about["url"]]
    return " ".join(filter(None, parts))


def _file_object(one: Mapping[str, Any]) -> dict[str, str]:
    name = one["name"]
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "description": one["holds"],
        "contentUrl": name,
        "encodingFormat": next((kind for end, kind in _MEDIA.items() if name.endswith(end)), "text/plain"),
        "sha256": one["sha256"],
    }


def _record_set(name: str, columns: Mapping[str, str]) -> dict[str, object]:
    short = name.removesuffix(".jsonl")
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{short}/{column}",
            "name": column,
            "dataType": f"sc:{kind}",
            "source": {"fileObject": {"@id": name}, "extract": {"column": column}},
        }
        for column, kind in columns.items()
    ]
    return {"@type": "cr:RecordSet", "@id": short, "name": short, "field": fields}


_MEDIA = {
    ".jsonl": "application/jsonlines",
    ".tsv": "text/tab-separated-values",
    ".csv": "text/csv",
    ".gz": "application/gzip",
}


# The pages by which catalogues and programs find a release and load it.
#
# The Hugging Face Hub reads the head of README.md; Croissant and CITATION.cff, which Zenodo reads, are files
# of their own; ir_datasets takes a small program. All are made of the release's record, and say what it says.

CATALOGUE = ("croissant.json", "ir_dataset.py", "CITATION.cff")
"""The files that `catalogue_pages` may make."""
_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")
_HUB = frozenset(
    (
        "apache-2.0", "mit", "cc", "cc0-1.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0",
        "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nd-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0",
        "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "cdla-permissive-1.0", "cdla-permissive-2.0",
        "cdla-sharing-1.0", "pddl", "odc-by", "odbl", "bsd-3-clause", "gpl-3.0", "unlicense",
    )
)  # fmt: skip
"""Licences that the hub knows by these names; to it any other is `other`."""


def license_named(text: str) -> str:
    """Return a licence as it is written in catalogues; empty where none is given."""
    if text and not _SPDX.fullmatch(text):
        raise InputError(
            f"{text!r} is not the name of a licence",
            "Give its short name from https://spdx.org/licenses, such as CC-BY-4.0.",
        )
    return text


def hub_head(record: Mapping[str, Any]) -> str:
    """Return the head of README.md that the Hugging Face Hub, and ``load_dataset``, read: YAML."""
    licence = str(record.get("license", ""))
    known = licence.lower() if licence.lower() in _HUB else "other" if licence else ""
    parts = [name for name in TABLES if any(one["name"] == name and one["rows"] for one in record["files"])]
    tags = ["preference-judgments", "information-retrieval", "prefjudge", *record["about"]["keywords"]]
    if record.get("rehearsal"):
        tags.append("simulated")
    lines = [
        "---",
        f"pretty_name: {_quoted(title_of(record))}",
        *([f"license: {known}"] if known else []),
        *([f"license_name: {_quoted(licence)}"] if known == "other" else []),
        f"language: [{_quoted(record['language'])}]",
        "task_categories: [text-ranking]",
        f"tags: [{', '.join(map(_quoted, tags))}]",
        "configs:",
    ]
    for name in parts:
        lines += [f"- config_name: {name.removesuffix('.jsonl')}", f"  data_files: {name}"]
        lines += ["  default: true"] if name == parts[0] else []
    return "\n".join([*lines, "---", "", ""])


def catalogue_pages(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the pages of a release by their names; those that name authors only where it has any."""
    pages = {"croissant.json": json_text(croissant(record)) + "\n", "ir_dataset.py": _ir_dataset(record)}
    if record["about"]["authors"]:
        pages["CITATION.cff"] = _citation(record)
    return pages


def _citation(record: Mapping[str, Any]) -> str:
    about, licence = record["about"], record["license"]
    lines = [
        "cff-version: 1.2.0",
        "message: If you use this dataset, please cite it.",
        "type: dataset",
        f"title: {_quoted(title_of(record))}",
        f"abstract: {_quoted(description_of(record))}",
        "authors:",
    ]
    for author in about["authors"]:
        lines.append(f"- name: {_quoted(author['name'])}")
        if author["orcid"]:
            lines.append(f"  orcid: https://orcid.org/{author['orcid']}")
    lines += [f"license: {licence}"] if licence else []
    lines += [f"date-released: {_quoted(about['date'])}"] if about["date"] else []
    lines += [f"url: {_quoted(about['url'])}"] if about["url"] else []
    return "\n".join(lines) + "\n"


def _ir_dataset(record: Mapping[str, Any]) -> str:
    names = {one["name"] for one in record["files"]}
    slug = re.sub(r"[^a-z0-9]+", "-", str(record["name"]).lower()).strip("-") or "study"
    more, parts = [], ["TrecQrels(_file('preference.qrels'), {1: 'best answer'})"]
    if {"queries.tsv", "passages.tsv"} <= names:
        parts = ["TsvDocs(_file('passages.tsv'))", "TsvQueries(_file('queries.tsv'))", *parts]
        more = ["TsvDocs", "TsvQueries"]
    stamp = f"\n\n{stamp_words(record)}\n" if record.get("rehearsal") else ""
    return _file("ir_dataset.py.txt").format(
        stamp=stamp, formats=", ".join([*more, "TrecQrels"]), name=slug, parts=",\n    ".join(parts)
    )


def _file(name: str) -> str:
    """Return a file beside this one, of which the pages of a release are made."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _quoted(text: str) -> str:
    """Return a text as YAML reads it, which JSON is; where the page is taken for Markdown it is no markup."""
    return json.dumps(text, ensure_ascii=False).replace("<", "\\u003c")


# The page that goes with a release, in Markdown.

_INPUT = ("kind", "name", "digest")
_DESIGN = (
    ("question", "Question"),
    ("pairs_per_hit", "Pairs in a HIT"),
    ("gold_per_hit", "Gold pairs hidden in it"),
    ("judgments_per_pair", "Judgments of a pair"),
    ("allow_ties", "Ties allowed"),
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
        f"its answer.\n\n```console\n"
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
            "None is given, so nobody may use this: add one before you publish, and respect that of the "
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
