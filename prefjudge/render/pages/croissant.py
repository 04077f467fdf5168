"""Croissant: what is in a release, for programs that load datasets by their description (version 1.0)."""

from collections.abc import Mapping
from typing import Any

from prefjudge.render.pages.about import description_of, title_of

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
_REMARKED = dict.fromkeys(("assignment", "worker", "query", "a", "b", "unable", "comment"), "Text")
_TOURNAMENT = dict.fromkeys(("query_id", "rule", "status"), "Text")
TABLES: Mapping[str, Mapping[str, str]] = {
    "judgments.jsonl": _JUDGED,
    "resolutions.jsonl": _TOURNAMENT,
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
        "@context": _CONTEXT,
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
        "encodingFormat": media_type(name),
        "sha256": one["sha256"],
    }


def media_type(name: str) -> str:
    """Return the kind of a file."""
    return next((kind for suffix, kind in _MEDIA.items() if name.endswith(suffix)), "text/plain")


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
    ".parquet": "application/x-parquet",
    ".gz": "application/gzip",
}
_CONTEXT: Mapping[str, object] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
