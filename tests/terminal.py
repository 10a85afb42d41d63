"""A program in a terminal of its own: what it shows, and keys for it."""

from __future__ import annotations

import os
import pty
import select
import signal
from collections.abc import Sequence
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ
from typing import Any

from until import until

ROWS, COLUMNS = 24, 100
ENTER = "\r"


def control(letter: str) -> str:
    """A key with Control."""
    return chr(ord(letter) & 31)


class Terminal:
    """Runs a program, keeps its screen as a person would see it, and ends the program with itself."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        import pyte

        self._screen: Any = pyte.Screen(COLUMNS, ROWS)
        self._stream: Any = pyte.ByteStream(self._screen)
        self._left = False
        here = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "linux", "LANG": "C.UTF-8", "TZ": "UTC"}
        self._process, self._line = pty.fork()
        if self._process == 0:
            try:
                os.chdir(folder)
                os.execvpe(command[0], list(command), here)
            finally:
                os._exit(127)
        ioctl(self._line, TIOCSWINSZ, pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.kill(self._process, signal.SIGWINCH)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._left:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
        os.close(self._line)

    def lines(self) -> list[str]:
        """The screen now; empty lines are left out."""
        while select.select([self._line], [], [], 0)[0]:
            try:
                self._stream.feed(os.read(self._line, 65536))
            except OSError:  # the program has ended
                break
        return [line.rstrip() for line in self._screen.display if line.strip()]

    def line(self, words: str) -> str:
        """The first line of the screen with these words; empty if there is none."""
        return next((line for line in self.lines() if words in line), "")

    def wait_for(self, *words: str) -> None:
        """Until all of these words stand on the screen."""
        try:
            until(lambda: all(self.line(each) for each in words))
        except AssertionError as error:
            raise AssertionError("\n".join([f"{words} is not shown, but:", *self.lines()])) from error

    def press(self, *keys: str) -> None:
        """One key after the other."""
        for key in keys:
            os.write(self._line, key.encode())

    def left(self) -> int:
        """The program's exit status, once it has ended by itself."""
        found: list[tuple[int, int]] = []

        def ended() -> bool:
            self.lines()  # nobody can end who waits to be read
            found.append(os.waitpid(self._process, os.WNOHANG))
            return found[-1][0] != 0

        until(ended)
        self._left = True
        return os.waitstatus_to_exitcode(found[-1][1])
