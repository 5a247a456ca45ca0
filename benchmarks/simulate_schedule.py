"""How long a study takes on a cluster: a simulation of its schedule, no measurement. Prints makespan and efficiency.

Shards wait in one queue, and a node that is free takes the next. A shard's time scatters (lognormal), a node starts
after a delay, handing out a shard takes the scheduler a moment, and nodes die at random: their shard runs again from
its beginning, and a new node comes after the delay.

python benchmarks/simulate_schedule.py --shards 2000 --seconds 20 --nodes 100
"""

from __future__ import annotations

import argparse
import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cluster:
    """Nodes, and what goes wrong with them."""

    nodes: int
    start: float = 20.0  # s until a node, or the one that replaces it, takes shards: Python, compilation
    handing: float = 2e-3  # s of the scheduler for each shard
    lifetime: float = float("inf")  # s, mean time to failure of a node


def schedule(durations: Sequence[float], cluster: Cluster, rng: np.random.Generator) -> dict[str, float]:
    """Makespan [s], efficiency (work that counts / nodes x makespan), shards that ran again."""

    def life() -> float:
        return rng.exponential(cluster.lifetime) if np.isfinite(cluster.lifetime) else np.inf

    free = [(cluster.start, node) for node in range(cluster.nodes)]
    heapq.heapify(free)
    dies = {node: time + life() for time, node in free}
    queue, scheduler, ends, again = list(durations)[::-1], 0.0, 0.0, 0
    while queue:
        time, node = heapq.heappop(free)
        begin = scheduler = max(time, scheduler) + cluster.handing
        duration = queue.pop()
        end = begin + duration
        if end > dies[node]:  # lost with its node
            queue.insert(0, duration)
            again += 1
            back = max(dies[node], begin) + cluster.start
            dies[node] = back + life()
            heapq.heappush(free, (back, node))
            continue
        ends = max(ends, end)
        heapq.heappush(free, (end, node))
    return {"makespan_s": ends, "efficiency": sum(durations) / (cluster.nodes * ends), "again": again}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=20.0, help="median of a shard")
    parser.add_argument("--scatter", type=float, default=0.1, help="standard deviation of the logarithm of its time")
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--start", type=float, default=20.0, help="s until a node takes shards")
    parser.add_argument("--lifetime", type=float, default=float("inf"), help="mean s to a node's failure")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    durations = options.seconds * rng.lognormal(0.0, options.scatter, options.shards)
    cluster = Cluster(options.nodes, options.start, lifetime=options.lifetime)
    figures = schedule(durations.tolist(), cluster, rng)
    serial = schedule(durations.tolist(), Cluster(1, options.start), rng)["makespan_s"]
    shown = {key: round(value, 3) for key, value in {**figures, "one_node_s": serial}.items()}
    print(json.dumps({"simulated": True, "shards": options.shards, "nodes": options.nodes, **shown}))


if __name__ == "__main__":
    main()
