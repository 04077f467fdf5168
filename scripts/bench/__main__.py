"""Run the benchmarks: ``python scripts/bench [section ...]``.

Inputs are generated with a fixed seed below the cache folder, peers are installed in an environment of their
own, and ours and theirs run in turn. What counts is the ratios; seconds depend on the machine and its load.
``trec_eval`` takes part where it is on the path.
``--json FILE`` keeps the figures. ``python scripts/bench/marketplace.py`` puts load on the marketplace.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from harness import ROOT, Lab, hold
from machine import describe
from ratios import Result, summary

SECTIONS = (
    "pooling",
    "reading",
    "scoring",
    "texts",
    "inference",
    "resolving",
    "store",
    "starting",
    "study",
    "crowd",
)


def main() -> int:
    """Hold the contests and print how they end."""
    parser = argparse.ArgumentParser(prog="python scripts/bench", description=__doc__)
    parser.add_argument(
        "sections", nargs="*", metavar="SECTION", help="one or more of: " + ", ".join(SECTIONS)
    )
    parser.add_argument("--short", action="store_true", help="tiny inputs, nothing judged: for CI")
    parser.add_argument("--cache", type=Path, default=ROOT / ".bench", help="folder of inputs and peers")
    parser.add_argument("--rounds", type=int, help="5, or 1 of --short, by default")
    parser.add_argument(
        "--no-peers", action="store_true", help="install nothing; compare with the floors only"
    )
    parser.add_argument(
        "--json", type=Path, help="write the figures there, too, and where they were measured"
    )
    options = parser.parse_args()
    unknown = set(options.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    figures = _measure(options, options.sections or SECTIONS)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


def _measure(options: argparse.Namespace, sections: Sequence[str]) -> dict[str, Any]:
    """Hold the contests of the sections, print them, and return the figures."""
    os.environ.setdefault("PREFJUDGE_COPIES", "0")  # a round must not live on what the last one left
    options.cache.mkdir(parents=True, exist_ok=True)
    lab = Lab(folder=options.cache.resolve(), short=options.short)
    if options.short or options.no_peers:
        lab.peers = ()
    rounds = options.rounds or (1 if options.short else 5)
    results: dict[str, list[Result]] = {}
    for name in sections:
        section = importlib.import_module(name)
        print(section.TITLE, flush=True)
        for line in section.figures(lab) if hasattr(section, "figures") else ():
            print(f"  {line}", flush=True)
        for contest in section.contests(lab):
            result = Result.of(hold(contest, rounds, warm=not options.short))
            results.setdefault(name, []).append(result)
            print("\n".join(result.lines(judge=not options.short)), flush=True)
    if not options.short:
        print("\n".join(summary([result for section in results.values() for result in section])))
    return {
        "short": options.short,
        "rounds": rounds,
        "machine": describe(),
        "contests": [
            {"section": name, **one.to_json()} for name, section in results.items() for one in section
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
