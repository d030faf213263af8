"""What every term looks at: the setting of a prediction, and the part of a plan that fixes the cost of a layer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from costmodel.spec import (
    ClusterSpec,
    Head,
    Layer,
    LayerRun,
    ModelSpec,
    Plan,
    Profile,
    Schedule,
    Shards,
    SoftwareStack,
    Workload,
)
from costmodel.spec.operations import Operation


@dataclass(frozen=True)
class Setting:
    """The inputs of a prediction apart from the plan."""

    model: ModelSpec
    workload: Workload
    cluster: ClusterSpec
    stack: SoftwareStack
    profile: Profile | None

    @property
    def profile_of_device(self) -> Profile | None:
        """The profile where it speaks for the cluster's devices, whatever joins them; else None."""
        if self.profile is None or self.profile.cluster.device != self.cluster.device:
            return None
        return self.profile


@dataclass(frozen=True)
class Mesh:
    """Degrees, batch split and schedule: all of a plan but stage cut and recompute.

    Ranks are numbered tp first, then cp, dp and pp, so neighbours along an axis lie `stride` ranks apart.
    """

    tp: int
    pp: int
    dp: int
    zero: int
    micro_batch: int
    num_microbatches: int
    schedule: Schedule
    sp: bool = True
    cp: int = 1
    ep: int = 1
    etp: int | None = None
    vpp: int = 1

    @classmethod
    def of(cls, plan: Plan, workload: Workload) -> Mesh:
        """The mesh of `plan`. Raises ValueError where the global batch does not divide."""
        return cls(
            tp=plan.tp,
            pp=plan.pp,
            dp=plan.dp,
            zero=plan.zero,
            micro_batch=plan.micro_batch,
            num_microbatches=plan.num_microbatches(workload.global_batch),
            schedule=plan.schedule,
            sp=plan.sp,
            cp=plan.cp,
            ep=plan.ep,
            etp=plan.etp,
            vpp=plan.vpp,
        )

    @property
    def num_ranks(self) -> int:
        """Ranks of the mesh."""
        return self.tp * self.cp * self.pp * self.dp

    @cached_property
    def shards(self) -> Shards:
        """How a layer is shared out."""
        return Shards(tp=self.tp, sp=self.sp, cp=self.cp, ep=self.ep, etp=self.etp)

    @property
    def num_replicas(self) -> int:
        """Ranks that hold the same parameters: data-parallel ones, each with its context-parallel slices."""
        return self.cp * self.dp

    def owned(self, num_params: int, num_expert_params: int) -> float:
        """Parameters that a rank owns where each is shared out over the ranks that hold it."""
        return (num_params - num_expert_params) / self.num_replicas + num_expert_params / self.num_expert_replicas

    @property
    def num_expert_replicas(self) -> int:
        """Ranks of a stage that hold the same routed experts."""
        return self.tp * self.cp * self.dp // (self.shards.expert_tp * self.ep)

    @property
    def expert_replica_stride(self) -> int:
        """Ranks between neighbours that hold the same routed experts."""
        return self.shards.expert_tp * self.ep

    @property
    def replica_stride(self) -> int:
        """Ranks between neighbours that hold the same parameters."""
        return self.tp

    @property
    def pp_stride(self) -> int:
        """Ranks between neighbouring stages."""
        return self.tp * self.cp * self.dp


@dataclass(frozen=True)
class LayerView:
    """One layer in its setting: what a term prices."""

    setting: Setting
    mesh: Mesh
    layer: Layer
    seq_len: int
    """Tokens per sequence that the layer works on."""

    @classmethod
    def of(cls, setting: Setting, mesh: Mesh, run: LayerRun) -> LayerView:
        """The layers of `run`, at the sequence length of the job or their own."""
        return cls(setting, mesh, run.layer, run.num_tokens or setting.workload.seq_len)

    @property
    def tokens(self) -> int:
        """Tokens of one micro-batch, of which context-parallel ranks have a part each."""
        return self.mesh.shards.tokens(self.mesh.micro_batch, self.seq_len)

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """Work of one rank in the forward pass of one micro-batch."""
        return self.layer.operations(self.mesh.micro_batch, self.seq_len, self.mesh.shards)

    @property
    def num_params(self) -> int:
        """Parameters of the layer on one tensor-parallel rank, before ZeRO shards them.

        A head whose table is tied to that of the embedding holds a copy of it where the two are on different stages.
        """
        copied = self.copied_table_params if isinstance(self.layer, Head) else 0
        return self.layer.num_params(self.mesh.shards) + copied

    @property
    def num_expert_params(self) -> int:
        """Those among them that belong to routed experts."""
        return self.layer.num_expert_params(self.mesh.shards)

    @property
    def copied_table_params(self) -> int:
        """Parameters, on one tensor-parallel rank, of the table that the first and the last stage both hold."""
        head = self.setting.model.head
        return head.table_params(self.mesh.shards) if head is not None and head.tied and self.mesh.pp > 1 else 0

    @property
    def activation_bytes(self) -> int:
        """The hidden state of the tokens of one micro-batch in the compute precision."""
        return self.tokens * self.layer.hidden * self.setting.workload.precision.bytes
