"""A cluster file that a test writes, and what is read of it."""

from __future__ import annotations

from pathlib import Path

from planner.clusters.read import LoadedCluster, load_cluster


def load(folder: Path, text: str, num_gpus: int | None = None) -> LoadedCluster:
    """The cluster of the YAML `text`, which may name files in `folder`."""
    path = folder / "cluster.yaml"
    path.write_text(text, encoding="utf-8")
    return load_cluster(str(path), num_gpus)
