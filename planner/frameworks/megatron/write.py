"""Hands a plan to Megatron-LM: `args.sh` with its command-line arguments, `train.sh` that starts `pretrain_gpt.py`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from costmodel.errors import BadInputError
from costmodel.spec import ModelSpec, PlanFile, Precision, QkNorm, Recompute, Workload
from planner.frameworks import launchers
from planner.frameworks.describe import describe
from planner.frameworks.details import ModelDetails, read_details
from planner.frameworks.megatron.rules import BIAS_FLAGS, block_recompute_count, recomputed_per_stage
from planner.frameworks.rules import halves

VERSION = "core_v0.16.1"
PRECISION_FLAGS: dict[Precision, tuple[str, ...]] = {
    Precision.BF16: ("--bf16",),
    Precision.FP16: ("--fp16",),  # with dynamic loss scaling, as it does by default
    Precision.FP32: (),
}
PACKAGE_VERSION = VERSION.removeprefix("core_v")


def write(plan_file: PlanFile, launcher: str) -> dict[str, str]:
    """`args.sh` (arrays of arguments) and `train.sh`.

    The script wants MEGATRON_PATH, a checkout at the pinned tag. It trains on mock data unless DATA_PATH (a
    preprocessed data set) and TOKENIZER_MODEL (a Hugging Face tokenizer) are set; TRAIN_ITERS and LR have defaults.
    """
    num_nodes, ranks_per_node = launchers.launch_size(plan_file.plan, plan_file.cluster)
    title = describe(plan_file, f"Megatron-LM {VERSION}")
    script = launchers.get(launcher)(
        launchers.Launch(
            title=title,
            num_nodes=num_nodes,
            ranks_per_node=ranks_per_node,
            program=('"$MEGATRON_PATH/pretrain_gpt.py"', '"${args[@]}"', '"${data[@]}"'),
            # Megatron-LM demands one connection for tensor parallelism before the Blackwell generation.
            environment={"CUDA_DEVICE_MAX_CONNECTIONS": "1"},
            setup=_setup(_details(plan_file).vocab),
        )
    )
    return {"args.sh": _arguments_text(title, plan_file), "train.sh": script}


def check_config(hf_config: Mapping[str, Any], model: ModelSpec, workload: Workload) -> None:
    """Raises BadInputError for a detail of the raw config that no argument says."""
    _rotation_arguments(read_details(hf_config, model, workload))


def _details(plan_file: PlanFile) -> ModelDetails:
    return read_details(plan_file.hf_config, plan_file.model, plan_file.workload)


def arguments(plan_file: PlanFile) -> dict[str, tuple[str, ...]]:
    """Command-line arguments by group, apart from data and tokenizer; each word is one argument."""
    details = _details(plan_file)
    return {
        "model": _model_arguments(plan_file, details),
        "parallel": _parallel_arguments(plan_file),
        "recompute": _recompute_arguments(plan_file),
        "batch": (
            *("--micro-batch-size", str(plan_file.plan.micro_batch)),
            *("--global-batch-size", str(plan_file.workload.global_batch)),
        ),
        "optimizer": (
            *("--optimizer", "adam", "--adam-beta1", "0.9", "--adam-beta2", "0.95", "--adam-eps", "1e-8"),
            *("--weight-decay", "0.1", "--clip-grad", "1.0", "--lr-decay-style", "constant"),
            *PRECISION_FLAGS[plan_file.workload.precision],
        ),
        "logging": ("--eval-iters", "0", "--log-interval", "1", "--log-throughput"),
    }


def _model_arguments(plan_file: PlanFile, details: ModelDetails) -> tuple[str, ...]:
    model = plan_file.model
    attention, mlp = halves(model)
    words = [
        *("--num-layers", str(model.num_layers)),
        *("--hidden-size", str(model.hidden)),
        *("--ffn-hidden-size", str(mlp.ffn_hidden)),
        *("--num-attention-heads", str(attention.num_heads)),
        *("--kv-channels", str(attention.head_dim)),
        *("--seq-length", str(plan_file.workload.seq_len)),
        *("--max-position-embeddings", str(details.max_seq_len)),
        *("--normalization", "RMSNorm"),
        *("--norm-epsilon", repr(details.norm_eps)),
        *_rotation_arguments(details),
        "--swiglu",
        *("--init-method-std", repr(details.initializer_range)),
        *("--attention-dropout", "0", "--hidden-dropout", "0"),
        *BIAS_FLAGS[(attention.qkv_bias, attention.output_bias, mlp.bias)],
        # The vocabulary is padded to a multiple of this and of tp; with one such multiple it stays as planned.
        *("--make-vocab-size-divisible-by", str(-(-details.vocab // plan_file.plan.tp))),
    ]
    if attention.num_kv_heads != attention.num_heads:
        words += ["--group-query-attention", "--num-query-groups", str(attention.num_kv_heads)]
    if attention.qk_norm is not QkNorm.NONE:
        words.append("--qk-layernorm")
    if not model.tied:
        words.append("--untie-embeddings-and-output-weights")
    return tuple(words)


def _rotation_arguments(details: ModelDetails) -> tuple[str, ...]:
    words = ("--position-embedding-type", "rope", "--rotary-base", _whole(details.rope_theta, "rope_theta"))
    scaling = details.rope_scaling
    if scaling is None:
        return words
    fixed = (scaling.low_freq_factor, scaling.high_freq_factor, scaling.original_max_position_embeddings)
    if fixed != (1, 4, 8192):
        raise BadInputError(
            f"hf_config: low_freq_factor, high_freq_factor and original_max_position_embeddings are {fixed}, "
            "but Megatron-LM has only (1, 4, 8192)"
        )
    return (*words, "--use-rope-scaling", "--rope-scaling-factor", repr(scaling.factor))


def _parallel_arguments(plan_file: PlanFile) -> tuple[str, ...]:
    plan = plan_file.plan
    words = [
        *("--tensor-model-parallel-size", str(plan.tp)),
        *("--pipeline-model-parallel-size", str(plan.pp)),
        *("--context-parallel-size", str(plan.cp)),
    ]
    if plan.tp > 1:
        words.append("--sequence-parallel")
    if plan.pp > 1:
        words += ["--pipeline-model-parallel-layout", pipeline_layout(plan.cut)]
    if plan.dp > 1:
        words.append("--overlap-grad-reduce")
    if plan.zero == 1:
        words.append("--use-distributed-optimizer")
        if plan.dp > 1:
            words.append("--overlap-param-gather")
    return tuple(words)


def pipeline_layout(cut: tuple[int, ...]) -> str:
    """The stages in Megatron's letters: E embedding, t block, L loss; `|` between stages, `*n` repeats.

    `cut` counts layers per stage with embedding and head, so (3, 2, 2) is `Et*2|t*2|tL`.
    """
    letters = "E" + "t" * (sum(cut) - 2) + "L"
    stages, start = [], 0
    for size in cut:
        stages.append(letters[start : start + size])
        start += size
    return "|".join(_repeated(stage) for stage in stages)


def _repeated(stage: str) -> str:
    num_blocks = stage.count("t")
    return stage.replace("t" * num_blocks, f"t*{num_blocks}") if num_blocks > 1 else stage


def _recompute_arguments(plan_file: PlanFile) -> tuple[str, ...]:
    plan = plan_file.plan
    count = block_recompute_count(plan)
    if not count:
        return ()
    if all(mode is Recompute.FULL for modes in recomputed_per_stage(plan) for mode in modes):
        method, num_layers = "uniform", 1
    else:
        method, num_layers = "block", count
    return (
        *("--recompute-granularity", "full"),
        *("--recompute-method", method),
        *("--recompute-num-layers", str(num_layers)),
    )


def _whole(value: float, name: str) -> str:
    if not value.is_integer():
        raise BadInputError(f"hf_config: {name} is {value}, but Megatron-LM takes only whole numbers")
    return str(int(value))


def _setup(vocab: int) -> tuple[str, ...]:
    # The null tokenizer adds one end-of-document token to its --vocab-size.
    return (
        '[[ -f "${MEGATRON_PATH:-}/pretrain_gpt.py" ]] || '
        f"fail 2 'set MEGATRON_PATH to a checkout of Megatron-LM at {VERSION}'",
        'package_info="$MEGATRON_PATH/megatron/core/package_info.py"',
        'found="$(sed -nE \'s/^(MAJOR|MINOR|PATCH) = //p\' "$package_info" | paste -sd. -)"',
        f'[[ "$found" == {PACKAGE_VERSION} ]] || '
        f'fail 2 "MEGATRON_PATH holds version $found, but these arguments are for {VERSION}"',
        'source "$here/args.sh"',
        'args+=(--train-iters "${TRAIN_ITERS:-100}" --lr "${LR:-3e-4}")',
        'if [[ -n "${DATA_PATH:-}" ]]; then',
        '    [[ -n "${TOKENIZER_MODEL:-}" ]] || '
        "fail 2 'set TOKENIZER_MODEL to the tokenizer that DATA_PATH was made with'",
        '    data=(--data-path "$DATA_PATH" --split 99,1,0 '
        '--tokenizer-type HuggingFaceTokenizer --tokenizer-model "$TOKENIZER_MODEL")',
        "else",
        "    echo 'train.sh: DATA_PATH is not set, so this trains on mock data' >&2",
        f"    data=(--mock-data --tokenizer-type NullTokenizer --vocab-size {vocab - 1})",
        "fi",
    )


def _arguments_text(title: Iterable[str], plan_file: PlanFile) -> str:
    lines = [*(f"# {line}" for line in title), "", "args=("]
    for group, words in arguments(plan_file).items():
        if words:
            lines.append(f"    # {group}")
            lines += [f"    {' '.join(shlex.quote(word) for word in line)}" for line in _lines(words)]
    return "\n".join([*lines, ")"]) + "\n"


def _lines(words: tuple[str, ...]) -> list[list[str]]:
    """One option with its values a line."""
    lines: list[list[str]] = []
    for word in words:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(word)
    return lines
