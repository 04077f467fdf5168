"""A language model as an extra assessor, against a local server that speaks its API."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from prefjudge.errors import ConfigError, CrowdError, InputError, StudyError
from prefjudge.steps.judge import judge
from prefjudge.steps.resolve import resolve
from prefjudge.steps.run import RunResult, run
from prefjudge.study.imports import load_votes
from prefjudge.study.store import Study
from tests.cli.conftest import prefjudge
from tests.serving import Handler, Serving
from tests.steps.test_road import TRUTH
from tests.steps.test_run import answers, best_of

BOTH = re.compile(r'Question: (.*?)\n\nPassage 1:\n"""\n(.*?)\n"""\n\nPassage 2:\n"""\n(.*?)\n"""', re.S)


class _Chat(Handler):
    server: "Endpoint"

    def do_POST(self) -> None:
        body, endpoint = json.loads(self.body()), self.server
        status, headers = endpoint.trouble.pop() if endpoint.trouble else (200, {})
        reply = b""
        if status == 200:
            prompt = body["messages"][0]["content"]
            endpoint.asked.append(prompt)
            endpoint.authorization.add(self.headers["Authorization"])
            found = BOTH.search(prompt)
            assert found, prompt
            usage = {
                "prompt_tokens": endpoint.prompt_tokens(prompt),
                "completion_tokens": endpoint.reply_tokens,
            }
            said = endpoint.reply(endpoint.taste(*found.groups()))
            reply = json.dumps({"usage": usage, **said}).encode()
        with suppress(ConnectionError):  # nobody waits for what comes too late
            self.answer(status, reply, headers)


class Endpoint(Serving):
    """Answers chat completions like a model with a taste, after some trouble."""

    def __init__(self) -> None:
        self.trouble: list[tuple[int, dict[str, str]]] = []
        self.asked: list[str] = []
        self.authorization: set[str | None] = set()
        self.taste = lambda query, first, second: "1" if len(first) >= len(second) else "2"
        self.prompt_tokens = lambda prompt: 100
        self.reply_tokens = 1
        self.reply = lambda text: {"choices": [{"message": {"content": text}}]}
        super().__init__(_Chat)
        self.url = f"{self.origin}/v1"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as made:
        yield made


def count_pairs(study: Path) -> int:
    with Study(study).transaction(write=False) as db:
        return int(db.execute("SELECT count(*) FROM pairs")[0][0])


def test_both_orders_are_asked_once_and_the_replies_are_kept(pooled: Path, endpoint: Endpoint) -> None:
    first = judge(pooled, url=endpoint.url, model="acme/judge-1")
    pairs = count_pairs(pooled)
    assert (first.asked, first.replies, first.comparison.pairs) == (2 * pairs, 2 * pairs, pairs)
    assert (first.prompt_tokens, first.reply_tokens) == (2 * pairs * 100, 2 * pairs)
    again = judge(pooled, url=endpoint.url, model="acme/judge-1")
    assert (again.asked, again.comparison) == (0, first.comparison)
    assert len(endpoint.asked) == 2 * pairs
    assert endpoint.authorization == {None}


def test_a_model_that_prefers_a_place_gives_nothing_but_ties(pooled: Path, endpoint: Endpoint) -> None:
    endpoint.taste = lambda *_: "1"
    found = judge(pooled, url=endpoint.url, model="acme/judge-1").comparison
    assert found.ties == found.flips == found.pairs
    assert found.first_side == found.answers == 2 * found.pairs
    assert found.compared == 0


def test_trouble_is_waited_out_and_a_refusal_is_explained(
    pooled: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("prefjudge.crowd.model.time.sleep", waits.append)
    endpoint.trouble = [(503, {}), (429, {"Retry-After": "0.25"}), (429, {"Retry-After": "soon"})]
    judge(pooled, url=endpoint.url, model="acme/judge-1", most=1, workers=1)
    assert 0.25 in waits
    assert len(waits) == 3
    endpoint.trouble = [(401, {})]
    with pytest.raises(CrowdError, match=r"refused: 401[\s\S]*PREFJUDGE_MODEL_KEY"):
        judge(pooled, url=endpoint.url, model="acme/judge-2", most=1, workers=1)
    endpoint.trouble = [(500, {})] * 20
    with pytest.raises(CrowdError, match=r"no answer in 6 attempts and \d+ seconds: status 500"):
        judge(pooled, url=endpoint.url, model="acme/judge-3", most=1, workers=1)
    with pytest.raises(CrowdError, match=r"no answer in 6 attempts .*: no connection"):
        judge(pooled, url="http://127.0.0.1:9/v1", model="acme/judge-3", most=1, workers=1)
    endpoint.trouble = []
    endpoint.reply = lambda text: {"choices": []}
    with pytest.raises(CrowdError, match="not with a chat completion"):
        judge(pooled, url=endpoint.url, model="acme/judge-4", most=1, workers=1)


def test_silence_is_waited_out_for_so_long_and_told(
    pooled: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prefjudge.crowd.model._LONGEST_READ", 0.1)
    monkeypatch.setattr("prefjudge.crowd.model._PATIENCE", 1.0)
    hush = threading.Event()
    endpoint.taste = lambda *_: str(hush.wait(60))
    told: list[str] = []
    try:
        with pytest.raises(CrowdError, match=r"no answer in 2 attempts .* no answer in time[\s\S]*--workers"):
            judge(pooled, url=endpoint.url, model="acme/judge-1", most=1, workers=1, tell=told.append)
    finally:
        hush.set()
    assert [text.partition("; ")[2] for text in told] == ["attempt 2 of 6 in 0.5 s"]


def test_a_reply_without_a_choice_is_no_vote_and_is_asked_for_again(pooled: Path, endpoint: Endpoint) -> None:
    undecided = iter(["Hard to say"])
    endpoint.taste = lambda query, first, second: next(undecided, "Passage 2 is better")
    found = judge(pooled, url=endpoint.url, model="acme/judge-1", most=3, workers=1)
    assert (found.asked, found.unreadable) == (6, 1)
    assert (found.comparison.pairs, found.comparison.answers) == (2, 4)
    undecided = iter(["Neither 1 nor 2"])
    again = judge(pooled, url=endpoint.url, model="acme/judge-1", most=3)
    assert (again.asked, again.unreadable, again.comparison.pairs) == (1, 1, 2)
    at_last = judge(pooled, url=endpoint.url, model="acme/judge-1", most=3)
    assert (at_last.asked, at_last.unreadable, at_last.comparison.pairs) == (1, 0, 3)
    assert (at_last.replies, at_last.prompt_tokens, at_last.reply_tokens) == (6, 800, 8)


def test_a_model_that_mostly_chooses_nothing_is_stopped(pooled: Path, endpoint: Endpoint) -> None:
    endpoint.taste = lambda *_: "Passage 1 is worse than 2"
    done = prefjudge("judge", pooled, "--url", endpoint.url, "--model", "acme/judge-1", "--most", 3)
    assert done.returncode == 1
    assert "6 of 6 replies of acme/judge-1 choose no passage, such as 'Passage 1 is worse" in done.stderr
    with Study(pooled).transaction(write=False) as db:
        assert load_votes(db) == []
    endpoint.taste = lambda *_: "1"
    assert judge(pooled, url=endpoint.url, model="acme/judge-1", most=3).asked == 6


def test_a_judge_does_not_meet_its_own_kind_unless_told(pooled: Path, endpoint: Endpoint) -> None:
    with Study(pooled).transaction() as db:
        db.execute("UPDATE inputs SET name = 'openai-rank' WHERE name = 'lexical'")
    with pytest.raises(StudyError, match="o3-mini would judge runs of its own kind: openai-rank"):
        judge(pooled, url=endpoint.url, model="o3-mini")
    with pytest.raises(StudyError, match="own kind: reranker-large, reranker-small"):
        judge(pooled, url=endpoint.url, model="judge-1", family="reranker")
    told = judge(pooled, url=endpoint.url, model="gpt-4o", family="none", most=1)
    assert (told.asked, told.notices) == (2, ())
    unknown = judge(pooled, url=endpoint.url, model="acme/reranker-xl", most=1)
    assert "the name acme/reranker-xl does not say whose model it is" in unknown.notices[0]
    assert judge(pooled, url=endpoint.url, model="acme/reranker-xl", family="acme", most=1).notices == ()


@pytest.mark.parametrize("url", ["notaurl", "localhost:8000/v1", "ftp://here/v1", "http://", "http://a b/v1"])
def test_an_address_is_checked_before_anything_is_asked(pooled: Path, url: str) -> None:
    with pytest.raises(InputError, match=r"--url .* is not an address[\s\S]*http://127"):
        judge(pooled, url=url, model="acme/judge-1")


def test_a_key_with_a_line_break_is_named(pooled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFJUDGE_MODEL_KEY", "abc\n")
    with pytest.raises(ConfigError, match="PREFJUDGE_MODEL_KEY holds a character"):
        judge(pooled, url="http://127.0.0.1:9/v1", model="acme/judge-1")


@pytest.mark.parametrize("tokens", [None, -100, 2**70, float("inf"), 0, "12", True, [1]])
def test_an_endpoint_may_leave_tokens_uncounted(pooled: Path, endpoint: Endpoint, tokens: object) -> None:
    endpoint.prompt_tokens = lambda prompt: tokens  # type: ignore[assignment, return-value]
    found = judge(pooled, url=endpoint.url, model="acme/judge-1", most=1)
    assert (found.asked, found.prompt_tokens, found.reply_tokens) == (2, 0, 0)


def test_votes_that_were_made_before_a_refusal_are_kept(pooled: Path, endpoint: Endpoint) -> None:
    replies = iter("1" * 6)
    endpoint.taste = lambda *_: next(replies, None) or endpoint.trouble.append((401, {})) or "1"
    with pytest.raises(CrowdError, match="refused: 401"):
        judge(pooled, url=endpoint.url, model="judge-1", workers=1)
    with Study(pooled).transaction(write=False) as db:
        assert len(load_votes(db, "judge-1")) == 3


def run_with_judge(study: Path, told: list[str]) -> RunResult:
    """Drive a study by the votes of judge-1, which no person's votes vouch for."""
    return run(
        study,
        strategy="round-robin:1",
        model="judge-1",
        ungated=True,
        workers=6,
        error=0.0,
        truth=TRUTH,
        yes=True,
        tell=told.append,
    )


def test_a_good_model_saves_votes_and_people_still_find_the_best(pooled: Path, endpoint: Endpoint) -> None:
    from prefjudge.crowd.simulated import seen
    from prefjudge.study.pools import load_passages, load_queries

    with Study(pooled).transaction(write=False) as db:
        queries, passages = load_queries(db), load_passages(db)
    utility = {
        (seen(queries[query]), seen(passages[doc])): float(value)
        for query, doc, value in (line.split("\t") for line in TRUTH.read_text().splitlines()[1:])
        if query in queries and doc in passages
    }
    endpoint.taste = lambda query, first, second: (
        "1" if utility[seen(query), seen(first)] >= utility[seen(query), seen(second)] else "2"
    )
    assert judge(pooled, url=endpoint.url, model="judge-1").hopeless > 0
    with pytest.raises(StudyError, match="judge-2 has judged nothing here"):
        run(pooled, strategy="round-robin:1", model="judge-2", yes=True)
    result = run_with_judge(pooled, [])
    assert result.judgments < count_pairs(pooled)
    best = best_of(pooled)
    assert all(docs <= best[query] for query, docs in answers(pooled).items())


def test_the_favourite_is_tried_first_and_the_hopeless_not_at_all(pooled: Path, endpoint: Endpoint) -> None:
    found = judge(pooled, url=endpoint.url, model="judge-1")
    assert found.hopeless > 0
    with pytest.raises(StudyError, match=r"judge-1: people judged none of its pairs[\s\S]*--ungated"):
        run(pooled, strategy="round-robin:1", model="judge-1", yes=True)
    told: list[str] = []
    result = run_with_judge(pooled, told)
    assert told[0] == "judge-1 is used, though people's votes do not vouch for it"
    assert result.unfinished == 0
    assert result.judgments < count_pairs(pooled)
    assert answers(pooled).keys() == best_of(pooled).keys()
    compared = judge(pooled, url=endpoint.url, model="judge-1").comparison
    assert compared.compared > 0
    with pytest.raises(InputError, match=r"not replaced by models'\nGive --out"):
        resolve(pooled, with_models=True)
    out = pooled / "with-models.qrels"
    people = resolve(pooled, out=out).judgments
    with pytest.raises(StudyError, match="do not vouch for judge-1"):
        resolve(pooled, with_models=True, out=out)
    found_with = resolve(pooled, with_models=True, ungated=True, out=out)
    assert found_with.judgments == people + compared.pairs
    assert found_with.notices[-1] == told[0]
    worth = prefjudge("judge", pooled, "--worth", "--json")
    gate = json.loads(worth.stdout)["gates"][0]
    assert (gate["model"], gate["open"], gate["enough"]) == ("judge-1", False, False)
    assert resolve(pooled, with_models=True, without=["model:judge-1"], out=out).judgments == people


def test_the_verb_says_what_the_model_is_worth(pooled: Path, endpoint: Endpoint) -> None:
    done = prefjudge("judge", pooled, "--url", endpoint.url, "--model", "judge-1")
    assert done.returncode == 0, done.stderr
    assert "first passage preferred" in done.stderr
    assert "agrees with people       not known yet\n" in done.stderr
    assert f"tokens                   {200 * count_pairs(pooled):,} sent" in done.stderr


def test_half_a_character_in_a_reply_is_kept_as_a_question_mark(pooled: Path, endpoint: Endpoint) -> None:
    endpoint.taste = lambda *_: "1 \ud800"
    found = judge(pooled, url=endpoint.url, model="judge-1", most=1)
    assert (found.asked, found.unreadable) == (2, 0)
