"""The example of docs/models.md runs as printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

DOCUMENT = (Path(__file__).parents[2] / "docs" / "models.md").read_text()


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)
    return str(found)


@pytest.fixture
def _written(tmp_path: Path) -> None:
    (tmp_path / "my_model.py").write_text(block("python"))


@pytest.mark.usefixtures("_written")
def test_the_commands_of_the_example_run(planner) -> None:
    commands = [shlex.split(command) for command in block("sh").splitlines()]
    assert [program for program, *_ in commands] == ["planner", "planner"]
    for _, *arguments in commands:
        outcome = planner(*arguments)
        assert outcome.code == 0, outcome.stderr


@pytest.mark.usefixtures("_written")
def test_the_example_has_the_parameters_of_its_layers(planner) -> None:
    # A block: four matrices of 512 x 512 with biases, 512 x 2048 and back with biases, two norms with biases:
    # 4 x (262,144 + 512) + 2 x 1,048,576 + 2,048 + 512 + 4 x 512 = 3,152,384.
    assert planner("show", "my_model:build", "--json").json["params_by_part"] == {
        "embedding": 32_000 * 512,
        "blocks": 12 * 3_152_384,
        "head": 32_000 * 512 + 32_000,
    }


def test_routing_by_values_is_refused_as_the_document_says(planner, tmp_path: Path) -> None:
    routed = (
        block("python")
        .replace("from torch import nn", "from torch import nn\n\n" + ROUTER)
        .replace("*blocks", "Router(), *blocks")
    )
    (tmp_path / "routed_model.py").write_text(routed)
    outcome = planner("show", "routed_model:build")
    assert outcome.code == 2
    assert "layer 1 (Router)" in outcome.stderr


ROUTER = """
class Router(nn.Module):
    def forward(self, hidden):
        return hidden if hidden.sum().item() > 0 else -hidden
"""
