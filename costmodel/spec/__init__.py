"""The nouns of the program: immutable values that pass between the folders."""

from __future__ import annotations

from costmodel.spec.base import Document, Source, Spec
from costmodel.spec.cluster import ClusterSpec, Device, DeviceKind, LinkKind, Tier
from costmodel.spec.layers import DenseBlock, Embedding, Head, Layer
from costmodel.spec.measurement import Measurement
from costmodel.spec.model import LayerRun, ModelSpec
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
    Collective,
    CollectiveSample,
    DispatchSample,
    LayerSample,
    OptimizerSample,
    Profile,
    Provenance,
    ShardingSample,
    Spread,
)
from costmodel.spec.stack import SoftwareStack
from costmodel.spec.workload import Precision, Workload

__all__ = [
    "AXES",
    "Alternative",
    "Baseline",
    "Certificate",
    "ClusterSpec",
    "Collective",
    "CollectiveSample",
    "DenseBlock",
    "Device",
    "DeviceKind",
    "DispatchSample",
    "Document",
    "Embedding",
    "Head",
    "Infeasible",
    "Layer",
    "LayerRun",
    "LayerSample",
    "LinkKind",
    "Measurement",
    "MemoryItem",
    "ModelSpec",
    "OptimizerSample",
    "Plan",
    "PlanFile",
    "Precision",
    "Prediction",
    "Profile",
    "Provenance",
    "Recompute",
    "RefusedPlan",
    "Schedule",
    "Sensitivity",
    "ShardingSample",
    "SoftwareStack",
    "Source",
    "Spec",
    "Spread",
    "StageMemory",
    "Tier",
    "TimeTerm",
    "Verdict",
    "Workload",
]
