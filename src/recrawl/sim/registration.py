"""Makes the environments known to Gymnasium under their names; imports nothing heavy."""

from __future__ import annotations

from recrawl.errors import require

ENVIRONMENTS = {
    "recrawl/Ephemeral-v0": "recrawl.sim.environments:EphemeralEnv",
    "recrawl/ChangingPages-v0": "recrawl.sim.environments:ChangingPagesEnv",
}


def register() -> None:
    """Register every environment that is not registered yet."""
    registration = require("gymnasium.envs.registration", "the environments", "lab")
    for name, home in ENVIRONMENTS.items():
        if name not in registration.registry:
            registration.register(id=name, entry_point=home)
