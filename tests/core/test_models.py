"""What a model's reply chooses, and whose models names and run tags speak of."""

import pytest

from prefjudge.core.judgments import (
    ModelComparison,
    ModelVote,
    compare_with_people,
    favourites,
    hopeless,
    kin_among,
    model_families,
    read_choice,
)


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ("1", 1),
        (" 2.\n", -1),
        ("0", 0),
        ("**1**", 1),
        ("Passage 1 is better", 1),
        ("The better one is passage 2.", -1),
        ("2\n\nPassage 1 is off topic.", -1),
        ("Passage 2, by 1.5 to 0.5", -1),
        ("Passage 1 is worse than Passage 2", None),
        ("1 or 2", None),
        ("1/2", None),
        ("12", None),
        ("2x", None),
        ("I cannot say", None),
        ("", None),
    ],
)
def test_a_reply_chooses_what_it_names_alone(reply: str, choice: int | None) -> None:
    assert read_choice(reply) == choice


@pytest.mark.parametrize(
    ("name", "families"),
    [
        ("openai/gpt-4o", {"OpenAI"}),
        ("o3-mini", {"OpenAI"}),
        ("GPT4_turbo", {"OpenAI"}),
        ("text-embedding-3-small", {"OpenAI"}),
        ("bm25+rankgpt4", {"OpenAI"}),
        ("claude-3-5-haiku", {"Anthropic"}),
        ("google/gemini-pro", {"Google"}),
        ("DeepSeek-R1-Distill-Qwen-7B", {"DeepSeek", "Alibaba"}),
        ("phi4", {"Microsoft"}),
        ("reranker-x", set()),
        ("graphite-commander", set()),
        ("metarank", set()),
        ("run-3", set()),
    ],
)
def test_a_name_speaks_of_its_makers_by_whole_words(name: str, families: set[str]) -> None:
    assert model_families(name) == families


def test_kin_are_runs_of_the_same_maker_or_of_the_words_given() -> None:
    runs = ["openai-rank", "bm25", "chatgpt-rerank", "reranker-large", "claude2_top"]
    assert kin_among("o3-mini", runs) == ("openai-rank", "chatgpt-rerank")
    assert kin_among("anthropic", runs) == ("claude2_top",)
    assert kin_among("reranker-x", runs) == ()
    assert kin_among("reranker", runs) == ("reranker-large",)
    assert kin_among("rank", runs) == ("openai-rank",)


def vote(doc_a: str, doc_b: str, a_first: int, b_first: int, query: str = "q") -> ModelVote:
    return ModelVote(pair=(query, doc_a, doc_b), a_first=a_first, b_first=b_first)


def test_a_model_is_compared_with_people_vote_by_vote() -> None:
    votes = [
        vote("a", "b", 1, 1),
        vote("a", "c", 1, -1),
        vote("b", "c", 0, 0),
        vote("c", "d", -1, -1),
        vote("d", "e", 1, 0),
    ]
    people = {
        ("q", "a", "b"): (1, 1, -1, 0),  # three votes that count: one pair agrees, two do not
        ("q", "c", "d"): (-1, -1),
        ("q", "a", "c"): (1, 1),  # the model does not decide, so that people are not compared there either
        ("q", "x", "y"): (1, -1, 0),
    }
    assert compare_with_people(iter(votes), people) == ModelComparison(
        pairs=5,
        ties=3,
        flips=1,
        first_side=5,  # one of a and b, both of a and c, one of c and d, one of d and e
        answers=7,
        agreed=4,
        compared=5,
        people_agreed=2,
        people_compared=4,
    )


def test_hopeless_are_those_that_lost_all_of_enough_pairs() -> None:
    lost = [vote("a", doc, -1, -1) for doc in "bcd"] + [vote(doc, "z", 1, 1) for doc in "bc"]
    assert hopeless(lost) == {("q", "a")}
    assert hopeless(lost, least=2) == {("q", "a"), ("q", "z")}
    assert hopeless(lost, least=4) == set()
    assert hopeless([*lost, vote("a", "y", 1, -1)]) == set(), "a tie saves"
    assert hopeless([*lost, vote("a", "y", -1, -1, query="p")], least=4) == set(), "each query by itself"


def test_the_favourite_won_most_and_is_the_first_among_equals() -> None:
    votes = [
        vote("b", "a", 1, 1),
        vote("b", "c", -1, -1),
        vote("a", "c", 1, 1),
        vote("x", "w", 0, 0, query="p"),
    ]
    assert favourites(votes) == {"q": "a", "p": "w"}
    assert favourites([*votes, vote("b", "d", 1, 1)]) == {"q": "b", "p": "w"}
