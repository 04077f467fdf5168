"""What forms send, and what only looks like a form."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from urllib3.fields import RequestField
from urllib3.filepost import encode_multipart_formdata

from prefjudge.marketplace.site.pages import MAX_FIELDS, _multipart
from tests.marketplace.people import HTTP

PART = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)


def parsed(media, body):
    with ThreadPoolExecutor(1) as thread:  # a browser of another test may have an event loop in this one
        return thread.submit(asyncio.run, _multipart(media, body)).result()


def read(fields):
    body, media = encode_multipart_formdata([RequestField.from_tuples(*field) for field in fields])
    return parsed(media, body)


@given(st.lists(st.tuples(TEXTS.filter(lambda name: not {*name} & {*"\\%"}), TEXTS)))
def test_the_fields_of_a_multipart_form_arrive_as_they_are(fields):
    assert read(fields) == fields


def test_files_stay_behind():
    assert read([("a", "1"), ("f", ("x.txt", "content")), ("b", "2")]) == [("a", "1"), ("b", "2")]


@pytest.mark.parametrize(
    ("media", "body"),
    [
        ("multipart/form-data", b"--b--\r\n"),
        ("multipart/form-data; boundary=b", b""),
        ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1'),
        ("multipart/form-data; boundary=b", PART * (MAX_FIELDS + 1) + b"--b--\r\n"),
        ("multipart/form-data; boundary=b", PART.replace(b"name", b"n" * 9000) + b"--b--\r\n"),
        ("multipart/form-data; boundary=b", b"--b\r\n" + b"A: b\r\n" * 1000 + PART + b"--b--\r\n"),
        ("multipart/form-data; boundary=b", b"no form" + PART + b"--b--\r\n"),
        (f"multipart/form-data; boundary={'b' * 9000}", PART + b"--b--\r\n"),
    ],
)
def test_what_is_no_form_is_refused(market, media, body):
    with pytest.raises(ValueError):  # noqa: PT011 - each of another kind
        parsed(media, body)
    answer = HTTP.request(
        "POST",
        f"{market.endpoint}/mturk/externalSubmit",
        body=body,
        headers={"Content-Type": media, "Accept": "application/json"},
    )
    assert (answer.status, answer.json()["code"]) == (400, "bad_form")


def test_as_many_fields_as_allowed_are_read():
    assert len(parsed("multipart/form-data; boundary=b", PART * MAX_FIELDS + b"--b--\r\n")) == MAX_FIELDS


@pytest.mark.parametrize("text", ["\r\n--", "\r\n--B--\r\n", "\r\n\r\n", "--b", "\r", "%22"])
def test_what_only_looks_like_a_boundary_stays_in_the_field(text):
    assert read([("a%22", text), ("b", "1")]) == [('a"', text), ("b", "1")]


def test_a_megabyte_of_a_form_is_read_at_once():
    body = PART[:-3] + b"\r\n--" * 240_000 + b"\r\n--b--\r\n"
    began = time.thread_time()
    assert len(parsed("multipart/form-data; boundary=b", body)) == 1
    assert time.thread_time() - began < 1


def test_forms_within_forms_hold_nobody_up(market):
    nested = [
        f"--b{i}\r\nContent-Type: multipart/mixed; boundary=b{i + 1}\r\n\r\n".encode() for i in range(300)
    ]
    body = b"".join(nested).ljust(990_000, b"\n")
    began = time.process_time()
    answer = HTTP.request(
        "POST",
        f"{market.endpoint}/mturk/externalSubmit",
        body=body,
        headers={"Content-Type": "multipart/form-data; boundary=b0", "Accept": "application/json"},
    )
    assert (answer.status, answer.json()["code"]) == (400, "bad_form")
    assert time.process_time() - began < 5
