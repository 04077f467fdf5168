"""The commands of docs/backup.md run as printed, one after the other, on a study at work."""

import subprocess
from pathlib import Path

from tests.test_readme import ROOT, blocks, shell  # noqa: F401 - a fixture

POOL = (
    "prefjudge pool my-study --runs 'prefjudge/demo/runs/*.txt' --qrels prefjudge/demo/qrels.txt "
    "--queries prefjudge/demo/queries.tsv --collection prefjudge/demo/collection.tsv --depth 1"
)
AT_WORK = (
    "prefjudge init my-study --config demo",
    POOL,
    "cp prefjudge/demo/gold.tsv my-study/gold.tsv && prefjudge gold my-study --accept",
    "prefjudge publish my-study --sandbox --yes",
    "prefjudge work my-study --workers 9 --error 0.1 --slip 0",
    "prefjudge collect my-study",
)


def test_the_commands_of_the_page_run(shell: tuple[str, dict[str, str], Path]) -> None:  # noqa: F811
    program, environment, folder = shell
    found = blocks((ROOT / "docs" / "backup.md").read_text(encoding="utf-8"))
    assert len(found) >= 5
    printed = [command for commands, _ in found for command in commands]
    for command in (*AT_WORK, *printed):
        done = subprocess.run(
            [program, "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    assert (
        "0 pairs"
        in subprocess.run(
            [program, "-c", "prefjudge status my-study"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stderr
    )
