"""One measurement in a process of its own: `… -m tests.benchmarks.peers.run PEER WORK FOLDER`.

Prints its figures as one line of JSON. A peer runs in .venv-peers, queuelog in .venv.
"""

import argparse
import json
from pathlib import Path

from tests.benchmarks.peers import works


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=works.ADAPTERS)
    parser.add_argument("work", choices=("enqueue", "pairs", "together", "fill", "claim"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--state", choices=("pending", "delayed", "completed"), default="pending")
    asked = parser.parse_args()
    lacks = works.adapter(asked.peer).lacks
    reason = lacks.get(asked.state if asked.work in ("fill", "claim") else asked.work)
    if reason is not None:
        print(json.dumps({"lacks": reason}))
        return
    asked.folder.mkdir(parents=True, exist_ok=True)
    figures: works.Figures = {}
    match asked.work:
        case "enqueue":
            figures = works.enqueue(asked.peer, asked.folder, asked.rows)
        case "pairs":
            figures = works.pairs(asked.peer, asked.folder, asked.rows)
        case "together":
            figures = works.together(asked.peer, asked.folder, asked.rows)
        case "fill":
            works.adapter(asked.peer).fill(asked.folder, asked.rows, asked.state)
        case "claim":
            figures = works.claim_cost(asked.peer, asked.folder)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
