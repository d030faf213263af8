"""FLOP of the kinds that torch's counter cannot see whole, by hand with small numbers: experts, latents, recurrences.

A multiplication of (m, k) with (k, n) is 2 m k n. All layers have width 8 and see 2 sequences of 16 tokens: 32 tokens.
"""

from __future__ import annotations

from costmodel.spec import GatedDeltaNet, LatentAttention, LightningAttention, Mamba, Mamba2, Mlp, Moe
from costmodel.spec.layers import Kind
from costmodel.spec.operations import Convolution, DotProductAttention, Gemm, GroupedGemm, Scan
from costmodel.spec.shards import WHOLE
from costmodel.stacks import NATIVE_CUDA

BATCH, SEQ_LEN, HIDDEN = 2, 16, 8
TOKENS = BATCH * SEQ_LEN


def flop(layer: Kind, *kinds: type) -> float:
    """Of the operations of these kinds in the forward pass."""
    return sum(operation.flop for operation in layer.operations(BATCH, SEQ_LEN) if isinstance(operation, kinds))


def test_mixture_of_experts() -> None:
    moe = Moe(
        hidden=HIDDEN,
        num_experts=6,
        experts_per_token=2,
        ffn_hidden=4,
        gated=True,
        shared=Mlp(hidden=HIDDEN, ffn_hidden=10, gated=True),
        shared_gate=False,
    )
    # Router 8 x 6 and shared network 3 x 8 x 10 for every token.
    assert flop(moe, Gemm) == 2 * TOKENS * (48 + 240)
    # Two experts of 3 x 8 x 4 for every token, however many there are.
    assert flop(moe, GroupedGemm) == 2 * TOKENS * 2 * 96
    # A token's FLOP are two for each weight that it meets.
    assert flop(moe, Gemm, GroupedGemm) == 2 * TOKENS * moe.num_active_params()


def test_latent_attention() -> None:
    attention = LatentAttention(
        hidden=HIDDEN,
        num_heads=3,
        q_lora_rank=5,
        kv_lora_rank=6,
        qk_nope_head_dim=4,
        qk_rope_head_dim=2,
        v_head_dim=7,
    )
    # Down: queries 8 x 5, keys and values 8 x 6, rotary key 8 x 2. Up: queries 5 x 3 x (4 + 2), keys and values
    # 6 x 3 x (4 + 7). Out: 3 x 7 x 8.
    weights = (40 + 48 + 16) + (90 + 198) + 168
    assert flop(attention, Gemm) == 2 * TOKENS * weights
    # Each head and pair: 4 + 2 for the score, 7 for the value; half of 16 x 16 pairs.
    assert flop(attention, DotProductAttention) == 2 * BATCH * 3 * (256 / 2) * (6 + 7)


def test_latent_attention_with_an_indexer() -> None:
    attention = LatentAttention(
        hidden=HIDDEN,
        num_heads=3,
        q_lora_rank=5,
        kv_lora_rank=6,
        qk_nope_head_dim=4,
        qk_rope_head_dim=2,
        v_head_dim=7,
        index_heads=2,
        index_head_dim=3,
        index_topk=4,
    )
    plain = attention.model_copy(update={"index_heads": 0, "index_head_dim": 0, "index_topk": None})
    # Queries 5 x 2 x 3, key and weights 8 x (3 + 2) for each token.
    assert flop(attention, Gemm) - flop(plain, Gemm) == 2 * TOKENS * (30 + 40)
    # Half of 16 x 16 pairs scored by two heads of 3 and added up with a weight each. Of attention each query meets 4
    # keys, the first ones fewer: 16 x 4 - 4 x 4 / 2.
    scores, met = 2 * BATCH * 2 * (256 / 2) * (3 + 1), 2 * BATCH * 3 * (64 - 8) * (6 + 7)
    assert flop(attention, DotProductAttention) == scores + met
    # The class scores all pairs and hides half of them afterwards.
    indexing = [op for op in attention.operations(BATCH, SEQ_LEN) if op.num_gradients == 0]
    assert sum(op.full_flop for op in indexing if isinstance(op, DotProductAttention)) == 2 * scores
    # It picks without gradients: nothing of it runs backward, and nothing is kept.
    assert [type(op) for op in indexing if op.flop] == [Gemm, Gemm, DotProductAttention]
    assert attention.saved(BATCH, SEQ_LEN, WHOLE, NATIVE_CUDA) == plain.saved(BATCH, SEQ_LEN, WHOLE, NATIVE_CUDA)


def test_mamba() -> None:
    mamba = Mamba(hidden=HIDDEN, inner=16, state_size=4, time_step_rank=2, conv_kernel=3)
    # In 8 x 32; B, C and time step 16 x (4 + 4 + 2); time step 2 x 16; out 16 x 8.
    assert flop(mamba, Gemm) == 2 * TOKENS * (256 + 160 + 32 + 128)
    assert flop(mamba, Convolution) == 2 * TOKENS * 16 * 3
    # Nine for each token, channel and state, as the authors count them (github.com/state-spaces/mamba, issue 110).
    assert flop(mamba, Scan) == 9 * TOKENS * 16 * 4


def test_mamba_2() -> None:
    mamba = Mamba2(hidden=HIDDEN, num_heads=4, head_dim=4, num_groups=2, state_size=6, conv_kernel=3, chunk_size=8)
    # In 8 x (gate 16 + input 16 + B and C 2 x 2 x 6 + step 4); out 16 x 8.
    assert flop(mamba, Gemm) == 2 * TOKENS * (8 * 60 + 128)
    # Input, B and C.
    assert flop(mamba, Convolution) == 2 * TOKENS * 40 * 3
    # A token meets half of a chunk of 8: scores of 2 groups 4 x 6 each, their product with 4 heads of 4 inputs 4 x 4
    # each; then 4 states of 4 x 6 are written and read.
    assert flop(mamba, Scan) == 2 * TOKENS * (2 * 4 * 6 + 4 * 4 * 4 + 2 * 4 * 24)


def test_gated_delta_net() -> None:
    delta = GatedDeltaNet(hidden=HIDDEN, num_key_heads=2, num_value_heads=4, key_dim=3, value_dim=5, conv_kernel=3)
    # In 8 x (queries 6 + keys 6 + values 20 + gate 20 + decay and write strength 8); out 20 x 8.
    assert flop(delta, Gemm) == 2 * TOKENS * (8 * 60 + 160)
    assert flop(delta, Convolution) == 2 * TOKENS * 32 * 3
    # The chunk is the whole sequence of 16. Three products over half of it for keys and three for values, and three
    # of 3 x 5 with the state, for each of 4 heads.
    assert flop(delta, Scan) == 2 * TOKENS * 4 * (3 * 8 * 3 + 3 * 8 * 5 + 3 * 15)


def test_lightning_attention() -> None:
    lightning = LightningAttention(hidden=HIDDEN, num_heads=2, head_dim=4, block_size=4)
    # Queries, keys, values and gate 4 x 8 x 8; out 8 x 8.
    assert flop(lightning, Gemm) == 2 * TOKENS * (256 + 64)
    # A token meets half of a block of 4: score and product with the value 2 x 2 x 4; the state of 4 x 4 is written and
    # read; for each of 2 heads.
    assert flop(lightning, Scan) == 2 * TOKENS * 2 * (2 * 2 * 4 + 2 * 16)
