"""Student's t is SciPy's for every number of degrees that runs can have."""

from __future__ import annotations

import pytest
from scipy.stats import t

from recrawl.kernels.student_t import reach


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 9, 10, 99, 1000, 100_001])
@pytest.mark.parametrize("share", [0.5, 0.95, 0.999])
def test_the_reach_of_a_share_is_scipys_quantile(degrees: int, share: float) -> None:
    assert reach(degrees, share) == pytest.approx(t.ppf(0.5 + 0.5 * share, degrees), rel=1e-9)
