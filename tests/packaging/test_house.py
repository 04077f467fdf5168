"""The meter of the house counts what it says, and its budget only falls by itself."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import house  # noqa: E402 - a script

FILES = {
    "__init__": "from shop.door import open_shop",
    "door": "from shop.till import Till\ndef open_shop(key, tx):\n    return Till().pay(key, tx)\n",
    "till": (
        "from dataclasses import dataclass\nfrom shop.safe import lock\nimport shop.coins\n\n"
        "@dataclass\nclass Till:\n    def pay(self, key, tx):\n        return self.sum(key, tx)\n"
        "    def sum(self, key, tx):\n        return lock(key, tx=tx)\n"
    ),
    "safe": "def lock(key, tx):\n    return turn(key, tx)\ndef turn(key, tx):\n    return key\n",
    "coins": "from typing import NamedTuple\nclass Coin(NamedTuple):\n    rest: dict[str, Any]\n",
    "plug": "KNOWN = {'shop.named': 1}\nfrom shop.named import x\n",
    "named": "x = 1\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> house.Package:
    (tmp_path / "shop").mkdir()
    for name, text in FILES.items():
        (tmp_path / "shop" / f"{name}.py").write_text(text)
    return house.Package(tmp_path / "shop")


def test_a_parameter_is_followed_through_functions_methods_and_files(shop: house.Package) -> None:
    assert shop.chains() == ["shop.door:open_shop hands on key: 4"], "and not what belongs to a call: tx"


def test_small_files_of_one_importer_are_named_but_for_doors(shop: house.Package) -> None:
    assert [one.partition(" ")[0] for one in shop.lonely()] == [
        "shop/coins.py",
        "shop/safe.py",
        "shop/till.py",
    ]


def test_records_and_loose_mappings_are_counted(shop: house.Package) -> None:
    assert shop.records() == ["shop.coins:Coin", "shop.till:Till"]
    assert shop.loose_dicts() == ["shop/coins.py:3: rest: dict[str, Any]"]


def test_a_figure_may_fall_but_not_rise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    budget = tmp_path / "house.toml"
    budget.write_text("# why\n[budget]\nlines = 10\nfiles = 2\n")
    monkeypatch.setattr(house, "BUDGET", budget)
    monkeypatch.setattr(house, "Package", lambda _: None)
    monkeypatch.setattr(house, "figures", lambda _: {"lines": 11, "files": 1})
    assert house.main([]) == 1
    assert "ABOVE" in capsys.readouterr().out
    assert house.main(["--lower"]) == 1
    assert budget.read_text() == "# why\n[budget]\nlines = 10\nfiles = 1\n", "a rise is written by hand"
    monkeypatch.setattr(house, "figures", lambda _: {"lines": 10, "files": 1})
    assert house.main([]) == 0
