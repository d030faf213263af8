"""A row becomes the inputs of `predict`; what its source leaves open is what its framework does, with a note."""

from __future__ import annotations

import pytest

from costmodel.spec import LatentAttention, Moe, Precision, Recompute, Source
from planner.clusters.presets import preset_names
from planner.validation.express import Job, express
from planner.validation.frameworks import FRAMEWORKS, UNKNOWN, framework_of
from planner.validation.gaps import GAPS
from planner.validation.layouts import balanced_cut
from planner.validation.machines import network_rate_bytes_per_s, preset_of
from planner.validation.precisions import Narrow, precision_named
from planner.validation.unsaid import Unsaid
from tests.validation.sample_runs import SMALL, carried, configuration


def job_of(**cells: str) -> Job:
    job = express(configuration(**cells))
    assert isinstance(job, Job), job
    return job


def test_a_dense_run() -> None:
    """8 blocks of q and o 2 x 1024 x 1024, k and v 2 x 1024 x 512, three matrices of 1024 x 4096, two norms; two
    tables of 32000 x 1024 and a final norm."""
    job = job_of()
    block = 2 * 1024 * 1024 + 2 * 1024 * 512 + 3 * 1024 * 4096 + 2 * 1024
    assert job.model.params_total == 8 * block + 2 * 32000 * 1024 + 1024
    assert (job.plan.tp, job.plan.sp, job.plan.pp, job.plan.dp, job.plan.zero) == (2, True, 2, 2, 1)
    assert job.plan.cut == (5, 5)
    assert job.workload.precision is Precision.BF16
    assert job.stack.name == "megatron-core"
    assert job.notes == ()


def test_experts_beside_dense_blocks() -> None:
    """Blocks 0 and 1 are dense; of the other six every second one has experts: 3, 5 and 7."""
    cells = {"experts": "16", "top_k": "2", "moe_ffn_hidden": "512", "shared_expert_ffn": "256", "ep": "2"}
    job = job_of(**cells, dense_first_layers="2", moe_every="2")
    parts = [layer.feed_forward for layer in job.model.blocks]
    assert [index for index, part in enumerate(parts) if isinstance(part, Moe)] == [3, 5, 7]
    (moe,) = {part for part in parts if isinstance(part, Moe)}
    assert (moe.num_experts, moe.experts_per_token, moe.ffn_hidden) == (16, 2, 512)
    assert moe.shared is not None
    assert moe.shared.ffn_hidden == 256
    assert job.plan.ep == 2


def test_latent_attention_takes_the_ranks_that_no_column_states() -> None:
    job = job_of(attention="mla", head_dim="192", kv_heads="16")
    mixer = job.model.blocks[0].mixer
    assert isinstance(mixer, LatentAttention)
    assert (mixer.qk_nope_head_dim, mixer.qk_rope_head_dim, mixer.v_head_dim) == (128, 64, 128)
    assert job.notes == ("ranks of latent attention not stated, taken as DeepSeek-V3's",)


@pytest.mark.parametrize(
    ("name", "precision", "stack"),
    [
        ("Megatron-Bridge/Megatron-Core", "bf16", "megatron-core"),
        ("NeMo 2.0/Megatron-Core", "bf16", "megatron-core"),
        ("Megatron-LM core 0.14-era (commit 23e00ed, TE 2.11)", "bf16", "megatron-core"),
        ("Megatron-LM", "bf16", "megatron-core"),
        ("Megatron-LM", "fp16", "megatron-lm"),
        ("Megatron-DeepSpeed (BigScience)", "fp16", "megatron-deepspeed"),
        ("Megatron-LM v1.1.5 + DeepSpeed ZeRO-3", "fp16", "megatron-deepspeed"),
        ("llm-foundry (Composer + PyTorch FSDP)", "bf16", "llm-foundry"),
        ("HF Trainer + DeepSpeed", "bf16", "eager-fsdp"),
        ("HF Trainer + DeepSpeed", "fp16", "eager-fsdp"),
        ("Galvatron (FSDP)", "bf16", "eager-fsdp"),
        ("flash-attn training (PyTorch Lightning)", "bf16", "eager-fsdp"),
        ("Colossal-AI", "fp16", "eager-fsdp"),
        ("Primus (Megatron-LM backend)", "bf16", "megatron-core"),
        ("MaxText (JAX)", "bf16", "xla"),
        ("torchtitan main", "bf16", "torchtitan"),
        ("Something Else 3.0", "bf16", "generic"),
    ],
)
def test_frameworks_go_by_keyword(name: str, precision: str, stack: str) -> None:
    assert framework_of(configuration(framework=name, precision=precision)).stack.name == stack


def test_at_most_eight_stacks_stand_for_all_frameworks() -> None:
    assert len({framework.stack.name for framework in (*FRAMEWORKS, UNKNOWN)}) <= 8


def test_what_a_source_leaves_open_is_what_its_framework_does() -> None:
    job = job_of(framework="NeMo", zero="", recompute="", sp="", precision="", dp="")
    assert (job.plan.zero, job.plan.sp, job.plan.dp) == (1, True, 2)
    assert set(job.plan.recompute_layers) == {Recompute.NONE}
    assert job.notes == (
        "precision not stated, taken as bf16",
        "zero not stated, taken as 1: NVIDIA's recipes use the distributed optimizer",
        "recompute not stated, taken as none: Megatron-Core's recompute_granularity is None by default",
        "sp taken as on, since the source does not say",
    )
    assert "priced as generic, the nearest stack" in job_of(framework="Unheard Of").notes


@pytest.mark.parametrize(
    ("framework", "zero", "basis"),
    [
        ("MaxText (JAX)", 3, ": MaxText's ici_fsdp_parallelism is -1, all devices, by default"),
        ("Alpa (JAX/XLA)", 0, None),
        ("Megatron-DeepSpeed", 0, ": DeepSpeed's zero_optimization.stage is 0 by default"),
        ("DeepSpeed 0.19.2 + HF", 0, ": DeepSpeed's zero_optimization.stage is 0 by default"),
        ("HF Trainer", 0, ": Hugging Face's Trainer and Accelerate shard nothing unless told"),
        ("XTuner", 0, None),
        ("Galvatron (FLEX)", 3, None),
        ("Megatron-LLaMA", 0, None),
        ("PyTorch Lightning", 0, ": PyTorch Lightning's strategy is DDP unless told"),
        ("Something Else 3.0", 0, None),
    ],
)
def test_defaults_say_of_a_framework_what_is_true_of_it(framework: str, zero: int, basis: str | None) -> None:
    job = job_of(framework=framework, zero="")
    assert job.plan.zero == zero
    known = f"zero not stated, taken as {zero}{basis}"
    assert (known if basis else f"zero taken as {zero}, since the source does not say") in job.notes


def test_maxtext_recomputes_whole_layers_unless_told() -> None:
    assert job_of(framework="MaxText (JAX)", recompute="").plan.recompute == "full"
    assert job_of(framework="MaxText (JAX)", recompute="none").plan.recompute == "none"


def test_a_framework_without_megatron_in_its_name_has_not_its_kernels() -> None:
    """The stack of fp16 DeepSpeed is the nearest one, and the note says so."""
    job = job_of(framework="HF Trainer + DeepSpeed", precision="fp16")
    assert job.notes == ("priced as eager-fsdp, the nearest stack",)


@pytest.mark.parametrize(
    ("framework", "ep", "etp", "note"),
    [
        (
            "Megatron-Core 0.8",
            "2",
            2,
            "etp not stated, taken as 2: Megatron-Core's expert_tensor_parallel_size is that",
        ),
        ("Colossal-AI", "2", 2, "etp taken as 2, since the source does not say"),
        # A stage has tp 2 x dp 2 ranks: too few for ep 4 x etp 2.
        ("Megatron-Core 0.8", "4", 1, "etp not stated, taken as 1: ep 4 times tp 2 is above the 4 ranks of a stage"),
    ],
)
def test_how_experts_are_split_is_said(framework: str, ep: str, etp: int, note: str) -> None:
    experts = {"experts": "16", "top_k": "2", "moe_ffn_hidden": "512"}
    job = job_of(framework=framework, ep=ep, **experts)
    assert (job.plan.etp or job.plan.tp) == etp
    assert [said for said in job.notes if said.startswith(note)]
    whole = job_of(framework=framework, ep=ep, tp="1", dp="4", **experts)
    assert not [said for said in whole.notes if said.startswith("etp")]


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ({"dp": "4"}, "tp 2 x pp 2 x dp 4 x cp 1 is 16, but n_gpus is 8"),
        ({"tp": "3", "dp": ""}, "tp 3 x pp 2 x cp 1 is 6, but n_gpus is 8"),
        ({"tp": "", "dp": ""}, "tp and dp are missing"),
        ({"ep": "2"}, "ep is 2, but experts is missing"),
        ({"gpu": "Z999"}, "gpu is 'Z999', which no preset is called"),
        ({"gpu": "A800/H800-80GB (ambiguous)"}, "gpu is 'A800/H800-80GB (ambiguous)', which may be one or another"),
    ],
)
def test_what_contradicts_itself_is_named(cells: dict[str, str], note: str) -> None:
    found = express(configuration(**cells))
    assert isinstance(found, Unsaid)
    assert found.note.startswith(note)


@pytest.mark.parametrize(
    ("gpu", "preset"),
    [
        ("A100", "a100-sxm-80gb"),
        ("A100-40GB", "a100-sxm-40gb"),
        ("A100-80GB-PCIe", "a100-pcie-80gb"),
        ("A800-80GB", "a800-sxm-80gb"),
        ("V100-16GB", "v100-sxm-16gb"),
        ("V100-32GB", "v100-sxm-32gb"),
        ("H100-80GB", "h100-sxm"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("H200-141GB", "h200-sxm"),
        ("B200-180GB", "b200"),
        ("GB200", "gb200"),
        ("GB300", "gb300"),
        ("MI300X-192GB", "mi300x"),
        ("MI355X-288GB", "mi355x"),
        ("l40s", "l40s"),
    ],
)
def test_gpus_go_by_keyword(gpu: str, preset: str) -> None:
    assert preset_of(gpu) == preset
    assert preset in preset_names()


def test_every_gpu_of_the_carried_runs_is_known_or_ambiguous() -> None:
    unknown = {row["gpu"] for row in carried() if isinstance(preset_of(row["gpu"]), Unsaid)}
    assert unknown == {"A800/H800-80GB (ambiguous)"}


@pytest.mark.parametrize(
    ("text", "gbit_per_s_per_gpu"),
    [
        ("RoCE 4x100 Gb/s per node", 50),  # four adapters, eight GPUs
        ("IB 800 Gb/s per node", 100),
        ("InfiniBand 8x50 GB/s per node", 400),  # bytes
        ("25 Gb/s (AWS p3.16xlarge)", 3.125),
        ("400 Gb/s per GPU", 400),
        ("8x HDR InfiniBand 200Gb/s per node (Selene)", 200),
    ],
)
def test_networks_in_words_are_shared_by_the_gpus_of_a_node(text: str, gbit_per_s_per_gpu: float) -> None:
    rate = network_rate_bytes_per_s(configuration(inter_node=text))
    assert rate == pytest.approx(gbit_per_s_per_gpu * 1e9 / 8)


def test_a_stated_network_takes_the_place_of_the_usual_one() -> None:
    """50 Gbit/s a GPU are 6.25 GB/s, of which 0.8 are reached."""
    job = job_of(n_gpus="16", dp="4", inter_node="4x100 Gb/s per node")
    assert job.cluster.tiers[-1].bandwidth_bytes_per_s == pytest.approx(5e9)
    assert job.cluster.tiers[-1].source is Source.ANALYTIC
    usual = job_of(n_gpus="16", dp="4")
    assert usual.notes == ("network not stated, taken as that of h100-sxm",)


def test_machines_of_another_size() -> None:
    """Two machines of four where the preset has eight."""
    job = job_of(gpus_per_node="4")
    assert job.cluster.node_sizes == (4, 4)
    assert [tier.num_devices for tier in job.cluster.tiers] == [4, 8]


@pytest.mark.parametrize(
    ("gpus_per_node", "sizes"),
    [
        ("2", [2, 32]),  # a pair by NVLink alone
        ("4", [2, 4, 32]),  # two pairs, joined by PCIe
        ("8", [2, 8, 32]),  # as the preset has it
        ("16", [2, 16, 32]),
    ],
)
def test_machines_of_another_size_keep_the_tiers_inside(gpus_per_node: str, sizes: list[int]) -> None:
    """The preset of H100 NVL has pairs by NVLink in machines of eight."""
    job = job_of(gpu="H100-NVL", gpus_per_node=gpus_per_node, n_gpus="32", dp="8")
    assert [tier.num_devices for tier in job.cluster.tiers] == sizes


def test_pairs_that_do_not_make_up_a_machine_are_left_out() -> None:
    job = job_of(gpu="H100-NVL", gpus_per_node="3", n_gpus="12", tp="1", dp="6", global_batch="12")
    assert [tier.num_devices for tier in job.cluster.tiers] == [3, 12]


def test_racks_stay_whole() -> None:
    """72 GB200 of trays of four are one NVLink domain."""
    job = job_of(gpu="GB200", gpus_per_node="4", n_gpus="64", dp="16", global_batch="64")
    assert [tier.num_devices for tier in job.cluster.tiers] == [64]


@pytest.mark.parametrize(
    ("num_blocks", "num_stages", "cut"),
    [
        (32, 1, (34,)),
        (8, 2, (5, 5)),
        (9, 4, (4, 2, 2, 3)),  # 3, 2, 2, 2 blocks
        (126, 16, (8,) * 16),  # 128 places
    ],
)
def test_blocks_are_shared_out_evenly(num_blocks: int, num_stages: int, cut: tuple[int, ...]) -> None:
    assert balanced_cut(num_blocks, num_stages) == cut
    assert sum(cut) == num_blocks + 2


@pytest.mark.parametrize(
    ("text", "precision"),
    [
        ("bf16", Precision.BF16),
        ("fp16", Precision.FP16),
        ("fp8 (delayed scaling)", Narrow.FP8),
        ("mxfp8", Narrow.FP8),
        ("nvfp4", Narrow.FP4),
        ("posit16", None),
        ("tf32", None),
        ("int7", None),
    ],
)
def test_precisions_go_by_keyword(text: str, precision: Precision | Narrow | None) -> None:
    assert precision_named(text) is precision


GAP_CELLS = {
    "layers that the columns do not describe": {"model": "NemotronH-56B"},
    "arithmetic in 8 or 4 bits": {"precision": "mxfp8"},
    "a number format that is not known": {"precision": "tf32"},
    "a schedule that splits the backward pass": {"schedule": "ZBV"},
    "recomputation of parts of a layer": {"recompute": "selective (moe_act)"},
    "recomputation of scores in a stack that keeps them": {
        "recompute": "selective (core attention)",
        "framework": "Megatron-LM",
        "precision": "fp16",
    },
    "ZeRO over a part of the data-parallel ranks": {"zero_group": "1"},
    "activations kept in host memory": {"activation_offload_frac": "0.5"},
    "optimizer states kept in host memory": {"framework": "accelerate + DeepSpeed ZeRO-3 offload"},
}


def test_every_gap_has_a_case_here() -> None:
    assert {gap.reason for gap in GAPS} == set(GAP_CELLS)


@pytest.mark.parametrize("reason", GAP_CELLS)
def test_what_has_no_words_is_said_so(reason: str) -> None:
    (column, value), *_ = GAP_CELLS[reason].items()
    found = express(configuration(**GAP_CELLS[reason]))
    assert isinstance(found, Unsaid)
    assert found.reason == reason
    assert f"{column} = {value}" in found.note


def test_recomputing_scores_alone_is_what_a_fused_kernel_does() -> None:
    assert express(configuration(recompute="selective (core_attn)")) == express(configuration(**SMALL))


@pytest.mark.parametrize("text", ["selective", "selective (core_attn)", "Selective (core attention)"])
def test_recomputing_kept_scores_is_never_priced_as_keeping_them(text: str) -> None:
    """Megatron-LM in fp16 keeps 4.7 bytes of each score, Megatron-Core none."""
    old = {"framework": "Megatron-LM", "precision": "fp16"}
    assert isinstance(express(configuration(**old, recompute="none")), Job)
    assert isinstance(express(configuration(**old, recompute="full")), Job)
    assert isinstance(express(configuration(**old, recompute=text)), Unsaid)
    assert isinstance(express(configuration(recompute=text)), Job)
