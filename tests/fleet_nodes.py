"""Several Ray nodes on this machine, in a process of their own: a wish per line of its input, an answer per line.

Tests talk to it through `fleet.Nodes`; it ends, with all its nodes, when its input does.
"""

from __future__ import annotations

import json
import os
import sys

from recrawl.cluster.rays import LOOPBACK_ONLY

MEMORY = 80_000_000


def main(count: int, cpus: int) -> None:
    os.environ.update(LOOPBACK_ONLY)
    from ray.cluster_utils import Cluster

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Ray prints is no answer
    head = {"num_cpus": 0, "object_store_memory": MEMORY, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)

    def add() -> object:
        return cluster.add_node(num_cpus=cpus, object_store_memory=MEMORY, wait=True)

    nodes = [add() for _ in range(count)]
    try:
        _say(answers, {"address": cluster.address, "nodes": [_pid(node) for node in nodes]})
        for line in sys.stdin:
            wish = json.loads(line)
            if "kill" in wish:
                cluster.remove_node(nodes.pop(wish["kill"]), allow_graceful=False)
            else:
                nodes.append(add())
            _say(answers, {"nodes": [_pid(node) for node in nodes]})
    finally:
        cluster.shutdown()


def _pid(node: object) -> int:
    """Of the node's raylet."""
    return int(node.all_processes["raylet"][0].process.pid)  # type: ignore[attr-defined]


def _say(answers: object, what: object) -> None:
    answers.write(json.dumps(what) + "\n")  # type: ignore[attr-defined]
    answers.flush()  # type: ignore[attr-defined]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
