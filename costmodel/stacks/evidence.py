"""What the constants of a stack rest on: a framework's own code, published runs, or an assumption.

What a constant means stands beside its field in `costmodel.spec.stack`. A stack belongs to a framework, none to a run.
Of one framework, llm-foundry, a single source publishes runs: what it alone set is not taken for evidence on it, since
`KnownStack.without` takes it away.
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


BY_CODE: Mapping[str, Basis] = dict.fromkeys(
    (
        "norm_keeps_fp32_copy",
        "mlp_activation_fused",
        "gathered_input_saved",
        "grad_bytes_per_param",
        "weights_stored_in_fp32",
        "gradients_preallocated",
        "pipeline_buffer_per_microbatch",
        "logits_bytes_per_logit",
        "score_bytes_kept",
        "attention_time_factor",
        "reduces_whole_gradients_each_microbatch",
        "copies_around_sharded_weights",
        "recompute_stops_early",
    ),
    CODE,
)
"""What most frameworks' code decides by itself; a stack names what rests on something else."""


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
