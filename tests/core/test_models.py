"""What a model's reply chooses, and whose models names and run tags speak of."""

import pytest

from prefjudge.core.models import kin_among, model_families, read_choice


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
