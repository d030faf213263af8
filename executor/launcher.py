"""Finds out whether another launcher (torchrun, or Slurm's srun) has already started the ranks of this run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from costmodel.errors import BadInputError

RENDEZVOUS_PORT = 29500
"""Port that torchrun uses where none is set; Slurm jobs rarely set MASTER_PORT."""


@dataclass(frozen=True)
class Launcher:
    """One rank as its launcher describes it."""

    name: str
    """`torchrun` or `slurm`."""
    rank: int
    world_size: int
    local_rank: int
    local_world_size: int
    master_addr: str
    master_port: int

    def environment(self) -> dict[str, str]:
        """The variables that torch.distributed reads."""
        return {
            "RANK": str(self.rank),
            "WORLD_SIZE": str(self.world_size),
            "LOCAL_RANK": str(self.local_rank),
            "LOCAL_WORLD_SIZE": str(self.local_world_size),
            "MASTER_ADDR": self.master_addr,
            "MASTER_PORT": str(self.master_port),
        }


def current_launcher(environment: Mapping[str, str] = os.environ) -> Launcher | None:
    """The launcher that started this process, or None where the run must start its own ranks.

    torchrun sets RANK, WORLD_SIZE and MASTER_ADDR. Under Slurm, SLURM_PROCID and SLURM_NTASKS are also set in the
    batch script itself, where nothing was launched; MASTER_ADDR, which the job must export for its ranks to meet,
    tells the two apart. Raises BadInputError for a variable that is missing or not a number.
    """
    names = _names(environment)
    if names is None:
        return None
    name, rank, world_size, local_rank, local_world_size = names
    launcher = Launcher(
        name=name,
        rank=_number(environment, rank),
        world_size=_number(environment, world_size),
        local_rank=_number(environment, local_rank, default=environment.get(rank)),
        local_world_size=_number(environment, local_world_size, default=environment.get(world_size)),
        master_addr=environment["MASTER_ADDR"],
        master_port=_number(environment, "MASTER_PORT", default=str(RENDEZVOUS_PORT)),
    )
    if not launcher.rank < launcher.world_size:
        raise BadInputError(
            f"{rank} is {launcher.rank}, but it must be below {world_size}, which is {launcher.world_size}"
        )
    return launcher


def is_first_of_its_computer(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this process speaks for the ranks that a launcher started on this computer; without one, it does.

    Looks at the local rank, or the rank where that is no number, and at nothing else: other variables may be wrong.
    """
    names = _names(environment)
    if names is None:
        return True
    _, rank, _, local_rank, _ = names
    numbers = [int(text) for text in map(environment.get, (local_rank, rank)) if text is not None and text.isdecimal()]
    return not numbers or numbers[0] == 0


def check_world_size(launcher: Launcher, num_ranks: int) -> None:
    """Raises BadInputError unless the launcher started exactly the ranks that the plan needs."""
    if launcher.world_size != num_ranks:
        raise BadInputError(
            f"{launcher.name} started {launcher.world_size} ranks, but the plan is for {num_ranks}: start {num_ranks} "
            f"ranks, or solve again with --gpus {launcher.world_size}"
        )


def _names(environment: Mapping[str, str]) -> tuple[str, str, str, str, str] | None:
    """The launcher and its variables for rank, world size, local rank, local world size; None where there is none."""
    if "MASTER_ADDR" not in environment:
        return None
    if "RANK" in environment or "WORLD_SIZE" in environment:
        return "torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"
    if "SLURM_PROCID" in environment:
        return "slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"
    return None


def _number(environment: Mapping[str, str], name: str, default: str | None = None) -> int:
    text = environment.get(name, default)
    if text is None:
        raise BadInputError(
            f"the launcher's environment has no {name}; set it, or unset MASTER_ADDR to run without a launcher"
        )
    if not text.isdecimal():
        raise BadInputError(f"the launcher's {name} is {text!r}; it must be a whole number")
    return int(text)
