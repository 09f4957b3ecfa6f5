"""Reading YAML: plain values, the lines they stand on, and nothing that runs."""

from __future__ import annotations

import math

import pytest

from rankwise.errors import ConfigError, FileError
from rankwise.experiments.document import read_document


def read(tmp_path, text):
    path = tmp_path / "c.yaml"
    path.write_text(text, encoding="utf-8")
    return read_document(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("010", 10),
        ("0x10", "0x10"),
        ("-3", -3),
        ("1e-3", 0.001),
        (".5", 0.5),
        ("1.", 1.0),
        ("2024-01-01", "2024-01-01"),
        ("1:30", "1:30"),
        ("'10'", "10"),
        ('"true"', "true"),
        ("-.inf", -math.inf),
        ("1_000", "1_000"),
        ("ndcg@[5,10]", "ndcg@[5,10]"),
        ("<<", "<<"),
        ("!!str text", "text"),
        ("=", "="),
        ("ä 😀", "ä 😀"),
    ],
)
def test_scalars_are_what_they_look_like(tmp_path, text, value):
    found = read(tmp_path, f"key: {text}\n").values["key"]
    assert (found, type(found)) == (value, type(value))


def test_values_are_nested_up_to_fifty_levels(tmp_path):
    value = read(tmp_path, f"key: {'[' * 50}{']' * 50}\n").values["key"]
    for _ in range(49):
        (value,) = value
    assert value == []
    with pytest.raises(ConfigError, match="too deeply nested"):
        read(tmp_path, f"key: {'[' * 51}{']' * 51}\n")


def test_every_value_knows_its_line(tmp_path):
    document = read(tmp_path, "a:\n  - b: 1\n    c:\n      2\n# a comment\nd: {e: 3}\n")
    assert document.line(("a", 0, "b")) == 2
    assert document.line(("a", 0, "c")) == 3
    assert document.line(("d", "e")) == 6
    assert document.line(("d", "missing")) == 6
    assert document.line(("nowhere",)) == 1


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("a: [1, 2\n", "line 2"),
        (
            "a: [1]\nb: [mrr, map@[3,7], recall@2]\n",
            "line 2: while parsing a flow sequence expected",
        ),
        ("b: [mrr, map@[3,7], recall@2]\n", 'put the metric in quotation marks: "map@[3,7]"'),
        ("b: [rbp(p=0.5)@[3,7]]\n", 'put the metric in quotation marks: "rbp(p=0.5)@[3,7]"'),
        ("{map@[3,7]: 1%}\n", 'put the metric in quotation marks: "map@[3,7]"'),
        ("a:\n\tb: 1\n", "indent with spaces, not with tabs"),
        ("a: @5\n", "put text with such characters in quotation marks"),
        ("a: b: c\n", "put text with such characters in quotation marks"),
        ("a: &a {<<: *a}\nb: {<<: *a}\n", "a merge key that contains itself"),
        ("- 1\n", "line 1: the file holds no keys"),
        ("", "line 1: the file holds no keys"),
        ("a: &a [*a]\n", "too deeply nested"),
    ],
)
def test_what_is_refused_names_its_line(tmp_path, text, mistake):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert mistake in str(caught.value)


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("a: 1\nb:\n  x: 1\n  x: 2\n", (4, ("b", "x"), "duplicate key")),
        (
            "a: !!python/object/apply:os.system [ls]\n",
            (1, ("a",), "the tag tag:yaml.org,2002:python/object"),
        ),
        ("a: !!set {b, c}\n", (1, ("a",), "the tag")),
        ("a: !!python/name:os.system\n", (1, ("a",), "the tag")),
        ("a: !!binary aGk=\n", (1, ("a",), "the tag")),
        ("b: 1\na: !mine 3\n", (2, ("a",), "the tag !mine is refused")),
        ("? [1, 2]\n: 3\n", (1, (), "a key is not text")),
        ("a: {<<: 5}\n", (1, ("a", "<<"), "a merge key needs a mapping")),
    ],
)
def test_what_is_left_out_is_a_mistake_and_the_rest_is_read(tmp_path, text, mistake):
    document = read(tmp_path, text + "rest: {of: 7}\n")
    ((line, place, what),) = document.mistakes
    assert (line, place, what[: len(mistake[2])]) == mistake
    assert document.values["rest"] == {"of": 7}


def test_merge_keys_add_what_is_not_written(tmp_path):
    document = read(
        tmp_path,
        """\
x-csv: &csv {format: csv, separator: ";"}
x-ids: &ids {<<: *csv, columns: {user: uid}}
first: {<<: *ids, path: a.csv, separator: ","}
second:
  path: b.csv
  <<: [{separator: "|"}, *ids]
""",
    )
    assert document.values == {
        "first": {"path": "a.csv", "separator": ",", "columns": {"user": "uid"}, "format": "csv"},
        "second": {"path": "b.csv", "separator": "|", "columns": {"user": "uid"}, "format": "csv"},
    }
    assert list(document.mistakes) == []
    assert document.line(("second", "columns", "user")) == 2  # where it is written
    assert document.line(("first", "separator")) == 3


def test_only_keys_of_the_file_are_extensions(tmp_path):
    values = read(tmp_path, "x-one: [1]\na: {x-two: 2}\n").values
    assert values == {"a": {"x-two": 2}}


def test_aliases_of_aliases_end(tmp_path):
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(ConfigError, match="this file cannot be read"):
        read(tmp_path, "\n".join(lines))


def test_an_alias_is_the_value_that_it_names(tmp_path):
    document = read(tmp_path, "one: &x {path: a.csv}\ntwo: *x\n")
    assert document.values == {"one": {"path": "a.csv"}, "two": {"path": "a.csv"}}


def test_json_is_yaml(tmp_path):
    assert read(tmp_path, '{"a": [1, true, null]}').values == {"a": [1, True, None]}


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileError, match="there is no such file"):
        read_document(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes("a: ä".encode("latin-1"))
    with pytest.raises(FileError, match="not UTF-8"):
        read_document(tmp_path / "latin.yaml")
    with pytest.raises(FileError, match="this is a folder"):
        read_document(tmp_path)
