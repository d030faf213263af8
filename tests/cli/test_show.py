"""`planner show`: every kind of file it understands, for people and for programs."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from planner.clusters.read import load_cluster
from planner.models.read import load_model

CLUSTER = """\
schema: cluster/2
name: mine
device: l40s
num_devices: 4
tiers: [{name: node, num_devices: 4, link: pcie, bandwidth_bytes_per_s: 24 GB/s, latency_s: 5 us, source: assumed}]
"""


def test_a_config_file_its_folder_and_the_preset_say_the_same(planner, tmp_path: Path) -> None:
    folder = tmp_path / "llama-demo-6m.d"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(load_model("llama-demo-6m").hf_config))
    objects = [planner("show", text, "--json").json for text in (folder, folder / "config.json", "llama-demo-6m")]
    for found in objects:
        assert found["kind"] == "model"
        assert found["params_total"] == 6426880
        assert found["params_by_part"] == {"embedding": 65536, "blocks": 6295552, "head": 65792}


def test_what_a_config_leaves_out_is_said(planner, tmp_path: Path) -> None:
    config = {**load_model("llama-demo-6m").hf_config, "num_key_value_heads": None}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert "num_key_value_heads is not given" in planner("show", "config.json").stdout
    assert len(planner("show", "config.json", "--json").json["assumptions"]) == 1


def test_clusters_as_yaml_json_and_preset(planner, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(CLUSTER)
    (tmp_path / "mine.json").write_text(load_cluster("b200", 16).spec.to_json())
    mine = planner("show", "mine.yaml", "--json").json
    assert (mine["kind"], mine["num_devices"], mine["device"]["name"]) == ("cluster", 4, "NVIDIA L40S")
    assert planner("show", "mine.json", "--json").json["num_devices"] == 16
    preset = planner("show", "h100-sxm", "--json").json
    assert [tier["num_devices"] for tier in preset["tiers"]] == [8, 16]
    assert preset["memory_limit_bytes"] < preset["device"]["memory_bytes"]
    assert "NVIDIA L40S" in planner("show", "mine.yaml").stdout


def test_a_device_says_which_of_its_figures_are_assumed(planner) -> None:
    shown = " ".join(planner("show", "a10g").stdout.split())
    assert "NVIDIA A10G (cuda, assumed: gemm_efficiency_frac, attention_efficiency_frac): bf16 70 TFLOP/s" in shown
    assert "NVIDIA H100 80GB HBM3 (cuda, analytic): " in " ".join(planner("show", "h100-sxm").stdout.split())
    assumed = planner("show", "mi300x", "--json").json["assumed_figures"]
    assert list(assumed.values()) == [["attention_efficiency_frac"]]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("h100smx", "h100smx: neither a file nor a preset; did you mean h100-sxm"),
        ("RTX 4090", "RTX 4090: neither a file nor a preset; did you mean rtx-4090, workstation-2x-rtx-4090"),
        ("llama5-scout", "did you mean llama-4-scout"),
        ("zzz", "zzz: neither a file nor a preset; show understands a model's config.json"),
        ("h100-smx.yaml", "cluster h100-smx.yaml: neither a preset nor a YAML or JSON file; did you mean h100-sxm"),
    ],
)
def test_a_name_that_is_not_known_leads_to_the_nearest(planner, name: str, said: str) -> None:
    outcome = planner("show", name)
    assert outcome.code == 2
    assert said in outcome.stderr


def test_a_plan_is_shown_as_solve_shows_it(planner) -> None:
    solved = planner("solve", "--gpus", 1, "--model", "llama-demo-6m", "--cluster", "h100-sxm", "--json").json
    shown = planner("show", "plan.json", "--json").json
    assert shown["kind"] == "plan"
    assert all(shown[key] == solved[key] for key in shown if key != "kind")
    assert "FITS" in planner("show", "plan.json").stdout


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("lspci.txt", "17:00.0 3D controller: NVIDIA Corporation GH100\n", "not understood by this version"),
        ("p2p.txt", "\tGPU0\tGPU1\nGPU0\t X \tOK\n", "row GPU0 holds OK, a cell of `nvidia-smi topo -p2p`"),
        ("nothing", " \n", "nothing: is empty; show understands"),
        ("nothing.json", "", "nothing.json: not valid JSON at line 1, column 1"),
        ("cut.json", '{"a": ', "cut.json: not valid JSON at line 1"),
        ("list", "[1, 2]", "list: holds a list, but a Hugging Face config is a JSON object"),
        ("text.json", '"llama"', "text.json: holds a text, but"),
        ("null.json", "null", "null.json: holds null, but"),
        ("other.json", '{"schema": "recipe/1"}', "'recipe/1'"),
        ("binary", "\x00\x01", "binary"),
    ],
)
def test_what_is_not_understood_is_refused(planner, tmp_path: Path, name: str, content: str, named: str) -> None:
    (tmp_path / name).write_text(content)
    outcome = planner("show", name)
    assert outcome.code == 2
    assert named in outcome.stderr


@pytest.mark.parametrize("folder", [".", "models"])
def test_a_folder_without_a_config_is_told_apart_from_a_name(planner, tmp_path: Path, folder: str) -> None:
    (tmp_path / "models").mkdir()
    outcome = planner("show", folder)
    assert outcome.code == 2
    assert f"model {folder}: is a folder without config.json; name a folder that holds one" in outcome.stderr


def test_what_cannot_be_read_is_told_apart_from_what_is_not_there(
    planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    assert "pipe.json: is not a file" in planner("show", "pipe.json").stderr
    (tmp_path / "link.json").symlink_to("nowhere.json")
    assert "link.json: is a link to nowhere.json, where there is nothing" in planner("show", "link.json").stderr

    def deny(*_: object, **__: object) -> None:  # not by chmod: root may read everything
        raise PermissionError(errno.EACCES, "Permission denied")

    (tmp_path / "shut").mkdir()
    (tmp_path / "locked.json").write_text("{}")
    monkeypatch.setattr(Path, "open", deny)
    assert "locked.json: cannot be read: permission denied" in planner("show", "locked.json").stderr
    monkeypatch.setattr(Path, "lstat", deny)
    assert "shut/config.json: cannot be read: permission denied" in planner("show", "shut").stderr
    flags = ("--gpus", 8, "--model", "gpt2")
    assert "shut/c.yaml: cannot be read" in planner("solve", *flags, "--cluster", "shut/c.yaml").stderr
    assert "shut/p.json: cannot be read" in planner("solve", *flags, "--profile", "shut/p.json").stderr


def test_a_hostile_name_cannot_steer_the_terminal(planner, tmp_path: Path) -> None:
    folder = tmp_path / "evil\x1b[2J\u202e[bold]"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(load_model("llama-demo-6m").hf_config))
    outcome = planner("show", folder)
    assert outcome.code == 0
    assert "\x1b" not in outcome.stdout
    assert "\u202e" not in outcome.stdout
    assert "[bold]" in outcome.stdout


def test_narrow_terminals_and_no_colour(planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    for name in ("llama-3-8b", "h100-sxm"):
        lines = planner("show", name).stdout.splitlines()
        assert max(map(len, lines)) <= 40


def test_a_cluster_is_drawn(planner, tmp_path: Path) -> None:
    assert planner("show", "h100-sxm", "--svg", "cluster.svg").code == 0
    assert (tmp_path / "cluster.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert planner("show", "h100-sxm", "--svg", "cluster.svg").code == 0
    (tmp_path / "notes.svg").write_text("notes")
    for name, end in (
        ("none/cluster.svg", "does not exist; create it or give another --svg"),
        ("notes.svg", "holds something else already; give another --svg"),
    ):
        refused = planner("show", "h100-sxm", "--svg", name)
        assert (refused.code, refused.stderr.strip().endswith(end)) == (2, True), refused.stderr
    refused = planner("show", "llama-3-8b", "--svg", "model.svg")
    assert (refused.code, (tmp_path / "model.svg").exists()) == (2, False)
    assert "--svg draws clusters, but llama-3-8b is a model" in refused.stderr


@pytest.mark.parametrize(
    ("folder", "name", "kind", "keys"),
    [
        (
            "topology",
            "h200x8_gcp_a3ultra_8roce_ansi_tabs.txt",
            "topology",
            {"num_gpus", "num_nics", "links", "warnings"},
        ),
        ("topology", "mi250_8gcd_rocm-smi_showtopotype.txt", "topology", {"num_gpus", "num_nics", "links", "warnings"}),
        (
            "nccl_tests",
            "a100-40_1n8g_superbench_alltoall_oldformat.txt",
            "collectives",
            {"collective", "num_ranks", "samples", "warnings"},
        ),
    ],
)
def test_outputs_of_tools_are_shown(planner, tmp_path: Path, folder: str, name: str, kind: str, keys: set[str]) -> None:
    source = Path(__file__).parents[1] / "clusters" / folder / name
    (tmp_path / name).write_bytes(source.read_bytes())
    shown = planner("show", name, "--json").json
    assert shown["kind"] == kind
    assert keys <= shown.keys()
    assert planner("show", name).code == 0


def test_stacks_are_named_and_rows_that_look_alike_say_what_differs(planner) -> None:
    text = " ".join(planner("show", "t5-small").stdout.split())
    assert "6 encoder blocks of width 512, 6 decoder blocks of width 512;" in text
    # The first block of a stack has the table of relative positions: 32 x 8 heads = 256 more.
    assert "3,147,008 parameters each" in text
    assert "3,146,752 parameters each" in text
    assert "parameters each" not in planner("show", "llama-demo-6m").stdout


def test_the_config_of_a_preset_is_a_start_for_ones_own(planner, tmp_path: Path) -> None:
    config = planner("show", "llama-demo-6m", "--config").json
    assert config == load_model("llama-demo-6m").hf_config
    (tmp_path / "config.json").write_text(json.dumps({**config, "vocab_size": config["vocab_size"] + 1}))
    # A row of the table and one of the head, 256 wide, more.
    assert planner("show", "config.json", "--json").json["params_total"] == 6426880 + 2 * 256
    refused = planner("show", "h100-sxm", "--config")
    assert refused.code == 2
    assert "--config prints the config.json of a model, but h100-sxm is a cluster" in refused.stderr
