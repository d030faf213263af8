"""How long `planner --help` takes beside a bare `import click`, measured in turns on the machine at hand.

Run with `python benchmarks/startup.py`; exits 1 where the median of the ratios is above 3.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

NUM_ROUNDS = 15
MAX_RATIO = 3.0

CLICK = [sys.executable, "-c", "import click"]
HELP = [sys.executable, "-m", "planner", "--help"]


def seconds(command: list[str]) -> float:
    """Wall time of one run of `command`."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> int:
    """Print both medians and their ratio; 0 where the ratio is small enough."""
    seconds(CLICK), seconds(HELP)  # fill the file cache
    pairs = [(seconds(CLICK), seconds(HELP)) for _ in range(NUM_ROUNDS)]
    click_s, help_s = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(planner_s / click_s for click_s, planner_s in pairs)
    sys.stdout.write(f"import click {click_s:.3f} s, planner --help {help_s:.3f} s, ratio {ratio:.2f} (at most 3)\n")
    return 0 if ratio <= MAX_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
