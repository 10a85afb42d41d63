"""Traces: when pages changed, or when sources published, read from a folder of Parquet or CSV files.

Files and the columns that are read (times are UTC Unix seconds)::

    pages           page (int), corpus, name, first_observed, last_observed
    page_changes    page, changed_at, batch, revert
    sources         corpus, source, observed_from, observed_to, n_items_in_window
    items           corpus, source, published_at
    lists           list (int), name
    list_entries    list, page, listed_at, lastmod (empty where a list does not say)

Each is `NAME.parquet` or `NAME.csv`; other columns are ignored, `name` may be missing, `batch` and `revert` are needed
only for scenarios with `clean`, `list_entries` only for those with `lists`, where the file `lists` may be missing. A
trace holds the targets of one scenario that were observed throughout, and of their events only those inside
[starts_at, ends_at): what happened before is invisible, what comes later does not matter. Of lists it holds what they
say of these targets before ends_at, however long ago they said it; lists that name none of them are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from recrawl.errors import ParameterError, require
from recrawl.records import FloatArray, IntArray
from recrawl.sim.scenarios import DAY_S, Scenario
from recrawl.sim.trace_lists import TraceList, lists_of

SUFFIXES = (".parquet", ".csv")
BULK_EDIT = 50
"""A change that touches more pages than this at once is a bulk edit, not news."""


@dataclass(frozen=True, eq=False)
class Trace:
    """The events of one scenario's targets, in flat arrays.

    Parameters
        targets: page ids (integers) or source names, in order; the place of one is its id for policies
        labels: names along which priors may be pooled: paths of pages, names of sources
        times: event times, target by target, ascending within each
        offsets: the events of target i are times[offsets[i]:offsets[i + 1]]
        lists: what may be crawled as well and is no target of the score; policies know lists by the ids after those of
            the targets
    """

    targets: npt.NDArray[Any]
    labels: list[str]
    times: IntArray
    offsets: IntArray
    lists: tuple[TraceList, ...] = ()

    def __len__(self) -> int:
        return len(self.targets)

    def names(self, ids: IntArray) -> npt.NDArray[Any]:
        """What a crawl log calls these: a page's id or a source's name; for a list −1 − its number."""
        if not self.lists:
            return self.targets[ids]
        return np.concatenate([self.targets, [each.target for each in self.lists]])[ids]

    def without_lists(self) -> Trace:
        """The same events where nobody can ask a list."""
        return replace(self, lists=())

    @property
    def owners(self) -> IntArray:
        """The target of every event."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @classmethod
    def of(cls, targets: npt.NDArray[Any], labels: Sequence[str], owners: npt.ArrayLike, times: npt.ArrayLike) -> Trace:
        """A trace from events in any order; `owners` are places in `targets`."""
        owner, time = np.asarray(owners, dtype=np.int64), np.asarray(times, dtype=np.int64)
        order = np.lexsort((time, owner))
        offsets = np.searchsorted(owner[order], np.arange(len(targets) + 1)).astype(np.int64)
        return cls(targets, list(labels), time[order], offsets)


class Folder:
    """A folder of traces; each file is read once, however many scenarios use it."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise ParameterError("--data", "a folder of traces", path)
        self.path = path
        self._tables: dict[str, _Table] = {}

    def trace(self, scenario: Scenario) -> Trace:
        """The targets and events of a scenario."""
        found = self._pages(scenario) if scenario.pages else self._items(scenario)
        if len(found) == 0:
            raise ParameterError(
                f"scenario {scenario.name!r}", "a choice that some target in the data passes", "no target"
            )
        return found

    def _table(self, name: str) -> _Table:
        if name not in self._tables:
            self._tables[name] = _Table(self.path, name)
        return self._tables[name]

    def _pages(self, scenario: Scenario) -> Trace:
        pages, changes = self._table("pages"), self._table("page_changes")
        ids = pages.whole("page")
        keep = pages.among("corpus", scenario.corpora) & (ids % scenario.page_modulus == 0)
        keep &= (pages.whole("first_observed") <= scenario.starts_at) & (
            pages.whole("last_observed") >= scenario.ends_at
        )
        kept = np.flatnonzero(keep)
        kept = kept[np.argsort(ids[kept], kind="stable")]
        targets = ids[kept]
        if (np.diff(targets) == 0).any():
            raise ParameterError(f"{pages.file}, column page", "an id per page", "an id twice")
        owners, times = changes.whole("page"), changes.whole("changed_at")
        if scenario.clean:
            news = ~changes.flag("revert") & (changes.whole("batch") <= BULK_EDIT)
            owners, times = owners[news], times[news]
        place = _places(targets, owners)
        inside = (place >= 0) & (times >= scenario.starts_at) & (times < scenario.ends_at)
        names = pages.texts("name", kept) if pages.has("name") else [str(page) for page in targets]
        found = Trace.of(targets, names, place[inside], times[inside])
        return replace(found, lists=self._lists(scenario, targets)) if scenario.lists else found

    def _lists(self, scenario: Scenario, targets: IntArray) -> tuple[TraceList, ...]:
        entries = self._table("list_entries")
        listed_at, place = entries.whole("listed_at"), _places(targets, entries.whole("page"))
        kept = np.flatnonzero((place >= 0) & (listed_at < scenario.ends_at))
        numbers, lastmod = entries.whole("list"), entries.numbers("lastmod")
        return lists_of(numbers[kept], self._list_names(), place[kept], listed_at[kept], lastmod[kept])

    def _list_names(self) -> dict[int, str]:
        if not _found(self.path, "lists") or not (lists := self._table("lists")).has("name"):
            return {}
        numbers = lists.whole("list")
        return {
            number: name
            for number, name in zip(numbers.tolist(), lists.texts("name", np.arange(len(numbers))), strict=True)
            if name
        }

    def _items(self, scenario: Scenario) -> Trace:
        sources, items = self._table("sources"), self._table("items")
        keep = sources.among("corpus", scenario.corpora) & (sources.whole("n_items_in_window") >= scenario.min_items)
        keep &= (sources.whole("observed_from") <= scenario.starts_at) & (
            sources.whole("observed_to") >= scenario.ends_at
        )
        names = sorted(sources.texts("source", np.flatnonzero(keep)))
        if len(set(names)) < len(names):
            raise ParameterError(
                f"scenario {scenario.name!r}, field corpora", "without a source name in two of them", scenario.corpora
            )
        belongs = items.among("corpus", scenario.corpora)
        owners, times = items.places("source", names)[belongs], items.whole("published_at")[belongs]
        if scenario.max_midnight_share is not None:
            names, owners = _without_midnight(names, owners, times, scenario.max_midnight_share)
        inside = (owners >= 0) & (times >= scenario.starts_at) & (times < scenario.ends_at)
        return Trace.of(np.array(names, dtype=object), names, owners[inside], times[inside])


def _places(targets: IntArray, owners: IntArray) -> IntArray:
    """Of each owner its place in the targets, which ascend; −1 where it is none."""
    if not len(targets):
        return np.full(len(owners), -1)
    place = np.minimum(np.searchsorted(targets, owners), len(targets) - 1)
    return np.where(targets[place] == owners, place, -1)


def _without_midnight(names: list[str], owners: IntArray, times: IntArray, limit: float) -> tuple[list[str], IntArray]:
    """Drop sources that mostly state only the day of publication."""
    known = owners >= 0
    count = np.bincount(owners[known], minlength=len(names))
    midnight = np.bincount(owners[known], weights=times[known] % DAY_S == 0, minlength=len(names))
    keep = midnight <= limit * count
    renumbered = np.where(keep, np.cumsum(keep) - 1, -1)
    return [name for name, stays in zip(names, keep, strict=True) if stays], np.where(known, renumbered[owners], -1)


def _found(folder: Path, name: str) -> list[Path]:
    """The files of that name, the one to read first."""
    return [folder / f"{name}{suffix}" for suffix in SUFFIXES if (folder / f"{name}{suffix}").is_file()]


class _Table:
    """One file, its columns checked as they are asked for."""

    def __init__(self, folder: Path, name: str) -> None:
        found = _found(folder, name)
        if not found:
            raise ParameterError("--data", f"a folder with {name}.parquet or {name}.csv", folder)
        self.file = found[0].name
        self._columns: dict[str, npt.NDArray[Any]] = {}
        arrow = require("pyarrow", "reading traces", "lab")
        self._compute: Any = require("pyarrow.compute", "reading traces", "lab")
        try:
            if found[0].suffix == ".csv":
                self._read: Any = require("pyarrow.csv", "reading traces", "lab").read_csv(found[0])
            else:
                parquet = require("pyarrow.parquet", "reading traces", "lab")
                self._read = parquet.read_table(found[0], columns=_wanted(parquet.read_schema(found[0]).names))
        except (arrow.ArrowException, OSError) as error:
            raise ParameterError(self.file, "a readable Parquet or CSV file", error) from error

    def has(self, column: str) -> bool:
        """Whether the file has this column."""
        return column in self._read.column_names

    def whole(self, column: str) -> IntArray:
        """A column of whole numbers."""
        return self._cast(column, "int64", "whole numbers without gaps")

    def flag(self, column: str) -> npt.NDArray[np.bool_]:
        """A column of true and false."""
        return self._cast(column, "bool_", "true or false without gaps")

    def numbers(self, column: str) -> FloatArray:
        """A column of numbers, NaN where there is none."""
        arrow = require("pyarrow", "reading traces", "lab")
        try:
            read = self._column(column).cast(arrow.float64())
        except arrow.ArrowException as error:
            raise ParameterError(f"{self.file}, column {column}", "numbers", error) from error
        return np.asarray(self._compute.fill_null(read, np.nan).to_numpy(), dtype=np.float64)

    def among(self, column: str, values: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which rows have one of these texts in the column."""
        return self.places(column, list(values)) >= 0

    def texts(self, column: str, rows: IntArray) -> list[str]:
        """The texts in some rows of a column."""
        taken: list[str] = self._strings(column).take(rows).to_pylist()
        return taken

    def places(self, column: str, values: list[str]) -> IntArray:
        """For each row the place of its text among `values`, −1 where it is not there."""
        arrow = require("pyarrow", "reading traces", "lab")
        at = self._compute.index_in(self._strings(column), value_set=arrow.array(values, arrow.string()))
        return np.asarray(self._compute.fill_null(at, -1).to_numpy(), dtype=np.int64)

    def _column(self, column: str) -> Any:
        if not self.has(column):
            raise ParameterError(self.file, f"a file with a column {column!r}", f"{self._read.column_names}")
        return self._read[column]

    def _strings(self, column: str) -> Any:
        return self._column(column).cast("string")

    def _cast(self, column: str, kind: str, expected: str) -> npt.NDArray[Any]:
        if column not in self._columns:
            arrow = require("pyarrow", "reading traces", "lab")
            raw = self._column(column)
            if raw.null_count:
                raise ParameterError(f"{self.file}, column {column}", expected, f"{raw.null_count} missing values")
            try:
                self._columns[column] = raw.cast(getattr(arrow, kind)()).to_numpy()
            except arrow.ArrowException as error:
                raise ParameterError(f"{self.file}, column {column}", expected, error) from error
        return self._columns[column]


_READ = {
    "page", "corpus", "name", "first_observed", "last_observed", "changed_at", "batch", "revert",
    "source", "observed_from", "observed_to", "n_items_in_window", "published_at", "list", "listed_at", "lastmod",
}  # fmt: skip


def _wanted(columns: Sequence[str]) -> list[str]:
    return [column for column in columns if column in _READ]


def write_crawl_log(file: Path, trace: Trace, ids: IntArray, times: IntArray) -> None:
    """Write who was crawled when as Parquet: `target` (see `Trace.names`) and `crawled_at` (UTC seconds)."""
    arrow = require("pyarrow", "writing a crawl log", "lab")
    table = arrow.table({"target": arrow.array(trace.names(ids)), "crawled_at": arrow.array(times, arrow.int64())})
    require("pyarrow.parquet", "writing a crawl log", "lab").write_table(table, file)
