"""The index policy seen from one source: a threshold on its own worth [allerton2019, §III].

With the other sources fixed, source i is among the N₀ crawled exactly when x_i reaches::

    T_i(x_{−i}) = γ_i⁻¹( the N₀-th largest of γ_j(x_j), j ≠ i )

(the paper writes it for N₀ = 1: the largest). The inverse of Theorem 1 exists because the index strictly rises with the
worth: between two orbit points it is a straight line of slope η(1 − α)/C, so::

    γ⁻¹(g) = x_{k−1} + (g − γ_{k−1})C/(k(1 − α)),   k the first slot with γ_k ≥ g

and γ⁻¹(g) = gC from the ceiling u*/C on, as the index is continued there. With an exact lifetime the index is a
function of slots, not of worth, and there is no such map.

Symbols: x worth, u inflow, u* ceiling, α what is kept per slot, C cost, γ index, g a value of it, N₀ crawls per slot.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from recrawl.compiled_code import njit
from recrawl.errors import ParameterError
from recrawl.kernels.price import first_slot
from recrawl.kernels.slotted_index import index_after, whittle_index, worth_after
from recrawl.records import FloatArray, Sources, checked


@njit(cache=True)
def state_at_index(index: float, rate: float, inflow: float, ceiling: float, cost: float) -> float:
    """γ⁻¹: the worth at which Theorem 1 gives `index` >= 0."""
    if index <= 0.0:
        return 0.0
    if index * cost >= ceiling:
        return index * cost
    slots = first_slot(index, rate, inflow, ceiling, ceiling, cost, math.inf)
    if slots == math.inf:
        return ceiling
    below = slots - 1.0
    rise = (index - index_after(below, rate, inflow, ceiling, cost)) * cost
    return min(ceiling, worth_after(below, rate, ceiling) + rise / (slots * -math.expm1(-rate)))


@njit(cache=True)
def _states_at(
    index: FloatArray, rate: FloatArray, inflow: FloatArray, ceiling: FloatArray, cost: FloatArray
) -> FloatArray:
    out = np.empty(len(index))
    for i in range(len(index)):
        out[i] = state_at_index(index[i], rate[i], inflow[i], ceiling[i], cost[i])
    return out


def inverse_whittle_index(sources: Sources, index: npt.ArrayLike) -> FloatArray:
    """The worth of each source at which its Whittle index is `index` (one value, or one per source).

    >>> table = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7], decay=[0.7, 0.35])
    >>> inverse_whittle_index(table, whittle_index(table, [200.0, 300.0])).round(6).tolist()
    [200.0, 300.0]
    """
    wanted = checked("index", index, "finite and >= 0")
    if wanted.shape not in ((), (len(sources),)):
        raise ParameterError("index", f"one value, or one per source ({len(sources)})", f"shape {wanted.shape}")
    if sources.saturates:
        raise ParameterError("sources", "without exact lifetimes (use lifetime_form='paper')", "an exact lifetime")
    column = np.ascontiguousarray(np.broadcast_to(wanted, len(sources)))
    return np.asarray(_states_at(column, sources.decay_rate, sources.inflow, sources.ceiling, sources.cost))


def threshold_map(sources: Sources, state: npt.ArrayLike, active: int = 1) -> FloatArray:
    """T_i(x_{−i}) of every source: the worth it needs to be among the `active` sources crawled in this state.

    >>> table = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7, 0.2], decay=[0.7, 0.35, 0.7])
    >>> state = [200.0, 300.0, 70.0]
    >>> (state >= threshold_map(table, state)).tolist(), whittle_index(table, state).argmax().item()
    ([False, True, False], 1)
    """
    if not (isinstance(active, (int, np.integer)) and 1 <= active < len(sources)):
        raise ParameterError("active", f"a whole number from 1 to {len(sources) - 1}", active)
    index = whittle_index(sources, state)
    if index.ndim != 1:
        raise ParameterError("state", f"one worth per source ({len(sources)})", f"shape {index.shape}")
    # The active-th largest of the others is the next one down for a source that is itself among the largest.
    ranked = np.sort(index)[::-1]
    inside, outside = ranked[active], ranked[active - 1]
    return inverse_whittle_index(sources, np.where(index >= outside, inside, outside))
