"""The exceptions recrawl raises on purpose.

::

    RecrawlError                     anything a caller may want to catch as ours
    ├── ParameterError (ValueError)  an argument is wrong: which, where, what was expected
    ├── ContractError                a rule between caller and called was broken: which, and what to do
    ├── OutputError                  the place to write to cannot be written to
    ├── ConfigError                  a settings file is wrong: which file, which line
    ├── StoreError                   the store cannot be opened, read or written: why, and what to do
    │   ├── StoreFullError           there is no space left: stop fetching, nothing of the last write was kept
    │   ├── StoreVersionError        something in it was written by another version of recrawl
    │   └── StoreTakenError          another has become the one that writes: stop, it will not get better
    ├── FleetError                   the machines of a fleet cannot be reached: where, and what to do
    ├── TransportError               a request without a usable answer (drawn in crawl.transport)
    └── MissingExtraError (ImportError)   an optional part is not installed: which extra to install

Everything else that escapes is a bug. The command line prints these as one line, without a traceback.
"""

from __future__ import annotations

from types import ModuleType


class RecrawlError(Exception):
    """Base of every error recrawl raises on purpose."""


class ParameterError(RecrawlError, ValueError):
    """An argument is wrong; the message names it, the first offending element, and what was expected."""

    def __init__(self, argument: str, expected: str, got: object, element: tuple[int, ...] | None = None) -> None:
        self.argument = argument
        self.expected = expected
        self.got = got
        self.element = element
        place = argument if not element else f"{argument}[{', '.join(map(str, element))}]"
        super().__init__(f"{place} must be {expected}, got {got}")


class ContractError(RecrawlError):
    """What was asked for cannot be asked for now (a report of a key that is not in flight, anything of a scheduler that
    is closed), or a policy returned what the policy contract forbids (too many ids, an id twice, an unknown id)."""


class OutputError(RecrawlError):
    """The place to write to cannot be written to."""


class ConfigError(RecrawlError):
    """A settings file is wrong; the message names the file, the line and what was expected."""


class StoreError(RecrawlError):
    """The store cannot be opened, read or written; the message says why and what to do."""


class StoreFullError(StoreError):
    """There is no space left for the store; the write that found out left nothing behind."""


class StoreVersionError(StoreError):
    """Something in the store was written by another version of recrawl, and is not understood."""


class StoreTakenError(StoreError):
    """Another program has become the one that writes; nothing of the last write was kept, nor will be of later ones."""


class FleetError(RecrawlError):
    """The machines of a fleet cannot be reached; the message says where, and what to do."""


class MissingExtraError(RecrawlError, ImportError):
    """An optional part was asked for but its packages are not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs packages that are not installed: pip install 'recrawl[{extra}]'")


def require(module: str, what: str, extra: str) -> ModuleType:
    """Import an optional module, or say which extra brings it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(what, extra) from error
