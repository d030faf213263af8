"""Hands a plan to torchtitan: `planned_job.py`, a configuration module, and `train.sh`, which trains by it."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from costmodel.spec import PlanFile, Precision, QkNorm, Recompute, Schedule
from planner.frameworks import launchers
from planner.frameworks.describe import describe
from planner.frameworks.details import read_details
from planner.frameworks.rules import halves

VERSION = "0.3.0"
MODULE = "planned_job"

SCHEDULE_NAMES = {Schedule.ONE_F_ONE_B: "1F1B", Schedule.GPIPE: "GPipe"}
DTYPE_NAMES = {Precision.BF16: "bfloat16", Precision.FP32: "float32"}


def write(plan_file: PlanFile, launcher: str) -> dict[str, str]:
    """`planned_job.py` and `train.sh`.

    The script wants HF_ASSETS_PATH, a folder with the tokenizer; data set, learning rate and steps are torchtitan's
    own options, e.g. `./train.sh --training.steps 20`.
    """
    num_nodes, ranks_per_node = launchers.launch_size(plan_file.plan, plan_file.cluster)
    title = describe(plan_file, f"torchtitan {VERSION}")
    script = launchers.get(launcher)(
        launchers.Launch(
            title=title,
            num_nodes=num_nodes,
            ranks_per_node=ranks_per_node,
            program=(
                "-m torchtitan.train",
                f"--module {MODULE}",
                "--config planned_job",
                '--hf-assets-path "$HF_ASSETS_PATH"',
            ),
            environment={"PYTORCH_ALLOC_CONF": "expandable_segments:True"},
            setup=(
                "[[ -d \"${HF_ASSETS_PATH:-}\" ]] || fail 2 'set HF_ASSETS_PATH to a folder with the tokenizer'",
                'export PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}"',
            ),
        )
    )
    return {f"{MODULE}.py": _module_text(title, plan_file), "train.sh": script}


def settings(plan_file: PlanFile) -> dict[str, Any]:
    """The constants at the top of the module: plain numbers, strings and lists by name."""
    model, workload, plan = plan_file.model, plan_file.workload, plan_file.plan
    attention, mlp = halves(model)
    details = read_details(plan_file.hf_config, model, workload)
    scaling = details.rope_scaling
    replicated = plan.zero == 0
    return {
        "TORCHTITAN_VERSION": VERSION,
        "MODEL_NAME": model.name,
        "NUM_LAYERS": model.num_layers,
        "HIDDEN": model.hidden,
        "VOCAB": details.vocab,
        "NUM_HEADS": attention.num_heads,
        "NUM_KV_HEADS": attention.num_kv_heads,
        "HEAD_DIM": attention.head_dim,
        "FFN_HIDDEN": mlp.ffn_hidden,
        "QK_NORM": attention.qk_norm is not QkNorm.NONE,
        "TIED_EMBEDDINGS": model.tied,
        "NORM_EPS": details.norm_eps,
        "INITIALIZER_RANGE": details.initializer_range,
        "MAX_SEQ_LEN": details.max_seq_len,
        "ROPE_THETA": details.rope_theta,
        "ROPE_SCALING": {}
        if scaling is None
        else {
            "scaling": "llama",
            "scaling_factor": scaling.factor,
            "low_freq_factor": scaling.low_freq_factor,
            "high_freq_factor": scaling.high_freq_factor,
            "original_max_position_embeddings": scaling.original_max_position_embeddings,
        },
        "SEQ_LEN": workload.seq_len,
        "GLOBAL_BATCH": workload.global_batch,
        # With a pipeline, the local batch is what one step takes and is split into micro-batches; without one, each
        # local batch is a micro-batch of gradient accumulation.
        "LOCAL_BATCH": plan.micro_batch * (plan.num_microbatches(workload.global_batch) if plan.pp > 1 else 1),
        "MICRO_BATCH": plan.micro_batch,
        "DTYPE": DTYPE_NAMES[workload.precision],
        "TENSOR_PARALLEL": plan.tp,
        "CONTEXT_PARALLEL": plan.cp,
        "PIPELINE_PARALLEL": plan.pp,
        "PIPELINE_SCHEDULE": SCHEDULE_NAMES[plan.schedule],
        "STAGES": module_names_per_stage(plan.cut) if plan.pp > 1 else None,
        "DATA_PARALLEL_REPLICATE": plan.dp if replicated else 1,
        "DATA_PARALLEL_SHARD": 1 if replicated else plan.dp,
        "RESHARD_AFTER_FORWARD": "always" if plan.zero == 3 else "never",
        "RECOMPUTE": plan.recompute_layers[1] is Recompute.FULL,
    }


def module_names_per_stage(cut: tuple[int, ...]) -> list[list[str]]:
    """torchtitan's names of the modules of each stage; `cut` counts layers with embedding and head."""
    layers = [["tok_embeddings"], *([f"layers.{index}"] for index in range(sum(cut) - 2)), ["norm", "lm_head"]]
    stages, start = [], 0
    for size in cut:
        stages.append([name for layer in layers[start : start + size] for name in layer])
        start += size
    return stages


def _module_text(title: tuple[str, ...], plan_file: PlanFile) -> str:
    head = [f"# {line}" for line in title]
    constants = [f"{name} = {value!r}" for name, value in settings(plan_file).items()]
    body = files(__package__).joinpath("planned_job_body.txt").read_text(encoding="utf-8")
    return "\n".join([*head, "", *constants, "", body])
