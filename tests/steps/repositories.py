"""Git as the tests use it: real, and with nobody's settings."""

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

TODAY = datetime.now(UTC).date()
NOBODY = {
    **{f"GIT_{who}_NAME": "nobody" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "nobody@example.org" for who in ("AUTHOR", "COMMITTER")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def git(folder: Path, *words: str, feed: bytes = b"") -> str:
    """Run Git in a folder, and return what it printed."""
    done = subprocess.run(
        ["git", *words], cwd=folder, input=feed, capture_output=True, check=True, env={**os.environ, **NOBODY}
    )
    return done.stdout.decode().strip()


def commit_all(folder: Path) -> None:
    """Commit all that is in a folder, which becomes a repository where it is none."""
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--no-verify", "--allow-empty", "-m", "All")


def write_submission(folder: Path, name: str, rows: str = "q1 Q0 d1 1 2.5 {name}\n", **about: object) -> None:
    """Write the two files of a submission."""
    place = folder / "submissions"
    (place / f"{name}.txt").write_text(rows.format(name=name))
    said = {"team": "House", "model_description": name, "type": "full ranking", "submitter": "ada", **about}
    (place / f"{name}-metadata.json").write_text(json.dumps(said))
