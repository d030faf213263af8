"""JSON that is no document of the wanted kind is refused, and by name: keys, schemas, numbers, texts."""

from __future__ import annotations

import json

import pytest
from costmodel_samples import plan, stack
from document_samples import MEASUREMENT, PLAN_FILE, each_document, refusal
from pydantic import ValidationError

from costmodel.spec import Document, Spread


@each_document
def test_the_first_key_is_the_schema(document: Document) -> None:
    data = json.loads(document.to_json())
    assert next(iter(data)) == "schema"
    name, version = data["schema"].split("/")
    assert name.isidentifier()
    assert int(version) >= 1


@each_document
def test_an_unknown_key_is_refused_by_name(document: Document) -> None:
    data = json.loads(document.to_json()) | {"colour": 1}
    assert "unknown key 'colour'" in refusal(document, json.dumps(data))


@each_document
def test_a_newer_or_other_schema_is_refused_by_name(document: Document) -> None:
    data, schema = json.loads(document.to_json()), document.SCHEMA
    newer = f"{schema}0"
    sentence = refusal(document, json.dumps(data | {"schema": newer}))
    assert newer in sentence
    assert schema in sentence
    del data["schema"]
    assert "no `schema` key" in refusal(document, json.dumps(data))


@each_document
def test_a_missing_key_is_refused_by_name(document: Document) -> None:
    fields = type(document).model_fields
    required = next(name for name, field in fields.items() if field.is_required())
    data = json.loads(document.to_json())
    del data[required]
    assert f"key {required!r} is missing" in refusal(document, json.dumps(data))


def test_a_nested_document_of_another_schema_is_refused_where_it_stands() -> None:
    data = json.loads(PLAN_FILE.to_json())
    data["plan"]["schema"] = "plan/9"
    sentence = refusal(PLAN_FILE, json.dumps(data))
    assert "plan" in sentence
    assert "plan/9" in sentence


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_in_json_is_refused_by_name(constant: str) -> None:
    text = MEASUREMENT.to_json().replace("5.25", constant)
    assert f"{constant} is not a number" in refusal(MEASUREMENT, text)


def test_not_a_number_is_refused_in_python_too() -> None:
    with pytest.raises(ValidationError, match="finite"):
        Spread(median_s=float("nan"), low_s=1, high_s=1, num_samples=1)
    with pytest.raises(ValidationError, match="finite"):
        stack(launch_s_per_layer=float("inf"))


def test_a_key_that_stands_twice_is_refused_by_name() -> None:
    text = plan().to_json().replace('"tp": 1', '"tp": 1, "tp": 2')
    assert "key 'tp' stands twice" in refusal(plan(), text)


@pytest.mark.parametrize(
    ("text", "word"),
    [("", "line 1"), ("{", "line 1"), ('{"schema": "plan/1",\n}', "line 2"), ("[]", "schema"), ("3", "schema"),
     ("[" * 100_000, "nested too deeply")],
)  # fmt: skip
def test_text_that_is_no_document_is_refused(text: str, word: str) -> None:
    assert word in refusal(plan(), text)
