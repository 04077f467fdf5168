"""Collections as TREC, BEIR and spreadsheets keep them, and what is wrong with broken ones."""

import gzip
import json
from datetime import date

import pytest

from prefjudge.core.hits import Passage
from prefjudge.errors import InputError
from prefjudge.reading.files import Notice
from prefjudge.reading.options import text_fields
from prefjudge.reading.texts.collections import read_passages, read_texts
from prefjudge.reading.texts.texts import read_queries
from prefjudge.steps.check import check

DOCS = """<DOC>
<DOCNO> FT1 </DOCNO>
<DATE>1990</DATE>
<HEADLINE>A <i>head</i></HEADLINE>
<TEXT>
One &amp; two, AT&T
<P>three</P>
</TEXT>
</DOC>
<DOC>
<DOCNO>FT2</DOCNO>
plain words
</DOC>
"""
TABLE = 'id,title,text\nd1,T,"one, ""two""\nthree"\nd2,,al\u2028one\n'
JSON = '{"_id": "d1", "title": "T", "text": "one"}\n'
JSON += '{"_id": "d2", "title": "alone", "text": ""}\n{"id": "d3", "contents": "c"}\n'

READ = {
    "documents": (DOCS, {"FT1": "A head\nOne & two, AT&T\nthree", "FT2": "plain words"}),
    "CSV": (TABLE, {"d1": 'T\none, "two"\nthree', "d2": "al\u2028one"}),
    "JSON lines": (JSON, {"d1": "T\none", "d2": "alone", "d3": "c"}),
}


@pytest.mark.parametrize("pack", [str.encode, lambda text: gzip.compress(text.encode())])
@pytest.mark.parametrize("name", READ)
def test_collections_are_read(tmp_path, name, pack):
    text, expected = READ[name]
    (tmp_path / "one").write_bytes(pack(text))
    assert read_texts(tmp_path / "one", [*expected, "nobody"]) == expected
    assert read_texts(tmp_path, list(expected)[-1:]) == dict([list(expected.items())[-1]])
    assert read_queries(tmp_path / "one") == expected


DATED = {
    "csv": "id,text,date,site\nd1,one,2021-03-04, news\nd2,two,,\n",
    "jsonl": '{"id": "d1", "text": "one", "date": "2021-03-04", "site": " news"}\n'
    '{"id": "d2", "text": "two"}\n',
}


@pytest.mark.parametrize("kind", [*DATED, "parquet"])
def test_fields_that_are_asked_for_stand_below_a_passage_and_no_others(tmp_path, kind):
    path = tmp_path / f"one.{kind}"
    if kind == "parquet":
        pa = pytest.importorskip("pyarrow")
        table = {
            "id": ["d1", "d2"],
            "text": ["one", "two"],
            "date": [date(2021, 3, 4), None],
            "site": ["news", ""],
        }
        pytest.importorskip("pyarrow.parquet").write_table(pa.table(table), path)
    else:
        path.write_text(DATED[kind])
    found = read_passages(path, ["d2", "d1"], fields=text_fields({"dataset": "show=date,show=site"}))
    assert found == {
        "d2": Passage("two"),
        "d1": Passage("one", (("date", "2021-03-04"), ("site", "news"))),
    }
    assert read_passages(path, ["d1"]) == {"d1": Passage("one")}
    with pytest.raises(InputError, match="no passage has a field day"):
        read_passages(path, ["d1"], fields=text_fields({"dataset": "show=day"}))


def test_numbers_stand_below_a_passage_and_what_is_no_line_does_not(tmp_path):
    years = {
        "whole": 1970.0,
        "half": 1970.5,
        "count": 7,
        "nothing": float("nan"),
        "many": [1970],
        "none": None,
    }
    path = tmp_path / "one.jsonl"
    path.write_text("".join(json.dumps({"id": k, "text": "t", "year": v}) + "\n" for k, v in years.items()))
    how = text_fields({"dataset": "show=year"})
    found = {doc: dict(one.shown).get("year") for doc, one in read_passages(path, years, fields=how).items()}
    assert found == {
        "whole": "1970", "half": "1970.5", "count": "7", "nothing": None, "many": None, "none": None,
    }  # fmt: skip
    with pytest.raises(InputError, match="no passage has a field year with a text, a number or a date"):
        read_passages(path, ["many"], fields=how)
    path.write_text(json.dumps({"id": "d1", "text": "t", "year": "z" * 1001}))
    with pytest.raises(
        InputError, match="the field year of d1 has 1,001 letters, and people see at most 1,000"
    ):
        read_passages(path, ["d1"], fields=how)


@pytest.mark.parametrize("name", ["id", "text", "title"])
def test_the_id_and_the_text_are_not_shown_again(name):
    with pytest.raises(InputError, match=f"show={name} would show the "):
        text_fields({"dataset": f"show={name}"})
    text_fields({"dataset": f"show={name},id=key,text=body"})
    with pytest.raises(InputError, match="show=body would show the text"):
        text_fields({"dataset": "show=body,text=body"})


def test_documents_span_blocks(tmp_path):
    fill = "".join(f"<DOC>\n<DOCNO>x{n}</DOCNO>\n{'word ' * 400}\n</DOC>\n" for n in range(1500))
    (tmp_path / "one").write_text(fill + DOCS)
    assert read_texts(tmp_path / "one", ["FT2", "x700"]) == {
        "FT2": "plain words",
        "x700": "word " * 399 + "word",
    }
    (tmp_path / "one").write_text(fill + DOCS[:-8])
    with pytest.raises(InputError, match=r"one:6010: the document has no </DOC>"):
        read_texts(tmp_path / "one", ["FT3"])


def test_a_document_after_any_distance_is_read(tmp_path):
    second = DOCS.index("<DOC>", 1)
    (tmp_path / "one").write_text(DOCS[:second] + "\n" * (33 << 20) + DOCS[second:] + "<DO")
    assert read_texts(tmp_path / "one", ["FT2"]) == {"FT2": "plain words"}
    unnamed = DOCS[second:].replace("<DOCNO>FT2</DOCNO>", "")
    (tmp_path / "one").write_text(DOCS[:second] + "\n" * (2 << 20) + unnamed)
    with pytest.raises(InputError, match=rf"one:{(2 << 20) + 10}:1: the document has no <DOCNO>"):
        read_texts(tmp_path / "one", ["FT2"])


def test_titles_without_an_end_are_read_in_one_pass(tmp_path):
    """One pass for each would take hours."""
    titles = "<title>\n<head>\n" * 500_000
    (tmp_path / "one").write_text(f"<DOC><DOCNO>1</DOCNO>{titles}<text>body</text></DOC>")
    assert read_texts(tmp_path / "one", ["1"]) == {"1": "body"}


BAD = {
    "two": (DOCS.replace("FT2", "FT1"), "another text on line 1"),
    "no number": ("<DOC>\n<DOCID>1</DOCID>\n</DOC>", ":1:1: the document has no <DOCNO>"),
    "cells": ("id,text\na,b,c\n", ":2:1: 3 cells where the header has 2"),
    "empty": ("id,text\na,\n", ":2:1: no text"),
    "open quote": ('id,text\na,"b\n', "not CSV"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said(tmp_path, name):
    text, message = BAD[name]
    (tmp_path / "one").write_text(text)
    with pytest.raises(InputError) as error:
        read_texts(tmp_path / "one", ["FT1", "a"])
    assert message in str(error.value)


def test_latin_1_is_noticed_by_check_too(tmp_path):
    notices: list[Notice] = []
    (tmp_path / "one").write_bytes(DOCS.replace("plain", "café").encode("latin-1"))
    assert read_texts(tmp_path / "one", ["FT2"], notices=notices) == {"FT2": "café words"}
    assert "read as Latin-1" in str(notices[0])
    (checked,) = check([tmp_path / "one"]).files
    assert "read as Latin-1" in str(checked)
