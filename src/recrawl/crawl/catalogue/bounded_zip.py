"""A packed folder of a stranger: only what is asked for is unpacked, in memory, and no more than so much of it.

Nothing is written anywhere, so that names in it can lead nowhere.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable

from recrawl.errors import ParameterError

LARGEST_FILE, LARGEST_ALL, MOST_FILES = 64 * 2**20, 256 * 2**20, 50_000
LARGEST_DIRECTORY = 64 * 2**20
"""Of the list of files at its end, which is read as a whole."""
_END, _END_BYTES, _LONGEST_COMMENT = b"PK\x05\x06", 22, 65_535


def unpacked(data: bytes, wanted: Callable[[str], bool], name: str) -> dict[str, bytes]:
    """The files that are wanted, by the names they have; ParameterError, with the list's name, if that is too much."""
    _check_directory(data, name)
    found: dict[str, bytes] = {}
    left = LARGEST_ALL
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            for each in packed.infolist():
                if each.is_dir() or not wanted(each.filename) or each.filename in found:
                    continue
                if len(found) >= MOST_FILES or each.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ParameterError(name, f"at most {MOST_FILES:,} files, packed as zip usually does", "others")
                with packed.open(each) as file:
                    content = file.read(min(LARGEST_FILE, left) + 1)
                if len(content) > min(LARGEST_FILE, left):
                    expected = f"files of at most {LARGEST_FILE // 2**20} MiB, {LARGEST_ALL // 2**20} MiB in all"
                    raise ParameterError(name, expected, "larger ones")
                left -= len(content)
                found[each.filename] = content
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, OSError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(name, "a zip file that is whole and not encrypted", "one that cannot be read") from error
    return found


def _check_directory(data: bytes, name: str) -> None:
    place = data.rfind(_END, max(len(data) - _END_BYTES - _LONGEST_COMMENT, 0))
    size = int.from_bytes(data[place + 12 : place + 16], "little") if place >= 0 else 0
    if size > LARGEST_DIRECTORY:
        raise ParameterError(name, "a zip file with fewer files in it: unpack it and give its url-watches.json", "more")
