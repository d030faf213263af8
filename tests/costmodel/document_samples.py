"""One document of every kind that is written, for the tests of documents."""

from __future__ import annotations

import pytest
from costmodel_samples import (
    BLOCK,
    HEAD,
    cluster,
    collective_sample,
    layer_sample,
    model,
    plan,
    profile,
    spread,
    stack,
    workload,
)

from costmodel.errors import BadInputError
from costmodel.predict import predict
from costmodel.spec import (
    Alternative,
    Baseline,
    Certificate,
    Collective,
    CollectivePoint,
    CollectiveTable,
    Document,
    Infeasible,
    Measurement,
    NodeTopology,
    OptimizerSample,
    Pair,
    PathKind,
    PlanFile,
    RefusedPlan,
    Sensitivity,
)

PREDICTION = predict(model(), workload(global_batch=4), cluster(4), stack(), plan(dp=4, zero=2))
SLOWER = predict(model(), workload(global_batch=4), cluster(4), stack(), plan(dp=4))
INFEASIBLE = Infeasible(rule="memory", sentence="too big", needed=2.0, limit=1.0, stage=0, nearest=plan(dp=4, zero=3))
PROFILE = profile(
    layer_sample(BLOCK, 1e-3, 2e-3, 960),
    layer_sample(HEAD, 3e-3, 0.1, 0, tp=2),
    collectives=(collective_sample(Collective.ALL_REDUCE, 4, 1000, 1e-5),),
    optimizer=(OptimizerSample(num_params=592, time=spread(1e-4)),),
)
MEASUREMENT = Measurement(
    plan_id=plan().plan_id,
    question_id="0123456789ab",
    seed=7,
    losses=(5.5, 5.25),
    step_times_s=(0.2, 0.1),
    num_warmup_steps=1,
    step_time_median_s=0.1,
    peak_memory_bytes=(1000, 1001),
    memory_counter="resident",
    predicted_step_time_s=0.11,
    predicted_step_time_low_s=0.1,
    predicted_step_time_high_s=0.12,
    predicted_peak_memory_bytes=990,
    provenance=PROFILE.provenance,
)
CERTIFICATE = Certificate(
    lower_bound_s=0.1,
    gap_frac=0.0,
    gap_in_space_frac=0.0,
    space="all",
    restrictions=("tp = 1",),
    considered=9,
    pruned=5,
    solved=3,
    refused={"heads_divide": 1},
    wall_s=0.5,
)
PLAN_FILE = PlanFile(
    hf_config={"hidden_size": 8, "nested": {"name": "größe"}},
    model=model(),
    workload=workload(global_batch=4),
    cluster=cluster(4),
    stack=stack(),
    profile=PROFILE,
    plan=plan(dp=4, zero=2),
    prediction=PREDICTION,
    certificate=CERTIFICATE,
    alternatives=(Alternative(plan=plan(dp=4), prediction=SLOWER, why_not="slower"),),
    baselines=(Baseline(name="rule", rule="a rule", plan=None, prediction=None, infeasible=INFEASIBLE),),
    refused=(RefusedPlan(plan=plan(tp=4), infeasible=INFEASIBLE),),
    sensitivities=(Sensitivity(input="link", change="halved", step_time_s=0.2),),
    assumptions=("an assumption",),
    input_hashes={"model": "abc"},
    versions={"python": "3.11"},
    created="2026-01-01T00:00:00Z",
)
TOPOLOGY = NodeTopology(
    gpus=("GPU0", "GPU1"),
    nics=("NIC0",),
    nic_devices={"NIC0": "mlx5_0"},
    pairs=(
        Pair(pair=("GPU0", "GPU1"), kind=PathKind.NVLINK, num_links=12),
        Pair(pair=("GPU0", "NIC0"), kind=PathKind.PIX),
    ),
    numa_of_gpu={"GPU0": "0"},
    warnings=("what joins GPU1 and NIC0 is not said",),
)
TABLE = CollectiveTable(
    collective=Collective.ALL_REDUCE,
    num_ranks=8,
    devices=("some device",),
    samples=(CollectivePoint(bytes=1024, time_s=1e-5, busbw_bytes_per_s=1e8, in_place_time_s=1.1e-5, num_wrong=0),),
)
DOCUMENTS: tuple[Document, ...] = (
    model(),
    workload(),
    cluster(),
    stack(),
    PROFILE,
    plan(full=(1,)),
    PREDICTION,
    INFEASIBLE,
    CERTIFICATE,
    MEASUREMENT,
    PLAN_FILE,
    TOPOLOGY,
    TABLE,
)
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: type(document).__name__)


def refusal(document: Document, text: str) -> str:
    """The sentence with which the type of `document` refuses `text`."""
    with pytest.raises(BadInputError) as caught:
        type(document).from_json(text, "here.json")
    sentence = str(caught.value)
    assert sentence.startswith("here.json: ")
    assert "\n" not in sentence
    return sentence
