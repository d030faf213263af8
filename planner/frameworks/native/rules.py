"""What the project's own executor can run: limits of DTensor tensor parallelism and torch.distributed.pipelining."""

from __future__ import annotations

from costmodel.spec import Precision, Schedule
from planner.frameworks import rules
from planner.frameworks.framework import Rule

TITLE = "the native executor"
ZERO_STAGES = (0, 1, 2, 3)
PRECISIONS = (Precision.BF16, Precision.FP32)
SCHEDULES = (Schedule.ONE_F_ONE_B, Schedule.GPIPE)

ARCHITECTURES = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM")
"""Classes that it builds. Plans for others are priced all the same: what they cost does not hang on who runs them."""

RULES: tuple[Rule, ...] = (
    rules.PLANNED_AXES,
    rules.zero_expressible(TITLE, ZERO_STAGES, "it shards optimizer state, gradients and parameters"),
    rules.schedule_expressible(TITLE, SCHEDULES),
    rules.UNTIED_WITH_PIPELINE,
    rules.SINGLE_STREAM,
    rules.attends_fully(TITLE, ARCHITECTURES),
    rules.KNOWN_LAYERS,
    *rules.tensor_parallel_divides(whole_vocab=True),
    rules.BATCH_DIVIDES,
    rules.ENOUGH_MICROBATCHES,
    rules.CUT_COVERS_MODEL,
    rules.blocks_alone_recomputed(TITLE),
)
