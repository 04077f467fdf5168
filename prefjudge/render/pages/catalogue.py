"""The pages by which catalogues and programs find a release and load it.

The Hugging Face Hub reads the head of README.md; Croissant, DataCite, Zenodo and CITATION.cff are files of
their own; ir_datasets takes a small program. All are made of the release's record, and say what it says.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from prefjudge.errors import InputError
from prefjudge.render.pages.about import description_of, stamp_words, title_of
from prefjudge.render.pages.croissant import TABLES, croissant, media_type
from prefjudge.render.text.plain_text import json_text

CATALOGUE = ("croissant.json", "ir_dataset.py", "CITATION.cff", "datacite.json", ".zenodo.json")
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
    """Return a licence as it is written in catalogues; empty where none is given.

    Raises
    ------
    InputError
        It is not a name.
    """
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
    pages = {"croissant.json": _json(croissant(record)), "ir_dataset.py": _ir_dataset(record)}
    if record["about"]["authors"]:
        pages["CITATION.cff"] = _citation(record)
        pages[".zenodo.json"] = _json(_zenodo(record))
        if record["about"]["date"]:  # which DataCite does not do without
            pages["datacite.json"] = _json(_datacite(record))
    return pages


def _datacite(record: Mapping[str, Any]) -> dict[str, object]:
    about, licence = record["about"], record["license"]
    return {
        "schemaVersion": "http://datacite.org/schema/kernel-4",
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": "Preference judgments"},
        "titles": [{"title": title_of(record)}],
        "creators": [_creator(author) for author in about["authors"]],
        "publisher": {"name": about["authors"][0]["affiliation"] or about["authors"][0]["name"]},
        "publicationYear": about["date"][:4],
        "dates": [{"date": about["date"], "dateType": "Issued"}],
        "descriptions": [{"description": description_of(record), "descriptionType": "Abstract"}],
        "subjects": [{"subject": word} for word in ("preference judgments", *about["keywords"])],
        "formats": sorted({media_type(one["name"]) for one in record["files"]}),
        **(
            {
                "rightsList": [
                    {
                        "rightsIdentifier": licence,
                        "rightsIdentifierScheme": "SPDX",
                        "rightsUri": f"https://spdx.org/licenses/{licence}.html",
                    }
                ]
            }
            if licence
            else {}
        ),
    }


def _creator(author: Mapping[str, str]) -> dict[str, object]:
    found: dict[str, object] = {"name": author["name"], "nameType": "Personal"}
    if author["affiliation"]:
        found["affiliation"] = [{"name": author["affiliation"]}]
    if author["orcid"]:
        found["nameIdentifiers"] = [
            {
                "nameIdentifier": f"https://orcid.org/{author['orcid']}",
                "nameIdentifierScheme": "ORCID",
                "schemeUri": "https://orcid.org",
            }
        ]
    return found


def _zenodo(record: Mapping[str, Any]) -> dict[str, object]:
    about, licence = record["about"], record["license"]
    return {
        "upload_type": "dataset",
        "title": title_of(record),
        "description": description_of(record),
        "creators": [{name: value for name, value in author.items() if value} for author in about["authors"]],
        "keywords": ["preference judgments", *about["keywords"]],
        **({"license": licence.lower()} if licence else {}),
        **({"publication_date": about["date"]} if about["date"] else {}),
    }


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
    return _STUB.format(
        stamp=stamp, formats=", ".join([*more, "TrecQrels"]), name=slug, parts=",\n    ".join(parts)
    )


_STUB = '''"""Makes this release a dataset of ir_datasets, "prefjudge/{name}", when it is imported.{stamp}"""

from pathlib import Path

import ir_datasets
from ir_datasets.formats import {formats}
from ir_datasets.util import PackageDataFile


class _Local(PackageDataFile):
    """A file beside this one, wherever the folder is."""

    def __init__(self, path):
        self._path = path

    def path(self, force=True):
        return self._path

    def stream(self):
        return self._path.open("rb")


def _file(name):
    return _Local(Path(__file__).parent / name)


NAME = "prefjudge/{name}"
DATASET = ir_datasets.Dataset(
    {parts},
)
if NAME not in ir_datasets.registry:
    ir_datasets.registry.register(NAME, DATASET)
'''


def _quoted(text: str) -> str:
    """Return a text as YAML reads it, which JSON is; where the page is taken for Markdown it is no markup."""
    return json.dumps(text, ensure_ascii=False).replace("<", "\\u003c")


def _json(value: Mapping[str, object] | Sequence[object]) -> str:
    return json_text(value) + "\n"
