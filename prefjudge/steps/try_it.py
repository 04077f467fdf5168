"""Lets a person judge a sample of ten minutes, and says how far they agree with the labels."""

import os
import re
import sys
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from prefjudge.crowd.simulated import Visitor
from prefjudge.errors import InputError, StudyError
from prefjudge.field.crowd import Address, Watch, keep_marketplace_open, open_marketplace
from prefjudge.reading.given import as_folder, expand, several
from prefjudge.show.results import Screen, Shown
from prefjudge.steps.collect import collect
from prefjudge.steps.demo import copy_collection, new_folder
from prefjudge.steps.gold import gold
from prefjudge.steps.init import init
from prefjudge.steps.pool import PoolResult, pool
from prefjudge.steps.publish import publish
from prefjudge.steps.resolve import resolve
from prefjudge.steps.score import score
from prefjudge.steps.work import ask_admin
from prefjudge.study.store import CONFIG_FILE, SANDBOX, Study
from prefjudge.words import many

FOLDER = "prefjudge-try"
_PAIRS, _GOLD, _RUNS = 11, 3, 3
_SECONDS = 25.0
_PERSON: dict[str, object] = {"name": "you"}
_LOOK = 5.0
"""Seconds after which it is looked again, should no event have told of the work."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TryResult(Shown):
    """What a person judged, and how often they chose what the labels call relevant.

    ``pairs`` were shown, hidden gold pairs among them. Of the pairs with a labelled passage, ``won`` are
    those where the person preferred it; all are 0 without qrels. ``dropped`` says why a study would not count
    the work; empty where it would.
    """

    folder: str
    pairs: int
    won: int
    lost: int
    tied: int
    dropped: str

    def screen(self) -> Screen:
        """Return whether the person agreed with the labels."""
        if self.dropped:
            found = f"A study would drop this work, and ask somebody else: {self.dropped}."
        elif total := self.won + self.lost + self.tied:
            found = (
                f"You chose the labelled passage in {self.won} of {many(total, 'pair')} that hold one, and "
                f"another in {self.lost}."
            )
        else:
            found = f"You judged {many(self.pairs, 'pair')}; without qrels there are no labels to agree with."
        sure = "One person and a few pairs: this shows what judging is like, and says nothing about the runs."
        return Screen(found=(found,), sure=(sure,))


def try_it(
    folder: str | Path | None = None,
    *,
    runs: str | Path | Sequence[str | Path] = (),
    qrels: str | Path | None = None,
    queries: str | Path | None = None,
    collection: str | Path | None = None,
    ready: Callable[[str, int, float], None] | None = None,
) -> TryResult:
    """Judge a sample of ten minutes in your browser, and see how far you agree with the labels.

    Parameters
    ----------
    folder : Path, optional
        A new folder for everything; ``prefjudge-try``, numbered if need be, by default.
    runs : sequence of paths or patterns
        The run files, or folders of them, of which three are sampled; the demo's by default.
    qrels : Path, optional
        The known relevant documents, which make the hidden gold pairs, too.
    queries : Path, optional
        The queries and their texts.
    collection : Path, optional
        The texts of the passages.
    ready : callable, optional
        Told the link that signs in, the number of pairs and the minutes that they take.

    Raises
    ------
    StudyError
        The folder exists and is not empty.
    InputError
        There are runs without texts to show, or texts without runs.
    """
    given = {"runs": several(runs), "queries": queries, "collection": collection}
    if any(given.values()) and not all(given.values()):
        lacking = " and ".join(f"--{name}" for name, value in given.items() if not value)
        raise InputError(
            f"without {lacking} there is nothing to show",
            "Give runs, queries and a collection, or none of them.",
        )
    home = new_folder(as_folder(folder), FOLDER)
    study = home / "study"
    with ExitStack() as unjudged:
        unjudged.callback(rmtree, home, ignore_errors=True)  # a sample that nobody has judged is of no use
        if not given["runs"]:
            files = home / "collection"
            copy_collection(files)
            runs, qrels = [str(files / "runs")], files / "qrels.txt"
            queries, collection = files / "queries.tsv", files / "collection.tsv"
        paths = expand(several(runs))
        sampled = paths[:: max(1, -(-len(paths) // _RUNS))][:_RUNS]
        init(study, name="try")
        whole = pool(runs=sampled, qrels=qrels, queries=queries, depth=1)
        if not whole.pairs:
            raise StudyError(
                "the runs agree on every first passage: there is no pair to judge", "Give other runs."
            )
        judged = sum(count for size, count in whole.sizes.items() if size > 1)
        made = pool(
            Study(study),
            runs=sampled,
            qrels=qrels,
            queries=queries,
            collection=collection,
            depth=1,
            sample=min(judged, max(1, round(_PAIRS * judged / whole.pairs))),
            min_size=2,
        )
        shown = _publish(study, made)
        with keep_marketplace_open(Study(study)), open_marketplace(Study(study)) as address:
            link = _accept(address)
            if ready:
                ready(link, shown, shown * _SECONDS / 60)
            if has_browser():
                webbrowser.open(link)
            watch = Watch(Study(study), SANDBOX)
            while True:
                state = collect(Study(study))
                if state.collected:
                    break
                watch.wait(_LOOK)
        unjudged.pop_all()
    won = lost = tied = 0
    if not state.dropped and qrels is not None:
        resolve(Study(study))
        for one in score(Study(study), write=False).pairings[:1]:
            won, lost, tied = one.won, one.lost, one.tied
    return TryResult(
        folder=str(home),
        pairs=shown,
        won=won,
        lost=lost,
        tied=tied,
        dropped=", ".join(state.reasons) if state.dropped else "",
    )


def _publish(study: Path, made: PoolResult) -> int:
    """Publish all pairs as one HIT, unpaid, and return how many it shows."""
    _set(study, pairs_per_hit=min(100, made.pairs), reward="0", gold_per_hit=_GOLD)
    golden = gold(Study(study), suggest=_GOLD, accept=True).gold
    _set(study, gold_per_hit=min(_GOLD, golden))
    publish(Study(study), sandbox=True, yes=True)
    return min(100, made.pairs) + min(_GOLD, golden)


def _set(study: Path, **keys: object) -> None:
    """Set keys of a study that `init` has just made: its file has a line for each."""
    path = study / CONFIG_FILE
    text = path.read_text(encoding="utf-8")
    for key, value in keys.items():
        text = re.sub(rf"(?m)^{key} = \S+", f"{key} = {value}", text)
    path.write_text(text, encoding="utf-8")


def _accept(address: Address) -> str:
    """Invite the person, accept the HIT in their name, and return the link that signs in on it."""
    invite = ask_admin(address, "POST", "/workers", _PERSON).json()["invite"]
    person = Visitor(address.worker_site, invite)
    (group,) = person.get("/hits")["groups"]
    _, accepted = person.post(f"/groups/{group['group_id']}/accept")
    return f"{address.worker_site}/signin?invite={invite}&next=/assignments/{accepted['assignment_id']}"


def has_browser() -> bool:
    """Return whether a page can be opened here: not over ssh, nor where only text is shown."""
    if sys.platform in ("darwin", "win32"):
        return "SSH_CONNECTION" not in os.environ
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
