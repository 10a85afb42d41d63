"""How much of what may be spent is spent: one bar, with what is granted behind it."""

from __future__ import annotations

import math

from markupsafe import Markup

WIDTH, HEIGHT = 200.0, 10.0


def spend_bar(spent: float, allowed: float, granted: float = math.nan, name: str = "meter") -> Markup:
    """A bar of `spent` within `allowed`, decoration beside the numbers; `granted` is a paler one behind it."""
    parts = [Markup('<rect class="room" x="0" y="0" width="{:.0f}" height="{:.0f}"/>').format(WIDTH, HEIGHT)]
    for value, kind in ((granted, "granted"), (spent, "spent")):
        length = WIDTH * _share(value, allowed)
        if length > 0.0:
            parts.append(
                Markup('<rect class="{}" x="0" y="0" width="{:.1f}" height="{:.0f}"/>').format(kind, length, HEIGHT)
            )
    head = Markup('<svg class="{}" viewBox="0 0 {:.0f} {:.0f}" preserveAspectRatio="none" aria-hidden="true">')
    return head.format(name, WIDTH, HEIGHT) + Markup("").join(parts) + Markup("</svg>")


def _share(value: float, allowed: float) -> float:
    if not (math.isfinite(value) and math.isfinite(allowed) and allowed > 0.0):
        return 0.0
    return min(max(value / allowed, 0.0), 1.0)
