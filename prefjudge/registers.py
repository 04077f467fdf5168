"""Registers: what goes by a name, ours and what other packages add through an entry point.

A package adds a measure, rule, crowd, reader, text format or exporter by a line of its ``pyproject.toml``::

    [project.entry-points."prefjudge.measures"]
    INST = "inst:INST"

Its names are known at once; its code is imported when the name is used. One that is broken, or whose name is
taken, is an error only for who uses that name.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from prefjudge.errors import PluginError, PrefjudgeError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Register(Mapping[str, T], Generic[T]):
    """What goes by a name.

    Parameters
    ----------
    noun : str
        What these are, in the singular; the group of entry points is ``prefjudge.`` and the plural.
    kind : type or Callable
        What each of them must be.
    ours : mapping
        Those that prefjudge has itself. A text stands for what it names, ``MODULE`` or ``MODULE:NAME`` as in
        an entry point, which is imported when it is asked for.
    """

    def __init__(self, noun: str, kind: Any, ours: Mapping[str, T | str]) -> None:
        self.noun, self.kind, self.group = noun, kind, f"prefjudge.{noun.replace(' ', '_')}s"
        self.ours = ours
        self._loaded: dict[str, T] = {}

    @cached_property
    def theirs(self) -> "Mapping[str, tuple[EntryPoint, ...]]":
        """What other packages offer under each name: more than one is a clash."""
        if not _may_offer(tuple(sys.path)):
            return {}
        from importlib.metadata import entry_points  # takes longer than prefjudge's own start

        found: dict[str, tuple[EntryPoint, ...]] = {}
        for one in sorted(entry_points(group=self.group), key=lambda one: (one.name, _owner(one))):
            found[one.name] = (*found.get(one.name, ()), one)
        return found

    def __iter__(self) -> Iterator[str]:
        yield from self.ours
        yield from (name for name in self.theirs if name not in self.ours)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        """Return whether it is the same register: annotations that name one are hashed and compared."""
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __contains__(self, name: object) -> bool:
        """Return whether there is such a name; nothing is imported."""
        return name in self.ours or name in self.theirs

    def __getitem__(self, name: str) -> T:
        """Return what goes by a name.

        Raises
        ------
        KeyError
            There is no such name.
        PluginError
            Two packages have it, or what the package offers cannot be loaded or is something else.
        """
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    @contextmanager
    def using(self, name: str) -> Iterator[None]:
        """Name the package in the error where what it offers fails at work.

        Raises
        ------
        PluginError
            Its code raised something; errors that prefjudge raises on purpose, and ours, stay as they are.
        """
        try:
            yield
        except PrefjudgeError:
            raise
        except Exception as error:
            if name in self.ours or name not in self.theirs:
                raise
            one = self.theirs[name][0]
            raise PluginError(
                f"the {self.noun} {name} of {_described(one)} failed: {type(error).__name__}: {error}",
                f"Tell the author of {_owner(one)}, or uninstall it.",
            ) from error

    def clash(self, ours: str, theirs: str) -> PluginError:
        """Return the error of a name that stands for ours and for another package's."""
        return self._two(f"prefjudge's own {ours}", _described(self.theirs[theirs][0]), theirs)

    def _load(self, name: str) -> T:
        offered = self.theirs.get(name, ())
        if name in self.ours:
            if offered:
                raise self.clash(name, name)
            own = self.ours[name]
            return _imported(own) if isinstance(own, str) else own
        if not offered:
            raise KeyError(name)
        first, *more = offered
        if more:
            raise self._two(_described(first), _described(more[0]), name)
        try:
            found: Any = first.load()
        except Exception as error:  # whatever a stranger's module may raise
            raise PluginError(
                f"the {self.noun} {name} cannot be loaded from {_described(first)}: "
                f"{type(error).__name__}: {error}",
                f"Update {_owner(first)}, or uninstall it.",
            ) from error
        if not isinstance(found, self.kind):
            raise PluginError(
                f"the {self.noun} {name} of {_described(first)} is a {type(found).__name__}, "
                f"not a {self.kind.__name__}",
                "docs/plugins.md shows what it has to be. Update the package, or uninstall it.",
            )
        theirs: T = found
        return theirs

    def _two(self, first: str, second: str, name: str) -> PluginError:
        return PluginError(
            f"two packages have a {self.noun} {name}: {first}, and {second}",
            "Uninstall one of them, or rename its entry point.",
        )


@cache
def _may_offer(places: tuple[str, ...]) -> bool:
    """Return whether some package there may offer something: its file of entry points names a group of ours.

    Looking into these files takes milliseconds, and `importlib.metadata` forty of them and a megabyte. It is
    asked wherever packages may be in anything but plain folders.
    """
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    if len(finders) > 1 or not all(map(_is_plain, places)):
        return True
    found = (file for place in places for file in Path(place).glob("*-info/entry_points.txt"))
    try:
        return any(b"[prefjudge." in file.read_bytes() for file in found)
    except OSError:
        return True


def _is_plain(place: object) -> bool:
    """Return whether a place of the path may be a folder; notebooks put objects of pathlib there, too."""
    return isinstance(place, str) and not place.endswith(".egg") and not Path(place).is_file()


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found


def _owner(one: "EntryPoint") -> str:
    return one.dist.name if one.dist is not None else one.module


def _described(one: "EntryPoint") -> str:
    version = f" {one.dist.version}" if one.dist is not None else ""
    return f"{_owner(one)}{version} ({one.value})"
