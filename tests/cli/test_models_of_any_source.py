"""`--model` finds a model wherever it is described: by a family, by a class of transformers, by the user's own code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

H100 = ("--cluster", "h100-sxm")

USERS_MODULE = """
import torch
from torch import nn

print("built by the user")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


def build():
    return nn.Sequential(nn.Embedding(1000, 64), *(Block() for _ in range(6)), nn.Linear(64, 1000, bias=False))
"""

NANOCHAT: dict[str, Any] = {
    "architectures": ["NanoChatForCausalLM"],
    "model_type": "nanochat",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 8,
    "vocab_size": 100,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "max_position_embeddings": 512,
}
# embedding 100 x 64 = 6400; a block: q and o 64 x 64, k and v 64 x 32: 12288; feed-forward without gate 2 x 64 x 96 =
# 12288; its norms learn nothing: 24576, three 73728; head 6400.
NANOCHAT_PARAMS = {"embedding": 6400, "blocks": 73728, "head": 6400}


@pytest.fixture
def users_module(tmp_path: Path) -> Path:
    path = tmp_path / "users_model.py"
    path.write_text(USERS_MODULE)
    return path


@pytest.fixture(autouse=True)
def _forget_users_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command imports must not be found by the next test, which has another folder."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("users_model", "users_broken"):
        sys.modules.pop(name, None)


def test_a_class_that_no_family_reads_is_traced_and_says_so(planner, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(NANOCHAT))
    shown = planner("show", "config.json", "--json").json
    assert shown["params_by_part"] == NANOCHAT_PARAMS
    assert (shown["num_layers"], shown["hidden"], shown["vocab"]) == (3, 64, 100)
    assert "tracing transformers' NanoChatForCausalLM" in shown["assumptions"][0]


def test_a_traced_model_is_planned_without_tensor_parallelism(planner, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(NANOCHAT))
    flags = ("--gpus", 2, "--model", "config.json", *H100, "--seq-len", 128)
    solved = planner("solve", *flags, "--json")
    assert solved.code == 0
    assert solved.json["plan"]["tp"] == 1
    assert "tracing transformers' NanoChatForCausalLM" in " ".join(solved.json["assumptions"])
    refused = planner("check", *flags, "--tp", 2, "--json", "-o", "other.json")
    assert refused.code == 3
    assert refused.json["rule"] == "tensor_parallel_known_layers"


def test_a_class_that_transformers_lacks_is_refused_and_its_code_not_run(planner, tmp_path: Path) -> None:
    config = {"architectures": ["NoSuchForCausalLM"], "auto_map": {"AutoModelForCausalLM": "modeling_x.NoSuch"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "modeling_x.py").write_text("raise SystemExit('remote code is not run')")
    outcome = planner("show", "config.json")
    assert outcome.code == 2
    assert "NoSuchForCausalLM is not known" in outcome.stderr
    assert "the code that auto_map names is never fetched or run; give the model as module:factory" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_without_transformers_the_command_that_gets_it_is_named(
    planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(NANOCHAT))
    monkeypatch.setitem(sys.modules, "transformers", None)
    outcome = planner("show", "config.json")
    assert outcome.code == 4
    assert "pip install" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


@pytest.mark.usefixtures("users_module")
def test_a_factory_is_imported_from_the_current_folder(planner) -> None:
    outcome = planner("show", "users_model:build", "--json")
    # embedding and head 1000 x 64; a block 64 x 256 + 256 + 256 x 64 + 64 = 33088, six 198528.
    assert outcome.json["params_by_part"] == {"embedding": 64000, "blocks": 198528, "head": 64000}
    assert "built by the user" in outcome.stderr


@pytest.mark.usefixtures("users_module")
def test_a_plan_of_a_factory_is_judged_but_not_trained(planner) -> None:
    flags = ("--gpus", 2, "--model", "users_model:build", *H100, "--seq-len", 128, "--zero", 1)
    solved = planner("solve", *flags, "--json")
    assert solved.code == 0
    written = json.loads(Path("plan.json").read_text())
    assert written["hf_config"] == {"factory": "users_model:build"}
    outcome = planner("run", "plan.json", "--device", "cpu")
    assert outcome.code == 2
    assert "built by users_model:build" in outcome.stderr
    assert "train it with your own code" in outcome.stderr


@pytest.mark.usefixtures("users_module")
def test_a_factory_is_not_measured(planner) -> None:
    outcome = planner("profile", "--model", "users_model:build", "--device", "cpu")
    assert outcome.code == 2
    assert "size it with show, solve or check" in outcome.stderr


def test_what_is_not_trained_here_is_neither_measured_nor_run(planner, tmp_path: Path) -> None:
    solved = planner("solve", "--gpus", 8, "--model", "gpt2", *H100, "--json")
    assert solved.code == 0
    refused = {"--model gpt2": ("profile", "--model", "gpt2"), "plan file plan.json": ("run", "plan.json")}
    for where, flags in refused.items():
        outcome = planner(*flags, "--device", "cpu")
        assert outcome.code == 2
        # Nothing is announced before the refusal.
        assert outcome.stderr.startswith(f"planner: {where}: its model is a GPT2LMHeadModel, but planner trains and")


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("def build(:\n", "importing users_broken failed at {file}:1: SyntaxError"),
        ("import no_such_package\n", "importing users_broken failed at {file}:1: ModuleNotFoundError"),
        ("raise SystemExit(3)\n", "importing users_broken failed at {file}:1: SystemExit: 3"),
        ("x = 1\n", "module 'users_broken' has no attribute 'build'"),
        ("build = 1\n", "build is an int, but must be a function or class"),
        ("def build():\n    return {}['x']\n", "building it failed at {file}:2: KeyError: 'x'"),
        ("def build():\n    return 3\n", "returned an int, but must return an nn.Sequential"),
        ("def build():\n    return [1, 2, 3]\n", "layer 0 is an int, but must be an nn.Module"),
        ("def build():\n    return []\n", "returned 0 layers, but must return from 3"),
        (
            "from torch import nn\ndef build():\n    return [nn.Embedding(9, 8), nn.Linear(7, 7), nn.Linear(8, 9)]\n",
            "layer 1 (Linear): its forward pass on a tensor of shape [1, 16, 8] failed: RuntimeError",
        ),
        (
            "from torch import nn\nclass Two(nn.Module):\n    def forward(self, x):\n        return x, x\n"
            "def build():\n    return [nn.Embedding(9, 8), Two(), nn.Linear(8, 9)]\n",
            "layer 1 (Two): returned a tuple, but must return one tensor",
        ),
        (
            "from torch import nn\nclass Peek(nn.Module):\n    def forward(self, x):\n"
            "        return x if x.sum() > 0 else -x\n"
            "def build():\n    return [nn.Embedding(9, 8), Peek(), nn.Linear(8, 9)]\n",
            "failed at {file}:4: its code looks at the values of tensors, which a trace does not have",
        ),
    ],
)
def test_what_is_wrong_with_a_factory_is_one_sentence(planner, tmp_path: Path, body: str, named: str) -> None:
    file = tmp_path / "users_broken.py"
    file.write_text(body)
    outcome = planner("show", "users_broken:build")
    assert outcome.code == 2
    assert named.format(file=file) in outcome.stderr
    assert outcome.stderr.startswith("planner: factory users_broken:build: ")
    assert outcome.stderr.count("\n") == 1


def test_a_factory_named_as_a_file_is_told_its_import_name(planner) -> None:
    outcome = planner("show", "src/mine.py:build")
    assert outcome.code == 2
    assert "give the module as Python imports it, e.g. src.mine:build" in outcome.stderr


def test_a_known_family_loads_neither_torch_nor_transformers() -> None:
    code = (
        "import sys\n"
        "from planner.cli.loading import load\n"
        "load('llama-3-8b')\n"
        "print([name for name in ('torch', 'transformers') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        ("[nn.Embedding(8, 4), nn.LazyLinear(4), nn.Linear(4, 8)]", "weight of layer 1 (LazyLinear) has no shape"),
        ("[nn.ReLU(), nn.ReLU(), nn.ReLU()]", "no parameters, so that there is nothing to train"),
        ("leave()", "GeneratorExit"),
    ],
)
def test_factories_that_nothing_can_be_made_of(planner, tmp_path: Path, layers: str, said: str) -> None:
    # Python keeps a module that it has imported, so each case needs a name of its own.
    name = f"odd_layers_{len(layers)}"
    lines = ["from torch import nn", "def leave():", "    raise GeneratorExit", "def build():", f"    return {layers}"]
    (tmp_path / f"{name}.py").write_text("\n".join(lines) + "\n")
    outcome = planner("show", f"{name}:build")
    assert outcome.code == 2
    assert said in outcome.stderr
