"""Compiles what a crawler runs, under every objective, into the folder that NUMBA_CACHE_DIR names: for images."""

from recrawl.policies.compile_ahead import warm_up
from recrawl.policies.learned_whittle import LearnedWhittle

for objective in ("ephemeral", "freshness", "discovery", "changes"):
    warm_up(LearnedWhittle(objective=objective), 1e9)
    warm_up(LearnedWhittle(objective=objective, half_life=21_600.0), 1e9)
