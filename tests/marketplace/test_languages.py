"""The worker site in several languages: nothing is missing, what is filled in agrees, a study's words win."""

import ast
import re
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from jinja2 import Environment, nodes

import prefjudge.marketplace
from prefjudge.marketplace.people import qualifications
from prefjudge.marketplace.server import start
from prefjudge.marketplace.settings import ENGLISH, Settings, Wording, catalogues, in_texts
from prefjudge.marketplace.site.pages import asset, preferred, render_page
from prefjudge.pages.hit import languages as of_the_judging_page
from prefjudge.study.config import DesignConfig
from tests.marketplace.people import Admin, Worker, offer, post
from tests.site.gallery import PAGES, context

HOME = Path(prefjudge.marketplace.__file__).parent
OTHERS = {code: catalogue for code, catalogue in catalogues().items() if code != ENGLISH}
OF_ADMINS = {"invited", "panel", "panel_form", "panels", "worker"}
MARKUP = re.compile(r'narrow|working|required|allow-scripts.*|[a-z-]+="\{1\}"')
"""What stands in a template where texts do, and is none."""
FOR_ADMINS = {"people/requesters.py", "site/admin.py"}
TO_ADMINS = {
    "There is no such dispute that waits for an answer.",
    "Give the admin token.",
    "The token is wrong.",
    "The link was used, or is older than ten minutes. Give the token.",
}
TO_ADMINS |= {"Nobody knows who this was. Add the person as a new worker.", "A panel has no file {1}."}
TO_ADMINS |= {"Nobody has come with this session."}
OWN = Wording(task="Auftrag")


def literals(node: nodes.Node) -> Iterator[str]:
    """The texts of an expression that can be shown: of a mapping the values."""
    if isinstance(node, nodes.Const) and isinstance(node.value, str) and node.value[:1].isupper():
        yield node.value
    within = [item.value for item in node.items] if isinstance(node, nodes.Dict) else node.iter_child_nodes()
    for part in within:
        yield from literals(part)


@cache
def of_templates() -> set[str]:
    found: set[str] = set()
    for path in (HOME / "site" / "templates").glob("*.html"):
        if path.stem in OF_ADMINS or path.stem.startswith("admin"):
            continue
        source = path.read_text(encoding="utf-8")
        in_texts(source, lambda text: found.add(text) or text)
        for own in Environment().parse(source).find_all(nodes.Filter):
            if own.name == "own":
                found.update(literals(own))
    return {text for text in found if not MARKUP.fullmatch(text)}


@cache
def of_scripts() -> set[str]:
    scripts = [asset(name) for name in ("assignment.js", "question_form.js")]
    text = "".join(found[0].decode() for found in scripts if found)
    return {found for found in re.findall(r'"([A-Z][^"\n]*)"', text) if " " in found or found == "Saved"}


@cache
def of_the_server() -> set[str]:
    """What refuses a worker, with ``{1}`` for what is filled in."""
    found: set[str] = set()
    for path in HOME.rglob("*.py"):
        if str(path.relative_to(HOME)) in FOR_ADMINS:
            continue
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or getattr(call.func, "id", "") != "Refusal":
                continue
            said = call.args[1]
            if isinstance(said, ast.Constant):
                found.add(str(said.value))
            elif isinstance(said, ast.JoinedStr):
                found.add(
                    "".join(
                        getattr(one, "value", "") if isinstance(one, ast.Constant) else "{1}"
                        for one in said.values
                    )
                )
    return found - TO_ADMINS


def of_requirements() -> set[str]:
    bare = {"Exists", "DoesNotExist"}
    return {word if name in bare else f"{word} {{1}}" for name, word in qualifications._WORDS.items()} | {
        *qualifications.SYSTEM.values(),
        qualifications.BEING_CHECKED,
        qualifications.MANY_BEGAN,
        qualifications.NO_MORE,
        "Your earlier work",
        "is being checked",
        "does not lead to more HITs",
    }


SAID_OTHERWISE = {
    "You do not meet the requirements.",
    "Page not found", "There is no page at this address.",
    "Something broke", "This is not your fault. Try again.",
    "less than a minute",
}  # fmt: skip


def test_the_site_speaks_the_languages_of_the_judging_page() -> None:
    of_a_study = get_args(get_type_hints(DesignConfig, include_extras=False)["language"])
    assert set(catalogues()) == set(of_the_judging_page()) == set(of_a_study)


@pytest.mark.parametrize("code", OTHERS)
def test_every_text_is_there_and_none_is_left_over(code: str) -> None:
    """Whoever writes a sentence for workers writes it into each file of site/languages, too."""
    catalogue = OTHERS[code]
    assert set(catalogue.pages) == of_templates()
    assert set(catalogue.script) == of_scripts()
    assert set(catalogue.said) == of_the_server() | of_requirements() | SAID_OTHERWISE
    assert set(catalogue.counts) == {"HIT", "more HIT", "pair", "day", "hour", "minute"}


@pytest.mark.parametrize("code", OTHERS)
def test_what_is_filled_in_agrees_and_nothing_is_markup(code: str) -> None:
    catalogue, place = OTHERS[code], re.compile(r"{(\w*)}")
    for part in (catalogue.pages, catalogue.script, catalogue.said):
        for text, other in part.items():
            filled = set(place.findall(other)) - {"task", "tasks"}
            assert filled == set(place.findall(text)), text
            assert not set(other) & set('<>"\\'), text
            assert other == other.strip() != "", text
            assert len(place.findall(other)) == other.count("{") == other.count("}"), text
    assert {"task", "tasks"} == set(catalogue.words)
    for forms in catalogue.counts.values():
        assert all("{n}" in form for form in forms)
        assert len(forms) in (1, 2)


@pytest.mark.parametrize("code", OTHERS)
def test_every_page_of_a_worker_is_in_its_language_and_in_the_words_of_the_study(code: str) -> None:
    for name in PAGES:
        template = name.partition("-")[0]
        if template in OF_ADMINS or template.startswith("admin"):
            continue
        page = render_page(template, context(name), OWN.speaking(code))
        assert f'<html lang="{code}">' in page
        assert re.findall(r"{\w+}", page) == []
        if template in ("hits", "history", "inbox"):
            assert "Auftrag</a>" in page
    listed = render_page("hits", context("hits-fresh"), OWN.speaking(code))
    assert "24 Auftrag" in listed or "24 个 Auftrag" in listed
    assert "Read a question and two passages" in listed, "what people wrote stays"
    written = context("hits-fresh") | {"groups": [context("hits-fresh")["groups"][0] | {"title": "Return"}]}
    assert ">Return</a>" in render_page("hits", written, Wording(language=code))
    script = asset("assignment.js", OWN.speaking(code))
    assert script is not None
    assert catalogues()[code].script["Saved"] in script[0].decode()
    assert '"Accepted"' in script[0].decode(), "what programs say stays"


def test_numbers_and_sentences_with_values() -> None:
    german = Wording(language="de")
    assert german.count(1, "HIT") == "1 HIT"
    assert german.count(1234, "HIT") == "1.234 HITs"
    assert german.say("You hold 25 HITs. Submit or return some of them first.").startswith(
        "Sie haben schon 25"
    )
    assert german.say("is one of DE, US-NY") == "ist eines von: DE, US-NY"
    assert german.say("Colours: choose 2 to 3.") == "Colours: choose 2 to 3."  # no words for it: as it is
    assert Wording(language="zh").count(2, "day") == "2 天"


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"), ("de-AT,de;q=0.9,en;q=0.8", "de"), ("it,fr-CA;q=0.5,en;q=0.4", "fr"), ("*", "en"),
        ("de;q=0,es", "es"), ("de;q=x,zh-TW", "zh"), ("en-GB,de;q=0.9", "en"), (",;;=," * 400, "en"),
        ("fr;q=nan,de", "de"),
    ],
)  # fmt: skip
def test_the_first_language_of_a_browser_that_the_site_speaks(header: str, language: str) -> None:
    assert preferred(header) == language


def shown(worker: Worker, path: str, accept: str = "", cookie: str = "") -> str:
    headers = {"Cookie": f"{worker.headers['Cookie']}; {cookie}", "Accept-Language": accept}
    answer = worker.http.request("GET", f"{worker.endpoint}{path}", headers=headers)
    return str(answer.data.decode())


def test_a_worker_reads_the_language_of_the_browser_until_another_is_chosen(requester, worker) -> None:
    offer(requester, Title="Return")
    assert '<html lang="en">' in shown(worker, "/hits")
    page = shown(worker, "/hits?page=1", "fr-FR,fr;q=0.9")
    assert '<html lang="fr">' in page
    assert ">Return</a>" in page
    assert 'name="next" value="/hits?page=1"' in page
    answer = worker.request("POST", "/language", {"language": "de", "next": "/hits?page=1"})
    chosen = answer.headers["set-cookie"].split(";")[0]
    assert '<html lang="de">' in shown(worker, "/hits", "fr-FR", chosen)
    assert '<html lang="fr">' in shown(worker, "/hits", "fr", chosen.replace("=de", "=../../x"))
    worker.headers = {**worker.headers, "Cookie": f"{worker.headers['Cookie']}; {chosen}"}
    assert (
        worker.get("/groups/3NOSUCH", 404)["error"]
        == "Diese Arbeit gibt es nicht, oder für Sie ist keine mehr da."
    )
    assert worker.post("/language", {"language": "xx"}, 400)["code"] == "no_language"
    plain = {"Cookie": worker.headers["Cookie"]}
    for there, leads in (
        ("/history", "/history"),
        ("//elsewhere.example", "/hits"),
        ("https://x.example", "/hits"),
    ):
        sent = post(f"{worker.endpoint}/language", plain, language="es", next=there)
        assert (sent.status, sent.headers["location"]) == (303, leads)


def test_the_languages_of_a_study_and_of_the_admin_pages(tmp_path, stopping) -> None:
    server = start(f"sqlite:///{tmp_path}/m.db", settings=Settings(language="es"))
    stopping.append(threading.Thread(target=server.stop))
    worker = Admin(server).worker()
    assert '<html lang="es">' in shown(worker, "/hits", "de")
    assert '<html lang="es">' in shown(worker, "/signin?invite=x", "de")
    assert '<html lang="en">' in shown(worker, "/admin/signin", "de")
    stopping[-1].start()
