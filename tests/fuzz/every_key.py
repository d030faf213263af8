"""Every key of every sample with each of a few dozen values: what random mutants meet only now and then.

    python -m tests.fuzz.every_key

Takes half an hour on two cores; prints what it found, and exits with 1 where that is anything.
"""

from __future__ import annotations

import copy
import itertools
import multiprocessing
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.check import check_reading
from tests.fuzz.inputs import Mutant
from tests.fuzz.samples import samples, trimmed
from tests.fuzz.tree_mutator import Tree, write

VALUES: tuple[Any, ...] = (
    0, -1, 1, 2, 3, 4, 5, 7, 64, 96, 100, 1000, 2**20, 2**31, 10**18, 0.5, 1.5, 64.0, True, False, None, "", "x", "64",
    "full_attention", "gelu", [], [1], [0, 1], [None], ["x"], {}, {"a": 1},
)  # fmt: skip
NUM_WORKERS = 2


def mutants(names: list[str]) -> Iterator[Mutant]:
    """Those of the samples called `names`."""
    for name in names:
        data = trimmed(samples()[name])
        for path in Tree(copy.deepcopy(data)).paths():
            old = Tree(data).get(path)
            near = (old * 2, max(old // 2, 1), old + 1, old - 1, old * 3, old + 8) if type(old) is int else ()
            for value in (*VALUES, *near):
                tree = Tree(copy.deepcopy(data))
                tree.put(path, value)
                if tree.is_local:
                    yield Mutant("tree", f"{name}: {'.'.join(path)} = {value!r}"[:200], write(tree), ".".join(path))


def findings(names: list[str]) -> tuple[int, list[str]]:
    """How many inputs were read, and what is wrong with which."""
    found, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        for mutant in mutants(names):
            count += 1
            try:
                check_reading(mutant, path)
            except Exception as error:  # noqa: BLE001  an unforeseen exception is a finding
                found.append(f"{mutant.origin}: {type(error).__name__}: {error}")
    return count, found


def main() -> int:
    """Go through all samples."""
    names = sorted(samples())
    with multiprocessing.Pool(NUM_WORKERS) as pool:
        parts = pool.map(findings, [names[start::NUM_WORKERS] for start in range(NUM_WORKERS)])
    found = list(itertools.chain.from_iterable(part for _, part in parts))
    said = (f"{sum(count for count, _ in parts)} inputs", *(found or ["nothing was found"]))
    sys.stdout.write("\n".join(said) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
