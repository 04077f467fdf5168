"""A language model as an extra assessor, against a local server that speaks its API."""

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import pytest

from prefjudge.errors import BudgetError, ConfigError, CrowdError, InputError, StudyError
from prefjudge.steps.judge import ModelLedger, judge
from prefjudge.steps.resolve import resolve
from prefjudge.steps.run import RunResult, run
from prefjudge.study.imports import load_votes, longest_reply
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
    first = judge(
        pooled, url=endpoint.url, model="acme/judge-1", prompt_price=Decimal(2), reply_price=Decimal(10)
    )
    pairs = count_pairs(pooled)
    assert (first.asked, first.replies, first.comparison.pairs) == (2 * pairs, 2 * pairs, pairs)
    assert first.cost == (Decimal(2 * pairs * (2 * 100 + 10 * 1)) / 1_000_000).quantize(Decimal("0.0001"))
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


def test_a_reply_without_a_choice_is_no_vote_costs_and_is_asked_for_again(
    pooled: Path, endpoint: Endpoint
) -> None:
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
    told = judge(pooled, url=endpoint.url, model="gpt-4o", own_kind=True, most=1)
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


def test_an_endpoint_may_leave_tokens_uncounted(pooled: Path, endpoint: Endpoint) -> None:
    endpoint.reply = lambda text: {
        "choices": [{"message": {"content": text}}],
        "usage": {"prompt_tokens": None, "completion_tokens": None},
    }
    found = judge(pooled, url=endpoint.url, model="acme/judge-1", most=1)
    assert (found.asked, found.prompt_tokens, found.reply_tokens, found.unsettled) == (2, 0, 0, 2)
    again = judge(pooled, url=endpoint.url, model="acme/judge-1", most=1, prompt_price=A_DOLLAR_A_TOKEN)
    assert again.cost >= sum(len(prompt.encode()) for prompt in endpoint.asked)


A_DOLLAR_A_TOKEN = Decimal(1_000_000)
"""For a million."""


@pytest.mark.parametrize("workers", [1, 8])
def test_no_request_is_sent_that_could_pass_the_most_cost(
    pooled: Path, endpoint: Endpoint, workers: int
) -> None:
    """As the requests of people's work: each is reserved before it is sent, those at once too."""
    endpoint.prompt_tokens = lambda prompt: len(prompt.encode()) + 20  # as dear as a tokenizer can be
    dear = {"url": endpoint.url, "model": "judge-1", "workers": workers, "prompt_price": A_DOLLAR_A_TOKEN}
    most = Decimal(20_000)
    with pytest.raises(BudgetError, match=r"one more request may cost \$\d+\.0000, and \$20000 is the most"):
        judge(pooled, **dear, most_cost=most)  # type: ignore[arg-type]
    spent = sum(len(prompt.encode()) + 20 for prompt in endpoint.asked)
    longest = max(len(prompt.encode()) for prompt in endpoint.asked)
    assert most - 2 * longest < spent <= most
    with Study(pooled).transaction(write=False) as db:
        votes = load_votes(db, "judge-1")
    assert len(endpoint.asked) // 2 - workers < len(votes) <= len(endpoint.asked) // 2
    with pytest.raises(BudgetError):
        judge(pooled, **dear, most_cost=most)  # type: ignore[arg-type]
    spent = sum(len(prompt.encode()) + 20 for prompt in endpoint.asked)  # a shorter request may have fitted
    assert spent <= most
    if workers > 1:  # which pairs have both orders answered depends on who came first
        return
    found = judge(pooled, **dear, most=len(votes) // 2, most_cost=most)  # type: ignore[arg-type]
    assert (found.asked, found.cost, found.unsettled, found.notices[1:]) == (0, spent, 0, ())


def test_a_kill_between_reservation_and_reply_leaves_the_money_in_sight(
    pooled: Path, endpoint: Endpoint
) -> None:
    met, hush = threading.Event(), threading.Event()
    endpoint.taste = lambda *_: str(met.set() or hush.wait(60))
    command = ["judge", pooled, "--url", endpoint.url, "--model", "judge-1", "--workers", "1"]
    process = subprocess.Popen([sys.executable, "-m", "prefjudge", *command], stderr=subprocess.DEVNULL)
    try:
        assert met.wait(60)
    finally:
        process.kill()
        process.wait()
        hush.set()
    endpoint.taste = lambda *_: "1"
    found = judge(pooled, url=endpoint.url, model="judge-1", most=1, prompt_price=A_DOLLAR_A_TOKEN)
    assert (found.asked, found.replies, found.prompt_tokens, found.unsettled) == (2, 2, 200, 1)
    lost = len(endpoint.asked[0].encode())
    assert lost + 200 <= found.cost <= lost + 300
    assert (
        f"1 request ended without a count of tokens: what was reserved, ${found.cost - 200}"
        in (found.notices[-1])
    )
    with pytest.raises(BudgetError, match=f"judge-1 has cost \\${found.cost}"):
        judge(
            pooled,
            url=endpoint.url,
            model="judge-1",
            most=2,
            prompt_price=A_DOLLAR_A_TOKEN,
            most_cost=found.cost,
        )


def test_what_may_have_been_served_stays_reserved_and_what_was_refused_does_not(
    pooled: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prefjudge.crowd.model.time.sleep", lambda _: None)
    endpoint.trouble = [(503, {}), (429, {}), (500, {}), (502, {})]
    assert judge(pooled, url=endpoint.url, model="judge-1", most=1, workers=1).unsettled == 2
    endpoint.trouble = [(401, {})]
    with pytest.raises(CrowdError, match="refused: 401"):
        judge(pooled, url=endpoint.url, model="judge-1", most=2, workers=1)
    with pytest.raises(CrowdError, match="no connection"):
        judge(pooled, url="http://127.0.0.1:9/v1", model="judge-1", most=2, workers=1)
    assert judge(pooled, url=endpoint.url, model="judge-1", most=1).unsettled == 2


def test_a_reply_that_costs_more_than_was_reserved_is_said_and_learned_from(
    pooled: Path, endpoint: Endpoint
) -> None:
    endpoint.reply_tokens = 500
    cheap = {"url": endpoint.url, "model": "judge-1", "workers": 1, "reply_price": A_DOLLAR_A_TOKEN}
    found = judge(pooled, **cheap, most=1, most_cost=Decimal(1000))  # type: ignore[arg-type]
    assert found.cost == 1000
    assert "1 reply took more tokens than was reserved, and cost $484.0000 more than that" in found.notices
    with pytest.raises(BudgetError, match=r"has cost \$1000.0000, one more request may cost \$500.0000"):
        judge(pooled, **cheap, most_cost=Decimal(1400))  # type: ignore[arg-type]


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
    done = prefjudge("judge", pooled, "--url", endpoint.url, "--model", "judge-1", "--prompt-price", "2.50")
    assert done.returncode == 0, done.stderr
    assert "first passage preferred" in done.stderr
    assert "agrees with people       not known yet\n" in done.stderr
    assert "cost                     $0." in done.stderr
    free = prefjudge("judge", pooled, "--url", endpoint.url, "--model", "judge-1").stderr
    assert "cost                     not known, as no price was given, for " in free  # and not $0.0000
    wrong = prefjudge("judge", pooled, "--url", endpoint.url, "--model", "judge-1", "--most-cost", "lots")
    assert (wrong.returncode, "'lots' is not an amount of dollars" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("tokens", [-100, 2**70, float("inf"), 0, "12", True, [1]])
def test_a_count_that_is_none_frees_no_money(pooled: Path, endpoint: Endpoint, tokens: object) -> None:
    endpoint.prompt_tokens = lambda prompt: tokens  # type: ignore[assignment, return-value]
    cheap = {"url": endpoint.url, "model": "judge-1", "prompt_price": A_DOLLAR_A_TOKEN}
    found = judge(pooled, **cheap, most=2)  # type: ignore[arg-type]
    assert (found.asked, found.unsettled, found.prompt_tokens) == (4, 4, 0)
    assert found.cost >= sum(len(prompt.encode()) for prompt in endpoint.asked)


def test_half_a_character_in_a_reply_is_kept_as_a_question_mark(pooled: Path, endpoint: Endpoint) -> None:
    endpoint.taste = lambda *_: "1 \ud800"
    found = judge(pooled, url=endpoint.url, model="judge-1", most=1)
    assert (found.asked, found.unreadable) == (2, 0)


def test_two_processes_together_never_pass_the_most_cost(pooled: Path, endpoint: Endpoint) -> None:
    endpoint.prompt_tokens = lambda prompt: len(prompt.encode()) + 20  # as dear as a tokenizer can be
    endpoint.taste = lambda *_: str(1 + bool(time.sleep(0.02)))
    prices = ["--prompt-price", "1e6", "--reply-price", "1e6", "--most-cost", "20000"]
    command = ["judge", pooled, "--url", endpoint.url, "--model", "judge-1", "--workers", "8", *prices]
    both = [
        subprocess.Popen([sys.executable, "-m", "prefjudge", *command], stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[1] for process in both]
    spent = sum(len(prompt.encode()) + 20 + 1 for prompt in endpoint.asked)
    assert 20_000 - 2 * max(len(prompt.encode()) for prompt in endpoint.asked) < spent <= 20_000
    assert [process.returncode for process in both] == [1, 1]
    assert all("one more request may cost" in words for words in said), said


def test_what_one_process_learns_of_the_replies_another_knows(pooled: Path, endpoint: Endpoint) -> None:
    """A model that thinks first passes the cut; each process would else learn that at its own cost."""
    with Study(pooled).transaction(write=False) as db:
        assert longest_reply(db, "judge-1") == 0
    opened = Study(pooled)
    prices = (Decimal(0), A_DOLLAR_A_TOKEN)
    ledger = ModelLedger(opened, "judge-1", prices=prices, most_cost=Decimal(1400), reply_tokens=16)
    endpoint.reply_tokens = 500
    elsewhere = judge(pooled, url=endpoint.url, model="judge-1", most=1, workers=1, reply_price=prices[1])
    assert elsewhere.cost == 1000
    with (
        pytest.raises(BudgetError, match=r"one more request may cost \$500\.0000"),
        ledger.request("key", "which?"),
    ):
        pass
