"""Files: whole or not at all, and never over something else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from costmodel.errors import BadInputError, MissingError
from costmodel.spec import ClusterSpec, ModelSpec
from costmodel.spec.base import parse_json
from planner import documents, files
from planner.clusters.read import load_cluster
from planner.models.read import load_model


@pytest.fixture(scope="module")
def model() -> ModelSpec:
    return load_model("llama-demo-6m").spec


def test_a_document_comes_back_as_it_was(tmp_path: Path, model: ModelSpec) -> None:
    path = tmp_path / "model.json"
    documents.write_document(path, model)
    assert documents.read_document(path, ModelSpec, "model") == model
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.json"]


def test_a_file_has_the_mode_of_any_other(tmp_path: Path, model: ModelSpec) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    documents.write_document(tmp_path / "model.json", model)
    assert stat.S_IMODE((tmp_path / "model.json").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_only_a_file_of_the_same_schema_is_replaced(tmp_path: Path, model: ModelSpec) -> None:
    path = tmp_path / "model.json"
    documents.write_document(path, model)
    documents.write_document(path, model)
    for other in (load_cluster("l40s", 8).spec.to_json(), "notes", "", "{}", '{"schema": 3}'):
        path.write_text(other)
        with pytest.raises(BadInputError, match="--force"):
            documents.write_document(path, model)
        assert path.read_text() == other
    documents.write_document(path, model, force=True)
    assert documents.read_document(path, ModelSpec, "model") == model


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
    [
        ("missing/plan.json", "does not exist"),
        ("file/plan.json", "does not exist"),
        (".", "not a regular file"),
        ("/dev/null", "not a regular file"),
        ("pipe", "not a regular file"),
        ("loop", "cannot be written: too many levels of symbolic links"),
        ("dangling", "nowhere does not exist"),
        ("x" * 300, "cannot be written: file name too long"),
    ],
)
def test_places_that_cannot_be_written(tmp_path: Path, model: ModelSpec, name: str, named: str) -> None:
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere/plan.json")
    before = sorted(tmp_path.iterdir())
    for write in (documents.check_document_writable, documents.write_document):
        arguments = (tmp_path / name, ModelSpec if write is documents.check_document_writable else model)
        with pytest.raises(BadInputError, match=named):
            write(*arguments, force=True)
    assert sorted(tmp_path.iterdir()) == before


def test_the_longest_file_name_can_be_written(tmp_path: Path, model: ModelSpec) -> None:
    documents.write_document(tmp_path / ("x" * 255), model)
    assert [len(entry.name) for entry in tmp_path.iterdir()] == [255]


def test_a_huge_file_is_not_read_to_see_whether_it_may_be_replaced(tmp_path: Path, model: ModelSpec) -> None:
    path = tmp_path / "plan.json"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(BadInputError, match="--force"):
        documents.write_document(path, model)
    with pytest.raises(BadInputError, match="is larger than"):
        documents.read_document(path, ModelSpec, "model")


def test_a_folder_without_write_permission(tmp_path: Path, model: ModelSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o500)
    if os.geteuid() == 0:  # root may write everywhere, so the system's answer is played
        monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)
    with pytest.raises(BadInputError, match="cannot be written"):
        documents.write_document(tmp_path / "model.json", model)


@pytest.mark.parametrize(
    ("content", "named"),
    [(b"\xff\xfe", "not UTF-8"), (b"a\0b", "binary"), (b"x" * 101, "larger")],
)
def test_texts_that_cannot_be_read(tmp_path: Path, content: bytes, named: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(BadInputError, match=named):
        files.read_text(path, "file", max_bytes=100)


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("pipe", "is not a file"),
        (".", "is not a file"),
        ("loop", "too many levels of symbolic links"),
        ("x" * 300, "file name too long"),
        ("file/inside", "not a directory"),
        ("missing", "no such file"),
    ],
)
def test_places_that_cannot_be_read(tmp_path: Path, name: str, named: str) -> None:
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(BadInputError, match=named):
        files.read_text(tmp_path / name, "file")


def test_a_path_of_any_length_is_named_by_its_ends(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="file name too long") as caught:
        files.read_text(tmp_path / ("first" + "x" * 5000 + "last"), "file")
    said = str(caught.value)
    assert len(said) < 1000
    assert "last: cannot be read" in said


def test_a_path_that_cannot_be_printed_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"^file '.*/a\\nb': no such file$"):
        files.read_text(tmp_path / "a\nb", "file")


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ('{"schema": "model/99"}', "schema is 'model/99', but 'model/2' is needed here"),
        ('{"schema": "model/2", "colour": 1}', "is missing|unknown key"),
        ('{"schema": "model/2", "schema": "model/2"}', "key 'schema' stands twice"),
        ('{"a": NaN}', "NaN is not a number"),
        ('{"a": 1e999}', "not valid JSON at line 1: '1e999' is beyond the largest number"),
        ('{\n"a": "1e999",\n"b": [0,1e999]}', "not valid JSON at line 3: '1e999' is beyond the largest number"),
        ('{"a": -1e999}', "beyond the largest number"),
        ('{"a": ' + "1" * 5000 + "}", "has more than 1000 digits"),
        ('{"a": "\\ud800"}', ": a holds an escape from .* without its other half"),
        ('{"a": {"b": [1, "\\ud800"]}}', ": a.b.1 holds an escape"),
        ('{"a": {"\\ud800": 1}}', ": a key holds an escape"),
        ('{"\\n": ["\\ud800"]}', r": '\\n\.0' holds an escape"),
        ('["' + "k" * 1000 + '", {"' + "k" * 1000 + '": "\\ud800"}]', r": '1\.k+\.\.\. holds an escape"),
        ('"\\ud800"', ": it holds an escape"),
        ("[" * 100 + "]" * 100, "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        ("{" + ",".join(f'"{number}": 1' for number in range(300_000)) + ', "299999": 2}', "'299999' stands twice"),
    ],
)
def test_json_that_is_not_taken(tmp_path: Path, content: str, named: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(content)
    with pytest.raises(BadInputError, match=named) as raised:
        documents.read_document(path, ModelSpec, "model")
    assert len(str(raised.value)) < 300 + len(str(path))


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert parse_json(r'{"name": "\ud83d\ude00"}', "here") == {"name": "\U0001f600"}


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbf{}")
    assert files.read_text(path, "file") == "{}"


def test_a_missing_profile_names_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="planner profile"):
        documents.read_profile(tmp_path / "profile.json")


def test_a_file_of_another_schema_is_not_read(tmp_path: Path, model: ModelSpec) -> None:
    path = tmp_path / "model.json"
    documents.write_document(path, model)
    with pytest.raises(BadInputError, match="schema is 'model/2', but 'cluster/2'"):
        documents.read_document(path, ClusterSpec, "cluster")
    with pytest.raises(BadInputError, match="plan file"):
        documents.read_plan_file(path)
