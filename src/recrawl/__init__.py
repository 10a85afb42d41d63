"""recrawl decides what to recrawl, and when, so that every fetch counts.

The names below are the public interface. They are loaded on first use, so that `import recrawl` and the command line
start at once.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from recrawl import compiled_code

if TYPE_CHECKING:
    from recrawl import errors as errors
    from recrawl import policies as policies
    from recrawl.crawl.reports import Answer as Answer
    from recrawl.errors import ContractError as ContractError
    from recrawl.errors import MissingExtraError as MissingExtraError
    from recrawl.errors import ParameterError as ParameterError
    from recrawl.errors import RecrawlError as RecrawlError
    from recrawl.errors import StoreError as StoreError
    from recrawl.errors import StoreFullError as StoreFullError
    from recrawl.errors import StoreTakenError as StoreTakenError
    from recrawl.errors import StoreVersionError as StoreVersionError
    from recrawl.kernels.continuous_index import continuous_index as continuous_index
    from recrawl.kernels.continuous_index import crossing_age as crossing_age
    from recrawl.kernels.price import relaxed_bound as relaxed_bound
    from recrawl.kernels.slotted_index import whittle_index as whittle_index
    from recrawl.kernels.slotted_index import whittle_index_after as whittle_index_after
    from recrawl.kernels.stochastic_index import stochastic_index as stochastic_index
    from recrawl.records import Sources as Sources
    from recrawl.records import Visits as Visits
    from recrawl.scheduler import Scheduler as Scheduler
    from recrawl.scheduling.calendar import Calendar as Calendar
    from recrawl.sim.grouped_pages import GroupedPages as GroupedPages
    from recrawl.sim.runs import simulate as simulate

__version__ = "0.1.0"
compiled_code.find_a_place()

_HOMES = {
    "Answer": "recrawl.crawl.reports",
    "Calendar": "recrawl.scheduling.calendar",
    "ContractError": "recrawl.errors",
    "GroupedPages": "recrawl.sim.grouped_pages",
    "MissingExtraError": "recrawl.errors",
    "ParameterError": "recrawl.errors",
    "RecrawlError": "recrawl.errors",
    "Scheduler": "recrawl.scheduler",
    "Sources": "recrawl.records",
    "StoreError": "recrawl.errors",
    "StoreFullError": "recrawl.errors",
    "StoreTakenError": "recrawl.errors",
    "StoreVersionError": "recrawl.errors",
    "Visits": "recrawl.records",
    "continuous_index": "recrawl.kernels.continuous_index",
    "crossing_age": "recrawl.kernels.continuous_index",
    "errors": "recrawl",
    "policies": "recrawl",
    "relaxed_bound": "recrawl.kernels.price",
    "simulate": "recrawl.sim.runs",
    "stochastic_index": "recrawl.kernels.stochastic_index",
    "whittle_index": "recrawl.kernels.slotted_index",
    "whittle_index_after": "recrawl.kernels.slotted_index",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'recrawl' has no attribute {name!r}")
    value = import_module(f"recrawl.{name}") if home == "recrawl" else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


# Whoever works with Gymnasium finds the environments by name; nobody else pays for it.
if sys.modules.get("gymnasium"):
    import_module("recrawl.sim.registration").register()
