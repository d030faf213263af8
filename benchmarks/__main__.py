"""Runs every benchmark in turn; `make bench` calls this."""

from __future__ import annotations

import sys

from benchmarks import local_accuracy, solve_time, startup
from benchmarks.published import residuals

if __name__ == "__main__":
    sys.exit(max([startup.main(), solve_time.main(), residuals.main(), local_accuracy.main()]))
