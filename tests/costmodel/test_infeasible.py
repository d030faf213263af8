"""feasibility: a plan that contradicts its cluster, model or batch is a value that names the field and the number."""

from __future__ import annotations

import pytest
from costmodel_samples import BLOCK, cluster, model, plan, stack, workload

from costmodel.predict import predict, timeline_of
from costmodel.spec import Infeasible, Precision, Prediction
from tests.samples.blocks import with_sizes

BLOCK_OF_4_HEADS = with_sizes(BLOCK, num_heads=4, num_kv_heads=4)


def judged(of_plan, of_model=None, of_workload=None, num_devices=None, **device):
    num_devices = num_devices or of_plan.num_ranks
    job = of_model or model(), of_workload or workload(global_batch=8), cluster(num_devices, **device), stack()
    return predict(*job, of_plan)


@pytest.mark.parametrize(
    ("of_plan", "changes", "rule", "words"),
    [
        (plan(dp=2), {"num_devices": 4}, "num_ranks", ("1 x 1 x 1 x 2 = 2 ranks", "4 devices")),
        (plan(), {"of_workload": workload(precision=Precision.FP32), "peak_flop_per_s": {Precision.BF16: 1e6}},
         "precision", ("slow", "fp32", "bf16")),
        (plan(num_blocks=3), {}, "cut_covers_model", ("5 layers", "tiny has 4")),
        # 2^17 sequences one by one are 2^17 passes on one stage; 2^16 are simulated at most.
        (plan(), {"of_workload": workload(global_batch=2**17)}, "num_passes", ("131072 micro-batches", "65536")),
        (plan(micro_batch=3), {}, "batch_divides", ("micro_batch = 3", "8 / 1 = 8")),
        (plan(dp=16), {}, "batch_divides", ("dp = 16", "global_batch = 8")),
        (plan(tp=4), {}, "heads_divide", ("tp = 4", "num_attention_heads = 2")),
        (plan(tp=2), {}, "kv_heads_divide", ("tp = 2", "num_key_value_heads = 1")),
        (plan(tp=4), {"of_model": model(block=with_sizes(BLOCK_OF_4_HEADS, ffn_hidden=18))},
         "ffn_divides", ("tp = 4", "intermediate_size = 18")),
        (plan(tp=4), {"of_model": model(block=BLOCK_OF_4_HEADS), "of_workload": workload(seq_len=6)},
         "seq_len_divides", ("tp = 4", "seq_len = 6")),
    ],
)  # fmt: skip
def test_contradictions(of_plan, changes, rule, words):
    outcome = judged(of_plan, **changes)
    assert isinstance(outcome, Infeasible)
    assert outcome.rule == rule
    assert all(word in outcome.sentence for word in words), outcome.sentence


def test_every_shape_of_block_is_asked():
    # The second run alone has an odd width.
    runs = model().runs
    odd = runs[1].model_copy(update={"layer": with_sizes(BLOCK, num_kv_heads=2, ffn_hidden=17)})
    even = runs[1].model_copy(update={"layer": with_sizes(BLOCK, num_kv_heads=2)})
    two_kinds = model(runs=(runs[0], even, odd, runs[2]))
    assert judged(plan(num_blocks=4, tp=2), two_kinds).rule == "ffn_divides"
    assert isinstance(judged(plan(num_blocks=4), two_kinds), Prediction)


def test_a_contradiction_has_no_timeline():
    with pytest.raises(ValueError, match="global_batch / dp = 8 / 1"):
        timeline_of(model(), workload(global_batch=8), cluster(1), stack(), plan(micro_batch=3))
