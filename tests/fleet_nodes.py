"""Several Ray nodes on this machine, in a process of their own: a wish per line of its input, an answer per line.

Tests talk to it through `fleet.Nodes`; it ends, with all its nodes, when its input does. Nodes are on loopback, or on
an address of the network namespace they are started in.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import nullcontext
from typing import Any, TextIO

from namespaces import inside
from recrawl.cluster.ray_actors import LOOPBACK_ONLY

MEMORY = 80_000_000


def main(count: int, cpus: int, address: str) -> None:
    if not address:
        os.environ.update(LOOPBACK_ONLY)
    from ray.cluster_utils import Cluster

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Ray prints is no answer
    common = {"object_store_memory": MEMORY, "include_log_monitor": False, **_at(address)}
    head = {"num_cpus": 0, "include_dashboard": False, "no_monitor": True}
    cluster = Cluster(initialize_head=True, head_node_args={**head, **common})

    def add(there: str = "", namespace: str = "") -> Any:
        with inside(namespace) if namespace else nullcontext():
            return cluster.add_node(num_cpus=cpus, wait=True, **{**common, **_at(there)})

    nodes = [add() for _ in range(count)]
    try:
        _say(answers, {"address": cluster.address, "nodes": [_pid(node) for node in nodes]})
        for line in sys.stdin:
            wish = json.loads(line)
            if "kill" in wish:
                cluster.remove_node(nodes.pop(wish["kill"]), allow_graceful=False)
            else:
                nodes.append(add(**wish["add"]))
            _say(answers, {"nodes": [_pid(node) for node in nodes]})
    finally:
        cluster.shutdown()


def _at(address: str) -> dict[str, str]:
    return {"node_ip_address": address} if address else {}


def _pid(node: Any) -> int:
    """Of the node's raylet."""
    return int(node.all_processes["raylet"][0].process.pid)


def _say(answers: TextIO, what: object) -> None:
    answers.write(json.dumps(what) + "\n")
    answers.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
