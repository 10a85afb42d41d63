"""With short slots the calendar's continuous index earns what the slotted Whittle policy earns."""

import numpy as np
import pytest

import recrawl
from recrawl.scheduling.calendar import Calendar


def separating(rng, size):
    """Sources that tell policies apart: arrivals and decays spread widely and independently."""
    return 10 ** rng.uniform(-1.0, 1.0, size), rng.uniform(0.2, 1.0, size), 10 ** rng.uniform(-1.5, 0.5, size)


def earned(choose, value, rate, slot, slots, warm):
    """Mean worth collected per slot by a rule that is told the slot number."""
    last, total = np.zeros(len(value)), 0.0
    for k in range(1, slots + 1):
        chosen = choose(k)
        if k > warm:
            total += (value[chosen] * -np.expm1(-rate[chosen] * (k * slot - last[chosen]))).sum()
        last[chosen] = k * slot
    return total / (slots - warm)


@pytest.mark.parametrize("budget", [50, 5])
def test_the_calendar_earns_999_in_a_thousand_of_the_slotted_policy(budget):
    slot, size, slots, warm = 0.02, 1000, 3000, 1000
    arrival_rate, interest, decay = separating(np.random.default_rng(7), size)
    value = arrival_rate * interest / decay
    sources = recrawl.Sources.ephemeral(arrival_rate, interest, decay, period=slot)
    age = np.zeros(size)

    def slotted(_):
        age[:] += 1
        index = recrawl.whittle_index_after(sources, age)
        chosen = np.argsort(-index, kind="stable")[:budget]
        age[chosen] = 0
        return chosen

    calendar = Calendar(value, decay, last=0.0)
    by_calendar = earned(lambda k: calendar.choose(k * slot, budget), value, decay, slot, slots, warm)
    by_whittle = earned(slotted, value, decay, slot, slots, warm)
    assert by_calendar >= 0.999 * by_whittle
