"""What was believed of a source, crawl by crawl, with the band it was believed to lie in."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from recrawl.kernels.credible_interval import lognormal_interval
from recrawl.web.charts.frame import Frame, clock_ticks


def belief_chart(title: str, times: Sequence[float], means: Sequence[float], sds: Sequence[float]) -> Markup | None:
    """Means over Unix times with the 90 % interval around each; None without two known ones."""
    order = sorted(range(len(times)), key=lambda k: times[k])
    points = [(times[k], means[k], sds[k]) for k in order if math.isfinite(means[k])]
    if len(points) < 2:
        return None
    xs, ys = [at for at, _, _ in points], [mean for _, mean, _ in points]
    bands = [lognormal_interval(mean, sd) for _, mean, sd in points]
    highs = [high if math.isfinite(high) else mean for (_, high), mean in zip(bands, ys, strict=True)]
    lows = [low if math.isfinite(low) else mean for (low, _), mean in zip(bands, ys, strict=True)]
    top = min(max(highs), 6.0 * max(ys))
    story = f"First {ys[0]:.3g}, now {ys[-1]:.3g}, between {lows[-1]:.3g} and {highs[-1]:.3g} in nine cases of ten."
    frame = Frame(title, story, xs[0], xs[-1], 0.0, 1.1 * top or 1.0, 170.0)
    frame.y_axis()
    frame.x_ticks(clock_ticks(frame.x0, frame.x1))
    frame.band(xs, lows, highs, "band")
    frame.line(xs, ys, "line index")
    return frame.svg()
