from decimal import Decimal
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from prefjudge.core.judgments import BarringPolicy
from prefjudge.crowd.crowds import connect
from prefjudge.crowd.protocol import CrowdSettings
from prefjudge.errors import ConfigError
from prefjudge.renamed import OldName
from prefjudge.resources import resource_dir
from prefjudge.steps.init import init
from prefjudge.study import config as config_module
from prefjudge.study.config import StudyConfig, load_config, template
from prefjudge.study.store import fill


def config(tmp_path: Path, text: str) -> StudyConfig:
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return load_config(path)


CONFIGS = get_args(get_type_hints(init)["config"])


def test_init_offers_the_configs_that_there_are() -> None:
    assert set(CONFIGS) == {path.stem for path in resource_dir("configs").glob("*.toml")}


@pytest.mark.parametrize("name", CONFIGS)
def test_every_shipped_config_is_valid(tmp_path: Path, name: str) -> None:
    assert config(tmp_path, fill(template(name), name="trial")).name == "trial"


def test_the_default_config_states_the_defaults(tmp_path: Path) -> None:
    shipped = config(tmp_path, fill(template("default"), name="trial"))
    assert len(shipped.id) == 12
    assert shipped == StudyConfig(name="trial", id=shipped.id)


def test_the_papers_config_has_the_papers_values(tmp_path: Path) -> None:
    paper = config(tmp_path, template("paper2021"))
    assert (paper.design.pairs_per_hit, paper.design.gold_per_hit) == (10, 3)
    assert paper.hit.reward == Decimal("2.00")
    assert paper.workers.locales == ("US",)
    assert (paper.workers.approved_more_than, paper.workers.min_approval_rate) == (10_000, 97)
    assert paper.screening.policy is BarringPolicy.FIRST_MISS_WHOLE
    assert (paper.pool.depth, paper.pool.sample, paper.pool.min_size) == (1, 500, 2)


def test_a_key_that_moved_is_taken_under_its_old_name_and_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = {"pool.deep": "pool.depth", "cap": "budget", "screening.stop": "pay.doubt_days"}
    monkeypatch.setattr(config_module, "MOVED", moved)
    before = 'name = "x"\ncap = 20\n[pool]\ndeep = 3\n[screening]\nstop = 1\n'
    with pytest.warns(OldName) as told:
        now = config(tmp_path, before)
    assert (now.pool.depth, now.budget, now.pay.doubt_days) == (3, 20, 1)
    assert [str(one.message).partition(": ")[2] for one in told] == [
        f"{old} is now {new}: write that name" for old, new in moved.items()
    ]
    with pytest.raises(ConfigError, match=r"pool\.deep: this key is pool\.depth now, which is there too"):
        config(tmp_path, 'name = "x"\n[pool]\ndeep = 3\ndepth = 2\n')
    monkeypatch.setenv("PREFJUDGE_POOL__DEEP", "0")
    with (
        pytest.warns(OldName, match=r"pool\.deep"),
        pytest.raises(ConfigError, match=r"pool\.depth, which PREFJUDGE_POOL__DEEP sets: Input should be"),
    ):
        config(tmp_path, 'name = "x"\n')


def test_every_wrong_key_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        config(
            tmp_path,
            'name = "x"\nfoo = 1\n[hit]\nrewrad = 3\nreward = 1.555\n[design]\nbudget = 1\ngold_per_hit = -1',
        )
    message = raised.value.message
    assert "hit.rewrad: there is no such key; did you mean reward in [hit]?\n" in message
    assert "design.budget: there is no such key; did you mean budget, above the first section?" in message
    assert message.endswith("foo: there is no such key")
    assert "hit.reward: " in message
    assert "design.gold_per_hit: Input should be greater than or equal to 0 (got -1)" in message


def test_a_live_target_needs_a_budget_and_an_address(tmp_path: Path) -> None:
    live = '[targets.live]\nurl = "https://crowd.example.org"\n'
    with pytest.raises(ConfigError, match=r"a live target needs a budget: .* in dollars\n"):
        config(tmp_path, f'name = "x"\n{live}')
    assert config(tmp_path, f'name = "x"\nbudget = 20\n{live}').budget == 20
    assert not config(tmp_path, f'name = "x"\nbudget = 20\n{live}').targets["live"].live
    with pytest.raises(ConfigError, match=r"targets\.sandbox pays in play money"):
        config(tmp_path, 'name = "x"\n[targets.sandbox]\nlive = true\n')
    with pytest.raises(ConfigError, match="needs the url"):
        config(tmp_path, 'name = "x"\nbudget = 20\n[targets.live]\nlive = true\n')


def test_the_environment_overrides_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFJUDGE_HIT__REWARD", "1.50")
    assert config(tmp_path, 'name = "x"').hit.reward == Decimal("1.50")
    monkeypatch.setenv("PREFJUDGE_BUDGET", "20")
    monkeypatch.setenv("PREFJUDGE_SEED", "7")
    found = config(tmp_path, 'name = "x"\nbudget = 500\n[hit]\nreward = 1')
    assert (found.budget, found.seed, found.hit.reward) == (20, 7, Decimal("1.50"))


def test_the_environment_is_blamed_for_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFJUDGE_HIT__REWARD", "lots")
    monkeypatch.setenv("PREFJUDGE_FOO__BAR", "1")
    with pytest.raises(ConfigError) as raised:
        config(tmp_path, 'name = "x"')
    assert "hit.reward, which PREFJUDGE_HIT__REWARD sets: " in raised.value.message
    assert "foo, which PREFJUDGE_FOO__BAR sets: there is no such key" in raised.value.message
    monkeypatch.setenv("PREFJUDGE_BUDGET", "much")
    with pytest.raises(ConfigError, match="budget, which PREFJUDGE_BUDGET sets: "):
        config(tmp_path, 'name = "x"')
    monkeypatch.setenv("PREFJUDGE_NAME__X", "1")
    with pytest.raises(ConfigError, match="PREFJUDGE_NAME__X: name is not a section"):
        config(tmp_path, 'name = "x"')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('rule = "most-winz"', "rule: .*no such rule; choose one of: shallow-pooling, "),
        ("measures = []", "measures: .*at least one measure"),
        ('measures = ["RR@10", "Foo@3"]', "measures: .*Foo"),
        ("[design]\nseconds_per_pair = 1e-300", "design.seconds_per_pair: "),
        ("[design]\nseconds_per_pair = inf", "design.seconds_per_pair: "),
        ("[screening]\naccuracy = 1.0", "screening: .*between 0.5 and 1"),
        ("[screening]\nconfidence = 1.0", "screening: .*between 0.5 and 1"),
        ("[screening]\naccuracy = 0.3", "screening: .*between 0.5 and 1"),
    ],
)
def test_values_that_would_fail_once_the_work_is_paid_are_refused_at_once(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        config(tmp_path, f'name = "x"\n{text}\n')


def test_broken_files_are_explained(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"study\.toml is not TOML: .*line 1"):
        config(tmp_path, "name = x")
    with pytest.raises(ConfigError, match=r"'pool'.* twice .*line 3") as error:
        config(tmp_path, 'name = "x"\n[pool]\n[pool]')
    assert error.value.hint == "Put the lines of both under the first header, and delete the second."
    with pytest.raises(ConfigError, match=r"cannot read .*nowhere"):
        load_config(tmp_path / "nowhere.toml")
    with pytest.raises(ConfigError, match=r"no config 'mine'[\s\S]*default, demo, paper2021"):
        template("mine")


@pytest.mark.parametrize(
    ("name", "rule"), [("default", "noisy-bradley-terry"), ("paper2021", "shallow-pooling")]
)
def test_a_study_weighs_workers_unless_it_is_the_paper_s(tmp_path: Path, name: str, rule: str) -> None:
    assert config(tmp_path, template(name).replace("{name}", "x").replace("{id}", "")).rule == rule
    assert config(tmp_path, 'name = "x"').rule == "noisy-bradley-terry"


PROLIFIC = """
name = "n"
budget = 10
[targets.live]
crowd = "prolific"
live = true
workspace = "0a"
project = "0b"
hits = 3
secure = true
"""


def test_what_only_a_crowd_of_another_kind_asks_for_stands_beside_it(tmp_path: Path) -> None:
    live = config(tmp_path, PROLIFIC).target("live")
    assert live is not None
    assert live.options == {"workspace": "0a", "project": "0b", "hits": "3", "secure": "true"}
    assert live.is_own_marketplace
    with pytest.raises(ConfigError, match="judge"):
        config(tmp_path, PROLIFIC + 'judge = "dog"\n')
    with pytest.raises(ConfigError, match="there is no such key"):
        config(tmp_path, PROLIFIC.replace('crowd = "prolific"', 'url = "https://a.example"'))
    with pytest.raises(ConfigError, match="there is no such key"):
        config(tmp_path, PROLIFIC + "filters = [1]\n")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('workspace = "0a"', "needs a workspace"),
        ('project = "0b"', "needs a project"),
        ("hits = 3", "hits of the Prolific target is '0'"),
        ("secure = true", "secure of the Prolific target is 'yes'"),
        ("live = true", "has no key 'colour'"),
    ],
)
def test_a_prolific_target_that_cannot_be_is_named(
    tmp_path: Path, wrong: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = {"hits = 3": "hits = 0", "secure = true": 'secure = "yes"', "live = true": 'colour = "red"'}
    target = config(tmp_path, PROLIFIC.replace(wrong, other.get(wrong, ""))).target("live")
    assert target is not None
    settings = CrowdSettings(rate=Decimal("0.4"), options=target.options)
    with pytest.raises(ConfigError, match=said):
        connect("prolific", settings)
