"""Where compiled code is kept, and by what it is known again.

It has to be kept somewhere: numba refuses to load a function that it could not keep. That is where `NUMBA_CACHE_DIR`
says, or in the user's cache, or beside the program. Where none of these can be written to, as in a container with a
read-only disk, a folder of this process takes it, and goes with it. What was compiled into a folder that
`NUMBA_CACHE_DIR` names and that can only be read, as when an image was built, is used from there.

Whoever can write there runs code as us, for numba unpickles what it finds. So a folder that nobody named is taken only
if it is ours and nobody else may write to it, and from then on nobody else may look into it.

It is known by what is written: each module's code has a folder named by a digest of the module and of all of ours that
it imports. So it is shared by whatever runs the same text, wherever that is installed, and compiled anew after an
update only where something changed. Numba itself looks at nothing but the function's own file, and would go on with
code that calls what another file no longer says.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

VARIABLE = "NUMBA_CACHE_DIR"
PASSING = "recrawl-compiled-"
"""How the name of a folder begins that goes with its process."""
UNUSED_S = 90 * 86400.0
"""How long nobody used the code of a module that goes when the module is compiled anew."""
PRIVATE = 0o700
_PACKAGE = Path(__file__).parent
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+recrawl([.\w]*)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+recrawl([.\w]*))", re.M
)
_NAME = re.compile(r"\w+")
_EQUAL = ""
"""Stands for the time of the source: code in the same folder is of the same text."""


def njit(**options: Any) -> Callable[[Function], Function]:
    """Numba's own, for compiled code that is kept as said above."""
    import numba

    _known_by_its_text()
    decorator: Callable[[Function], Function] = numba.njit(**options)
    return decorator


def passing() -> bool:
    """Whether what is compiled now has to be compiled again at the next start."""
    return Path(os.environ.get(VARIABLE, "")).name.startswith(PASSING)


def place() -> Path | None:
    """The folder that compiled code is kept in; None if there is none that can be written to."""
    given = os.environ.get(VARIABLE)
    if given:
        return Path(given) if _writable(Path(given)) else None
    return next((each for each in _places() if _writable(each) and _trusted(each)), None)


def find_a_place() -> None:
    """See to it that compiled code can be kept."""
    if place() is not None:
        return
    import shutil
    import tempfile

    try:
        folder = tempfile.mkdtemp(prefix=PASSING)
    except OSError:  # numba will say what is wrong
        return
    if given := os.environ.get(VARIABLE):
        _lend(Path(given), Path(folder))
    os.environ[VARIABLE] = folder
    if sys.modules.get("numba"):  # which has read its settings
        sys.modules["numba"].config.CACHE_DIR = folder
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


def _lend(kept: Path, folder: Path) -> None:
    """Show what is kept in one folder in another too, where numba may put more beside it."""
    with suppress(OSError):  # then it is compiled again
        for each in kept.glob("*/*.nb?"):
            (folder / each.parent.name).mkdir(exist_ok=True)
            (folder / each.parent.name / each.name).symlink_to(each.absolute())


def _places() -> list[Path]:
    users = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return [Path(users) / "recrawl", _PACKAGE / "__pycache__" / "compiled"]


def _trusted(place: Path) -> bool:
    """Whether nobody else can have put anything into a folder, or it is yet to be made."""
    try:
        # A link is somebody's word for where it leads: it has to be ours as well.
        found, owners = place.stat(), {place.stat().st_uid, place.lstat().st_uid}
    except FileNotFoundError:
        return not place.is_symlink()
    except OSError:
        return False
    return owners == {os.geteuid()} and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _made_private(place: Path) -> bool:
    """Make a place that nobody named, or shut others out of it; whether it can be trusted then."""
    if os.environ.get(VARIABLE):
        return True
    place.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        place.mkdir(PRIVATE)
    if not _trusted(place):  # somebody was quicker
        return False
    place.chmod(PRIVATE)
    return True


def _writable(place: Path) -> bool:
    """Whether a folder can be written to, or made."""
    there = next((each for each in (place, *place.parents) if each.exists()), None)
    return there is not None and there.is_dir() and os.access(there, os.W_OK | os.X_OK)


@cache
def _known_by_its_text() -> None:
    """Have numba ask us first where code of ours is kept. It promises no such thing: else it does as it always does."""
    try:
        from numba.core.caching import CacheImpl

        CacheImpl._locator_classes.insert(0, _Folder)
    except (ImportError, AttributeError):
        return


class _Folder:
    """Where the compiled code of one function is, in the words of numba's locators of caches."""

    def __init__(self, folder: str, line: int) -> None:
        self._folder, self._line = folder, line

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Folder | None:
        """The one of a function; None if the function is not ours, or there is no place."""
        folder = _folder_of(py_file)
        return None if folder is None else cls(folder, py_func.__code__.co_firstlineno)

    def ensure_cache_path(self) -> None:
        """Make it."""
        os.makedirs(self._folder, exist_ok=True)

    def get_cache_path(self) -> str:
        """Its path."""
        return self._folder

    def get_source_stamp(self) -> str:
        """What would change with the source, if the folder did not."""
        return _EQUAL

    def get_disambiguator(self) -> str:
        """What tells functions of one name in one module from each other."""
        return str(self._line)


@cache
def _folder_of(file: str) -> str | None:
    """The folder of a module's compiled code, made; None if the module is not ours, or there is no place for it."""
    path, kept = Path(file), place()
    if kept is None or not path.is_relative_to(_PACKAGE) or not path.is_file():
        return None
    module = ".".join(path.relative_to(_PACKAGE).with_suffix("").parts)
    folder = kept / f"{module}-{digest(path)}"
    try:
        if not _made_private(kept):
            return None
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _sweep(kept, module)
    except OSError:
        return None
    with suppress(OSError):  # a folder that was named may be another's
        os.utime(folder)
    return str(folder)


def _sweep(kept: Path, module: str) -> None:
    """Drop code of a module's other texts that nobody has used for long."""
    import shutil

    for folder in kept.glob(f"{module}-*"):
        with suppress(OSError):  # another process may sweep as well
            if time.time() - folder.stat().st_mtime > UNUSED_S:
                shutil.rmtree(folder, ignore_errors=True)


def digest(module: Path) -> str:
    """Of a module, of all that it imports of ours, and of what compiles it."""
    found = hashlib.sha256(repr(_compiler()).encode())
    for path in sorted(_reached(module)):
        found.update(hashlib.sha256(_text(path)).digest())
    return found.hexdigest()[:16]


@cache
def _compiler() -> tuple[Any, ...]:
    import numba
    import numpy as np

    return numba.__version__, np.__version__, getattr(numba.config, "BOUNDSCHECK", None)


def _reached(module: Path) -> set[Path]:
    """The module and those of ours that it imports, they import, and so on."""
    reached, ahead = {module}, [module]
    while ahead:
        ahead = [each for path in ahead for each in _imported(path) if each not in reached]
        reached.update(ahead)
    return reached


@cache
def _imported(module: Path) -> tuple[Path, ...]:
    """The modules of ours that a module names in its imports."""
    found: set[Path] = set()
    for home, names, whole in _IMPORT.findall(_text(module).decode()):
        folder = _PACKAGE.joinpath(*(home or whole).strip(".").split("."))
        inside = [_file_of(folder / name) for name in _NAME.findall(names)]
        found.update(each for each in (*inside, _file_of(folder)) if each is not None)
    return tuple(found - {_PACKAGE / "__init__.py"})  # which loads what it names when asked


def _file_of(module: Path) -> Path | None:
    """The file of a module or package; None if there is none."""
    return next((each for each in (module.with_suffix(".py"), module / "__init__.py") if each.is_file()), None)


@cache
def _text(path: Path) -> bytes:
    return path.read_bytes()
