"""Files: whole or not at all, and never over something else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from costmodel.errors import BadInputError, MissingError
from costmodel.spec import ClusterSpec, ModelSpec
from planner import files
from planner.clusters.read import load_cluster
from planner.models.read import load_model


@pytest.fixture(scope="module")
def model() -> ModelSpec:
    return load_model("llama-demo-6m").spec


def test_a_document_comes_back_as_it_was(tmp_path: Path, model: ModelSpec) -> None:
    path = tmp_path / "model.json"
    files.write_document(path, model)
    assert files.read_document(path, ModelSpec, "model") == model
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.json"]


def test_a_file_has_the_mode_of_any_other(tmp_path: Path, model: ModelSpec) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    files.write_document(tmp_path / "model.json", model)
    assert stat.S_IMODE((tmp_path / "model.json").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_only_a_file_of_the_same_schema_is_replaced(tmp_path: Path, model: ModelSpec) -> None:
    path = tmp_path / "model.json"
    files.write_document(path, model)
    files.write_document(path, model)
    for other in (load_cluster("l40s", 8).spec.to_json(), "notes", "", "{}", '{"schema": 3}'):
        path.write_text(other)
        with pytest.raises(BadInputError, match="--force"):
            files.write_document(path, model)
        assert path.read_text() == other
    files.write_document(path, model, force=True)
    assert files.read_document(path, ModelSpec, "model") == model


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.txt"
    path.write_text("before")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadInputError, match="no space left"):
        files.write_text(path, "after")
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.txt"]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    files.write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


@pytest.mark.parametrize(
    ("name", "named"),
    [("missing/plan.json", "does not exist"), (".", "not a regular file"), ("/dev/null", "not a reg")],
)
def test_places_that_cannot_be_written(tmp_path: Path, model: ModelSpec, name: str, named: str) -> None:
    with pytest.raises(BadInputError, match=named):
        files.write_document(tmp_path / name, model)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission(tmp_path: Path, model: ModelSpec) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(BadInputError, match="cannot be written"):
        files.write_document(tmp_path / "model.json", model)


@pytest.mark.parametrize(
    ("content", "named"),
    [(b"\xff\xfe", "not UTF-8"), (b"a\0b", "binary"), (b"x" * 101, "larger")],
)
def test_texts_that_cannot_be_read(tmp_path: Path, content: bytes, named: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(BadInputError, match=named):
        files.read_text(path, "file", max_bytes=100)


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbf{}")
    assert files.read_text(path, "file") == "{}"


def test_a_missing_profile_names_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="planner profile"):
        files.read_profile(tmp_path / "profile.json")


def test_a_file_of_another_schema_is_not_read(tmp_path: Path, model: ModelSpec) -> None:
    path = tmp_path / "model.json"
    files.write_document(path, model)
    with pytest.raises(BadInputError, match="schema is 'model/1', but 'cluster/1'"):
        files.read_document(path, ClusterSpec, "cluster")
    with pytest.raises(BadInputError, match="plan file"):
        files.read_plan_file(path)
