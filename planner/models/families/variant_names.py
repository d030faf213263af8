"""Which classes transformers has beside a language model: by the end of the name, how those that have it begin."""

from __future__ import annotations

from collections.abc import Mapping

HEADLESS = "Model"
SEQUENCES, TOKENS = "ForSequenceClassification", "ForTokenClassification"
ANSWERS = "ForQuestionAnswering"

_BEGINNINGS = {
    HEADLESS: """
        Apertus Arcee Bamba Bloom CodeGen Cohere Cohere2 Cwm Dbrx DeepseekV2 DeepseekV3 DeepseekV32 Dots1 Ernie4_5
        Ernie4_5_Moe Exaone4 ExaoneMoe Falcon FalconH1 FalconMamba FlexOlmo GPT2 GPTBigCode GPTJ GPTNeo GPTNeoX
        Gemma Gemma2 Gemma3 Gemma3Text Gemma4 Gemma4Text Glm Glm4 Glm4Moe Glm4MoeLite GlmMoeDsa GptOss Granite
        GraniteMoe GraniteMoeHybrid GraniteMoeShared HunYuanDenseV1 HunYuanMoEV1 HyperCLOVAX Idefics3 InternVL Jais2
        Jamba KimiLinear Llama Llama4Text Llava LlavaNext LlavaOnevision Mamba Mamba2 MiMoV2Flash MiniCPM3 MiniMax
        MiniMaxM2 Ministral Ministral3 Mistral Mistral3 Mistral4 Mixtral Mllama Mpt Nemotron NemotronH OPT Olmo
        Olmo2 Olmo3 Olmoe PaliGemma Phi Phi3 Phimoe Qwen2 Qwen2Audio Qwen2Moe Qwen2VL Qwen2_5OmniThinker Qwen2_5_VL
        Qwen3 Qwen3Moe Qwen3Next Qwen3VL Qwen3VLMoe Qwen3_5 Qwen3_5Moe Qwen3_5MoeText Qwen3_5Text SeedOss SmolLM3
        SmolVLM SolarOpen StableLm Starcoder2 Voxtral
    """,
    SEQUENCES: """
        Arcee Bloom DeepseekV2 DeepseekV3 Exaone4 Falcon GPT2 GPTBigCode GPTJ GPTNeo GPTNeoX Gemma Gemma2 Gemma3
        Gemma3Text Glm Glm4 GptOss HunYuanDenseV1 HunYuanMoEV1 Jamba Llama MiniCPM3 MiniMax Ministral Ministral3
        Mistral Mistral4 Mixtral Mpt Nemotron OPT Olmo Olmo2 Olmo3 Phi Phi3 Phimoe Qwen2 Qwen2Moe Qwen3 Qwen3Moe
        Qwen3Next Qwen3_5 Qwen3_5Text SeedOss SmolLM3 StableLm Starcoder2
    """,
    TOKENS: """
        Apertus Arcee Bloom DeepseekV3 Exaone4 Falcon GPT2 GPTBigCode GPTNeo GPTNeoX Gemma Gemma2 Glm Glm4 GptOss
        Llama MiniMax Ministral Ministral3 Mistral Mistral4 Mixtral Mpt Nemotron Phi Phi3 Qwen2 Qwen2Moe Qwen3
        Qwen3Moe Qwen3Next Qwen3_5 SeedOss SmolLM3 StableLm Starcoder2
    """,
    ANSWERS: """
        Arcee Bloom Exaone4 Falcon GPT2 GPTJ GPTNeo GPTNeoX Llama MiniMax Ministral Ministral3 Mistral Mixtral Mpt
        Nemotron OPT Qwen2 Qwen2Moe Qwen3 Qwen3Moe Qwen3Next SeedOss SmolLM3
    """,
}

BEGINNINGS: Mapping[str, frozenset[str]] = {end: frozenset(names.split()) for end, names in _BEGINNINGS.items()}
"""Those of the pinned transformers; an end that is missing there is a class that nobody wrote."""
