"""Draws the pictures of the documentation into docs/pictures and writes the tables of comparison.md and benchmarks.md.

PYTHONPATH=. python benchmarks/draw_docs.py                 (needs `pip install -e '.[plot]'`)
PYTHONPATH=. python benchmarks/draw_docs.py --only peers    after `bench_ensemble.py` was run again
PYTHONPATH=. python benchmarks/draw_docs.py --only card     after `shiftjax bench --card --output` wrote a new file
PYTHONPATH=. python benchmarks/draw_docs.py --only rivals   after `shiftjax bench --rivals --output` did
PYTHONPATH=. python benchmarks/draw_docs.py --only size     after `bench_size.py` was run again
"""

from __future__ import annotations

import argparse

from figures import card, conventions, crank_rocker, pages, peers, reach, rivals, runs, size, windows

ROOMS = (conventions, crank_rocker, runs, reach, peers, card, rivals, size, windows, pages)
PICTURES = {draw.__name__: draw for room in ROOMS for draw in room.PICTURES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(PICTURES), default=list(PICTURES))
    for name in parser.parse_args().only:
        PICTURES[name]()


if __name__ == "__main__":
    main()
