"""A board's repository as it begins: the files that are written, and where they come from."""

from pathlib import Path

from prefjudge.reading.files import write_text
from prefjudge.resources import resource_dir
from prefjudge.study.config import load_config, parse_config, schema_text, template
from prefjudge.study.store import CONFIG_FILE, SCHEMA_FILE, create, fill
from prefjudge.version import __version__

_WHERE = {"workflows": ".github/workflows", "hooks": ".githooks", "CODEOWNERS": ".github/CODEOWNERS"}
_IGNORED = """\
# The collection and the labels may be others', and what is made from the log is made again.
/data
/preference*
/site
/comment.md
"""


def make_repository(folder: Path) -> list[str]:
    """Write what a board's repository holds; what is there already stays as it is. Return the files.

    ``data``, where the collection and the labels are put, is made, too: Git keeps nothing of it.

    Raises
    ------
    StudyError
        The folder holds something else than a study.
    ConfigError
        The config that is there is wrong.
    """
    path = folder / CONFIG_FILE
    text = fill(template("default"), name=folder.resolve().name[:100])
    if not path.exists():
        parse_config(text, path)
    is_new = create(folder, text, schema_text() + "\n")
    made = [CONFIG_FILE, SCHEMA_FILE, ".gitignore"] if is_new else []
    load_config(path)
    (folder / "data").mkdir(exist_ok=True)
    ignored = folder / ".gitignore"
    before = ignored.read_text(encoding="utf-8") if ignored.is_file() else ""
    if _IGNORED not in before:
        write_text(ignored, before + _IGNORED)
    source = resource_dir("configs") / "board"
    for file in sorted(one for one in source.rglob("*") if one.is_file()):
        first, *rest = file.relative_to(source).parts
        target = folder.joinpath(_WHERE.get(first, first), *rest)
        if target.exists():
            continue
        write_text(target, file.read_text(encoding="utf-8").replace("{version}", __version__))
        if first == "hooks":
            target.chmod(0o755)
        made.append(target.relative_to(folder).as_posix())
    return made
