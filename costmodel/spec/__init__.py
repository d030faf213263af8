"""The nouns of the program: immutable values that pass between the folders.

Each is loaded when it is first asked for: to show a model takes none of plans, profiles and clusters, and to make
their classes takes longer than to read the model.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from costmodel.spec.base import Document, Source, Spec
    from costmodel.spec.cluster import ClusterSpec
    from costmodel.spec.collective import Collective, CollectivePoint, CollectiveTable
    from costmodel.spec.device import Device, DeviceKind
    from costmodel.spec.layers import (
        Activation,
        Attention,
        Block,
        Dense,
        Embedding,
        FeedForward,
        Filter,
        FinalNorm,
        GatedDeltaNet,
        Head,
        KimiDeltaAttention,
        Kind,
        LatentAttention,
        Layer,
        LightningAttention,
        Mamba,
        Mamba2,
        Mixer,
        Mlp,
        Moe,
        Norm,
        QkNorm,
        ScoreBias,
        Stem,
        Traced,
    )
    from costmodel.spec.link import LinkKind, Tier
    from costmodel.spec.measurement import Measurement
    from costmodel.spec.model import LayerRun, ModelSpec, Part
    from costmodel.spec.node import Nics, Node, NodeGroup, Storage
    from costmodel.spec.number_format import NumberFormat
    from costmodel.spec.plan import AXES, Plan, Recompute, Schedule
    from costmodel.spec.plan_file import (
        Alternative,
        Baseline,
        Certificate,
        PlanFile,
        RefusedPlan,
        Sensitivity,
    )
    from costmodel.spec.prediction import Infeasible, MemoryItem, Prediction, StageMemory, TimeTerm, Verdict
    from costmodel.spec.profile import (
        CollectiveSample,
        DispatchSample,
        LayerSample,
        OptimizerSample,
        Profile,
        Provenance,
        ShardingSample,
        Spread,
    )
    from costmodel.spec.shards import Shards
    from costmodel.spec.stack import SoftwareStack
    from costmodel.spec.topology import NodeTopology, Pair, PathKind
    from costmodel.spec.workload import Precision, Workload

__all__ = [
    "AXES",
    "Activation",
    "Alternative",
    "Attention",
    "Baseline",
    "Block",
    "Certificate",
    "ClusterSpec",
    "Collective",
    "CollectivePoint",
    "CollectiveSample",
    "CollectiveTable",
    "Dense",
    "Device",
    "DeviceKind",
    "DispatchSample",
    "Document",
    "Embedding",
    "FeedForward",
    "Filter",
    "FinalNorm",
    "GatedDeltaNet",
    "Head",
    "Infeasible",
    "KimiDeltaAttention",
    "Kind",
    "LatentAttention",
    "Layer",
    "LayerRun",
    "LayerSample",
    "LightningAttention",
    "LinkKind",
    "Mamba",
    "Mamba2",
    "Measurement",
    "MemoryItem",
    "Mixer",
    "Mlp",
    "ModelSpec",
    "Moe",
    "Nics",
    "Node",
    "NodeGroup",
    "NodeTopology",
    "Norm",
    "NumberFormat",
    "OptimizerSample",
    "Pair",
    "Part",
    "PathKind",
    "Plan",
    "PlanFile",
    "Precision",
    "Prediction",
    "Profile",
    "Provenance",
    "QkNorm",
    "Recompute",
    "RefusedPlan",
    "Schedule",
    "ScoreBias",
    "Sensitivity",
    "ShardingSample",
    "Shards",
    "SoftwareStack",
    "Source",
    "Spec",
    "Spread",
    "StageMemory",
    "Stem",
    "Storage",
    "Tier",
    "TimeTerm",
    "Traced",
    "Verdict",
    "Workload",
]

_HOMES = {
    "base": "Document Source Spec",
    "cluster": "ClusterSpec",
    "collective": "Collective CollectivePoint CollectiveTable",
    "device": "Device DeviceKind",
    "layers": (
        "Activation Attention Block Dense Embedding FeedForward Filter FinalNorm GatedDeltaNet Head "
        "KimiDeltaAttention Kind LatentAttention Layer LightningAttention Mamba Mamba2 Mixer Mlp "
        "Moe Norm QkNorm ScoreBias Stem Traced"
    ),
    "link": "LinkKind Tier",
    "measurement": "Measurement",
    "model": "LayerRun ModelSpec Part",
    "node": "Nics Node NodeGroup Storage",
    "number_format": "NumberFormat",
    "shards": "Shards",
    "plan": "AXES Plan Recompute Schedule",
    "plan_file": "Alternative Baseline Certificate PlanFile RefusedPlan Sensitivity",
    "prediction": "Infeasible MemoryItem Prediction StageMemory TimeTerm Verdict",
    "profile": ("CollectiveSample DispatchSample LayerSample OptimizerSample Profile Provenance ShardingSample Spread"),
    "stack": "SoftwareStack",
    "topology": "NodeTopology Pair PathKind",
    "workload": "Precision Workload",
}
"""Names by the module of this package that holds them."""


def __getattr__(name: str) -> Any:
    """The noun `name`, which stays an attribute of this module from then on."""
    for module, names in _HOMES.items():
        if name in names.split():
            value = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
