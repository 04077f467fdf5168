"""Plant small faults in the code and count those that the tests do not notice.

    pip install mutmut
    python scripts/mutants.py 'prefjudge/core/*' --tests tests/core --sample 1000 --seed 7
    python scripts/mutants.py prefjudge/core/hits.py --tests tests/core/test_hits.py --diffs

Mutmut works on a copy of the project in build/mutants; there, `mutmut run NAME` tries one fault again. Prints
a table by file, and the faults (mutants) that no test noticed. The score is the share of noticed faults in
all that were drawn; a fault that ends in endless work is noticed.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "build" / "mutants"
NOTICED = ("killed", "timeout", "segfault", "suspicious")

Results = dict[str, str]
"""The state of each mutant, by its name."""


def copy_project() -> list[str]:
    """Copy what git would take; return the first folders and files, but the code and the tests.

    Made afresh: mutmut takes a file for done that it was not asked for in an earlier run.
    """
    command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    files = [name for name in os.fsdecode(listed).split("\0") if name and (ROOT / name).is_file()]
    shutil.rmtree(COPY, ignore_errors=True)
    for name in files:
        (COPY / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, COPY / name)
    return sorted({Path(name).parts[0] for name in files} - {"prefjudge", "tests"})


def configuration(sources: list[str], tests: list[str], also: list[str]) -> str:
    """Return mutmut's setup.cfg."""
    lists = {"only_mutate": sources, "pytest_add_cli_args_test_selection": tests, "also_copy": also}
    lines = [f"{key}=\n" + "".join(f"    {value}\n" for value in values) for key, values in lists.items()]
    return "[mutmut]\nsource_paths=prefjudge\npytest_add_cli_args=-p no:cacheprovider\n" + "".join(lines)


def mutmut(*arguments: str, show: bool = False) -> str:
    """Run mutmut in the copy; return what it prints, or show it as it goes."""
    command = (str(Path(sys.executable).with_name("mutmut")), *arguments)
    where = {} if show else {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(command, cwd=COPY, text=True, check=False, **where).stdout or ""


def results() -> Results:
    lines = mutmut("results", "--all", "true").splitlines()
    return dict(line.strip().rsplit(": ", 1) for line in lines if ": " in line)


def draw(names: list[str], size: int | None, seed: int) -> list[str]:
    """Return a random sample of the mutants, or all of them."""
    return sorted(names) if size is None else random.Random(seed).sample(sorted(names), min(size, len(names)))


def file_of(name: str) -> str:
    """Return the file of a mutant: ``prefjudge.core.hits.x_f__mutmut_3`` is in core/hits.py."""
    return name.rsplit(".", 1)[0].replace(".", "/") + ".py"


def table(results: Results) -> str:
    """Return a line for each file, worst first, and one for all."""
    by_file: dict[str, Counter[str]] = defaultdict(Counter)
    for name, state in results.items():
        by_file[file_of(name)][state] += 1
    rows = sorted(by_file.items(), key=lambda row: (score(row[1]), row[0]))
    rows.append(("all", Counter(results.values())))
    states = sorted(rows[-1][1])
    lines = [f"{'':44}" + "".join(f"{title:>10}" for title in ("mutants", *states, "score"))]
    for title, counts in rows:
        numbers = (counts.total(), *(counts[state] for state in states))
        lines.append(f"{title:44}" + "".join(f"{n:10}" for n in numbers) + f"{score(counts):10.1%}")
    return "\n".join(lines)


def score(counts: Counter[str]) -> float:
    return sum(counts[state] for state in NOTICED) / counts.total()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", nargs="+", help="files to plant faults in, or quoted patterns of files")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="the tests that are to notice them")
    parser.add_argument("--sample", type=int, help="how many faults, drawn at random (all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", default=str(os.cpu_count() or 1), help="how many to try at once")
    parser.add_argument("--diffs", action="store_true", help="show each fault that no test noticed")
    options = parser.parse_args()
    if not Path(sys.executable).with_name("mutmut").exists():
        parser.error("mutmut is not installed beside this Python: pip install mutmut")

    also = copy_project()
    (COPY / "setup.cfg").write_text(configuration(options.sources, options.tests, also), encoding="utf-8")
    # Mutmut cannot only list: a run of a mutant that is not there makes all, and times the tests.
    said = mutmut("run", "--max-children", options.jobs, "none")
    planted = [
        name for name in results() if any(fnmatch(file_of(name), source) for source in options.sources)
    ]
    if not planted:
        parser.error(f"nothing was planted: are these files of prefjudge, and do their tests pass?\n{said}")
    drawn = draw(planted, options.sample, options.seed)
    mutmut("run", "--max-children", options.jobs, *drawn, show=True)
    states = {name: state for name, state in results().items() if name in set(drawn)}
    print(table(states))
    for name in sorted(name for name, state in states.items() if state not in NOTICED):
        print(mutmut("show", name) if options.diffs else f"{states[name]:9} {name}")


if __name__ == "__main__":
    main()
