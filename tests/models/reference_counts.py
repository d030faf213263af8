"""Parameters as transformers itself counts them: the class that a config names, built on the meta device."""

from __future__ import annotations

from typing import Any

import torch
import transformers


def count_parameters(config: dict[str, Any]) -> int:
    """Parameters of `architectures[0]`, tied weights once.

    Quantisation is left out: it describes how the file stores weights that are trained in another format.
    """
    config = _without_quantisation(config)
    model_class = getattr(transformers, config["architectures"][0])
    built = model_class.config_class.from_dict(config)
    with torch.device("meta"):
        model = model_class(built)
    model.tie_weights()
    return sum(parameter.numel() for parameter in {id(each): each for each in model.parameters()}.values())


def _without_quantisation(config: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _without_quantisation(value) if isinstance(value, dict) else value
        for key, value in config.items()
        if key != "quantization_config"
    }
