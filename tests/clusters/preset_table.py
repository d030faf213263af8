"""The tables of presets in docs/clusters.md.

python -m tests.clusters.preset_table        write them anew
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from planner.clusters.listing import GPU_COLUMNS, MACHINE_COLUMNS, gpu_row, listed, machine_row
from planner.clusters.presets import gpu_names, machine_names

PAGE = Path(__file__).parents[2] / "docs" / "clusters.md"
BEGIN, END = "<!-- presets -->\n", "<!-- /presets -->\n"


def tables() -> str:
    """GPUs, then machines."""
    gpus, machines = (gpu_row(listed(name)) for name in gpu_names()), (machine_row(listed(n)) for n in machine_names())
    return "".join((*_table(GPU_COLUMNS, gpus), "\n", *_table(MACHINE_COLUMNS, machines)))


def _table(columns: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n"
    for name, *cells in rows:
        yield f"| {' | '.join((f'`{name}`', *cells))} |\n"


def page_with_tables(page: str) -> str:
    """`page` with the tables between its marks made anew."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + tables() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(page_with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
