"""What the constants of a stack rest on: a framework's own code, published runs, or an assumption.

What a constant means stands beside its field in `costmodel.spec.stack`. A stack belongs to a framework of which many
sources publish runs; none belongs to a source, and none to a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from costmodel.spec import SoftwareStack


@dataclass(frozen=True)
class Basis:
    """Where the value of one constant comes from."""

    words: str
    runs: tuple[str, ...] = ()
    """Sources of published runs that set it, by the names of `planner validate`; none where no run did."""


CODE = Basis("what the framework's code does")
ASSUMED = Basis("assumed: no published run shows it alone")


def runs(*sources: str) -> Basis:
    """A constant that published runs of these sources set."""
    return Basis("fitted on published runs", sources)


@dataclass(frozen=True)
class KnownStack:
    """A stack with what each of its constants rests on."""

    stack: SoftwareStack
    supported_by: Mapping[str, Basis]
    """By field, for every field but the name."""

    def without(self, source: str, generic: SoftwareStack) -> SoftwareStack:
        """The stack as it would be had `source` published nothing: what it alone set is as in the `generic` one."""
        alone = {name for name, basis in self.supported_by.items() if basis.runs == (source,)}
        return self.stack.model_copy(update={name: getattr(generic, name) for name in alone})
