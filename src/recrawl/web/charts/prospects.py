"""What a budget buys: value captured against budget, with the present and the chosen one marked."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from recrawl.units import show_rate
from recrawl.web.charts.frame import Frame


def prospect_chart(
    budgets: Sequence[float], shares: Sequence[float], present: tuple[float, float], chosen: tuple[float, float]
) -> Markup:
    """Shares of all interest captured, in percent, over budgets per second on a logarithmic axis."""
    import math

    xs = [math.log10(budget) for budget in budgets]
    story = (
        f"At {show_rate(present[0])} {present[1]:.1f} % of the interest is captured; "
        f"at {show_rate(chosen[0])} it would be {chosen[1]:.1f} %."
    )
    frame = Frame("Interest captured, by budget", story, xs[0], xs[-1], 0.0, 100.0, 220.0)
    frame.y_axis(" %")
    frame.x_ticks([(x, show_rate(b)) for x, b in zip(xs, budgets, strict=True)][:: max(1, len(xs) // 6)])
    frame.line(xs, list(shares), "line index")
    for (budget, share), name, label in ((present, "now", "now"), (chosen, "crossing", "what if")):
        x = math.log10(budget)
        frame.dot(x, share, f"mark {name}", 5.0)
        if name == "now" or abs(frame.x(x) - frame.x(math.log10(present[0]))) > 1.0:
            frame.label(frame.x(x), frame.y(share) + 24, label, "middle")
    return frame.svg()
