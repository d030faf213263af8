"""Predicts the published runs that the project carries, and prints how far off that is.

Run with `python -m benchmarks.published_runs` from the top folder of a checkout. `planner validate` does the same with
any such file.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.published import RUNS
from planner.cli.main import run


def main() -> int:
    """Predict and print; the predictions themselves are not kept."""
    with tempfile.TemporaryDirectory() as folder:
        return run(["validate", str(RUNS), "-o", str(Path(folder) / "predictions.csv")])


if __name__ == "__main__":
    sys.exit(main())
