"""Everything a server can do wrong, each by name.

`statuses` (refusals and redirects), `connections` (cut, slow, silent, endless), `bombs` (little on the wire, much
unpacked), `contents` (broken and hostile documents), `costly` (small, but dear to read), `robots`. A
:class:`~recrawl.synthweb.faults.rules.Rule` says which requests meet one; large bodies are made while they are sent.
"""

from __future__ import annotations

from recrawl.synthweb.faults.bombs import BOMBS
from recrawl.synthweb.faults.connections import CONNECTIONS
from recrawl.synthweb.faults.contents import CONTENTS
from recrawl.synthweb.faults.costly import COSTLY
from recrawl.synthweb.faults.robots import ROBOTS
from recrawl.synthweb.faults.rules import FaultRules, Rule, parse
from recrawl.synthweb.faults.statuses import STATUSES, Fault

FAULTS: dict[str, Fault] = {**STATUSES, **CONNECTIONS, **BOMBS, **CONTENTS, **COSTLY, **ROBOTS}

__all__ = ["FAULTS", "Fault", "FaultRules", "Rule", "parse"]
