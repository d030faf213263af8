"""Launchers: how the ranks of a job are started on its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from costmodel.errors import BadInputError
from planner.frameworks.launchers.job import Launch, Launcher, launch_size
from planner.frameworks.launchers.torchrun import torchrun_script

LAUNCHERS: Mapping[str, Launcher] = MappingProxyType({"torchrun": torchrun_script})
"""Writers of a launch script, by the name of `--launcher`."""


def get(name: str) -> Launcher:
    """The launcher called `name`; raises BadInputError that lists the valid names."""
    if name not in LAUNCHERS:
        raise BadInputError(
            f"--launcher {name!r} is not supported by this version; valid values: {', '.join(LAUNCHERS)}"
        )
    return LAUNCHERS[name]


__all__ = ["LAUNCHERS", "Launch", "Launcher", "get", "launch_size"]
