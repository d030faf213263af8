"""Runs every benchmark in turn; `make bench` calls this."""

from __future__ import annotations

import sys

from benchmarks import local_accuracy, published_runs, solve_time, startup

if __name__ == "__main__":
    sys.exit(max([startup.main(), solve_time.main(), published_runs.main(), local_accuracy.main()]))
