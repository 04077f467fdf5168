"""A real TeX that sets tables."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

TEX = shutil.which("pdflatex")
if TEX and subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True, check=False).returncode:
    TEX = None


def overfull(tables: Sequence[str], column: float, text: float) -> list[str]:
    """Return what TeX finds wrong with tables on pages of these sizes; without a TeX, nothing.

    The packages are those that the tables name. A longtable goes over pages of one column. What a table
    shrinks to its page may be a fifth too wide for it.
    """
    if TEX is None:
        return []
    found = []
    for long in (False, True):
        chosen = [one for one in tables if (r"\begin{longtable}" in one) is long]
        packages = sorted({name for one in chosen for name in re.findall(r"^% needs (.*)", one)})
        columns = "" if long or column == text else "[twocolumn]"
        page = [
            rf"\documentclass{columns}{{article}}",
            rf"\setlength{{\textwidth}}{{{text}pt}}\setlength{{\columnsep}}{{{text - 2 * column}pt}}",
            *packages,
            r"\ifdefined\resizebox\renewcommand{\resizebox}[3]{\scalebox{0.8333}{#3}}\fi",
            r"\hfuzz=0.5pt\begin{document}",
            *(f"{one}\n\\clearpage" for one in chosen),
            r"\end{document}",
        ]
        if chosen:
            found += _said("\n".join(page))
    return found


def _said(page: str) -> list[str]:
    with TemporaryDirectory() as folder:
        (Path(folder) / "page.tex").write_text(page, encoding="utf-8")
        command = [str(TEX), "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "page.tex"]
        for _ in range(2 if "longtable" in page else 1):  # longtable learns its widths by a first round
            done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
            if done.returncode:
                return [done.stdout.decode(errors="replace")[-3_000:]]
        log = (Path(folder) / "page.log").read_text(errors="replace")
    return re.findall(r"^(?:Overfull .*|.*LaTeX Error.*|Missing character.*)$", log, re.MULTILINE)
