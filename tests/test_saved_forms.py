"""Whatever an earlier rankwise saved is read with the same numbers, or an error says which rankwise reads it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

import saved_forms
from rankwise.blocks.partial import pack
from rankwise.core import __version__
from rankwise.core.saved_forms import FORMS, RESULT, SPLIT, SavedForm
from rankwise.errors import FileError, RankwiseError
from saved_forms import EXAMPLES, NUMBERS, SAVED, as_text, shape, structure
from tools import TOOLS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "saved_files.md"
LIBRARIES = {"state dict": "torch", "table by bucket": "pyspark", "users of a bucket": "pyspark"}
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support")


def folder_of(form, version=None):
    return SAVED / form.replace(" ", "_") / str(version or FORMS[form].version)


def stored(form):
    return sorted(int(path.name) for path in folder_of(form).parent.iterdir())


def copy_of(form, version, tmp_path):
    """Return a copy of a fixture, for forms that are written to when they are read."""
    return shutil.copytree(folder_of(form, version), tmp_path / "copy")


@pytest.fixture(params=FORMS)
def form(request):
    """The name of each form that can be read on this machine."""
    library = LIBRARIES.get(request.param)
    if library is not None and not TOOLS[library][0]():
        pytest.skip(f"no {library}")
    return request.param


def test_every_form_has_an_example_and_a_fixture_of_its_version():
    assert FORMS.keys() == EXAMPLES.keys()
    assert {path.name for path in SAVED.iterdir()} == {form.replace(" ", "_") for form in FORMS}
    for name, form in FORMS.items():
        assert set(range(form.oldest, form.version + 1)) <= set(stored(name)), (
            "python scripts/make_fixtures.py"
        )
        assert set(stored(name)) <= {*range(form.oldest, form.version + 1), *form.retired}


def test_every_stored_version_gives_its_numbers_or_the_rankwise_that_reads_it(form, tmp_path):
    for version in stored(form):
        folder = copy_of(form, version, tmp_path / str(version))
        if version in FORMS[form].retired:
            with pytest.raises(FileError, match=f"use rankwise {FORMS[form].retired[version]}"):
                EXAMPLES[form].read(folder)
        else:
            numbers = json.loads(as_text(EXAMPLES[form].read(folder)))
            assert_holds(numbers, json.loads((folder / NUMBERS).read_text(encoding="utf-8")))


def assert_holds(numbers, stored):
    """Check that all stored numbers are among those that were read: a newer version may have more columns."""
    if isinstance(stored, dict):
        for name in stored:
            assert_holds(numbers[name], stored[name])
    elif isinstance(stored, list):
        for one, other in zip(numbers, stored, strict=True):
            assert_holds(one, other)
    else:
        assert json.dumps(numbers) == json.dumps(stored)


def test_what_is_written_changes_only_with_the_version(form, tmp_path):
    if form == "table by bucket":
        pytest.skip("tests/spark/test_saved_buckets.py has a session")
    EXAMPLES[form].write(tmp_path)
    said = (
        f"raise the version of {form!r} in core/saved_forms.py, then run scripts/make_fixtures.py"
    )
    assert structure(tmp_path) == structure(folder_of(form)), said


def with_version(form, folder, version):
    """Write another version into a saved example, as another program would."""
    path = folder / EXAMPLES[form].file
    if path.suffix == ".json":
        head = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(head | {FORMS[form].key: version}), encoding="utf-8")
    elif path.suffix == ".yaml":
        text = path.read_text(encoding="utf-8")
        path.write_text(
            re.sub("^version: .*", f"version: {version}", text, flags=re.MULTILINE),
            encoding="utf-8",
        )
    elif path.suffix == ".arrow":
        path.write_bytes(pack(replace(FORMS[form], version=version), None, {}))
    else:
        import torch

        state = torch.load(path, weights_only=True)
        state._metadata[""]["version"] = version
        torch.save(state, path)


def test_a_newer_version_is_refused_and_the_error_says_what_to_use(form, tmp_path):
    version = FORMS[form].version
    folder = copy_of(form, version, tmp_path)
    with_version(form, folder, version + 1)
    with pytest.raises(
        FileError, match=f"this {form} was saved by another version of rankwise"
    ) as caught:
        EXAMPLES[form].read(folder)
    assert caught.value.where
    assert (
        caught.value.found
        == f"{form} version {version + 1}; rankwise {__version__} reads {FORMS[form].readable}"
    )
    assert re.fullmatch(r"use a newer rankwise|use rankwise [\d.]+ or later", caught.value.hint)


def test_a_version_before_the_oldest_is_refused(form, tmp_path):
    folder = copy_of(form, None, tmp_path)
    with_version(form, folder, FORMS[form].oldest - 1)
    with pytest.raises(FileError, match="no release of rankwise wrote this version"):
        EXAMPLES[form].read(folder)


@pytest.mark.parametrize("form", sorted(FORMS.keys() - LIBRARIES.keys()))
def test_a_damaged_file_is_an_error_of_ours(form, tmp_path):
    """A configuration that was cut may be whole again; PyTorch itself reads the file of a state dict."""
    folder = copy_of(form, None, tmp_path)
    path = folder / EXAMPLES[form].file
    half = path.read_bytes()[: path.stat().st_size // 2]
    for damaged in (b"", b"\x00\xff", *([] if form == "configuration" else [half])):
        path.write_bytes(damaged)
        with pytest.raises(RankwiseError):
            EXAMPLES[form].read(folder)


def with_digits_changed(folder, form):
    """Yield after each change of a digit in a file that is protected by a digest."""
    path = folder / EXAMPLES[form].file
    text = path.read_text(encoding="utf-8")
    for at in [found.start() for found in re.finditer(r"(?<=: )\d|(?<=:)\d", text)][:12]:
        digit = str((int(text[at]) + 1) % 10)
        path.write_text(text[:at] + digit + text[at + 1 :], encoding="utf-8")
        yield


@pytest.mark.parametrize("form", ["result", "comparison", "decision", "split"])
def test_a_number_that_was_changed_is_found(form, tmp_path):
    folder = copy_of(form, None, tmp_path)
    for _ in with_digits_changed(folder, form):
        with pytest.raises(FileError, match=r"was changed|another version"):
            EXAMPLES[form].read(folder)


def test_upgrades_run_one_after_the_other():
    form = SavedForm(
        "list",
        "write",
        "files",
        3,
        upgrades=(lambda old: {**old, "k": 10}, lambda old: {**old, "k": [old["k"]]}),
    )
    assert form.upgrade({"version": 1}) == {"version": 1, "k": [10]}
    assert form.upgrade({"version": 2, "k": 5}) == {"version": 2, "k": [5]}
    assert form.upgrade({"version": 3, "k": [7]}) == {"version": 3, "k": [7]}


def test_a_retired_version_names_the_release_that_reads_it():
    form = replace(RESULT, version=9, upgrades=(), retired={7: "1.4.2"})
    with pytest.raises(FileError, match=r"use rankwise 1\.4\.2") as caught:
        form.check(7, "result.json")
    assert caught.value.found == f"result version 7; rankwise {__version__} reads 9"


@pytest.mark.parametrize("version", [True, "4", 4.0, None, [4], {}])
def test_what_is_no_version_is_refused(version):
    with pytest.raises(FileError, match="another version of rankwise"):
        RESULT.check(version, "result.json")


def test_the_error_names_the_rankwise_that_wrote_the_file():
    with pytest.raises(FileError, match=r"use rankwise 3\.1 or later"):
        SPLIT.check(SPLIT.version + 1, "split.json", written_by="3.1")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1}, {"c": 1}]}),
        ({"a": None}, {"a": {}}),
    ],
)
def test_the_structure_tells_keys_and_types(before, after):
    assert shape(before) != shape(after)
    assert shape(before) == shape(json.loads(json.dumps(before)))


@pytest.mark.slow
def test_a_stored_version_is_never_written_again(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "make_fixtures.py", "partial"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "is stored already: raise the version of 'partial'" in done.stderr


def test_fixtures_are_small():
    assert sum(path.stat().st_size for path in SAVED.rglob("*") if path.is_file()) < 350_000


def test_the_page_lists_every_form_and_its_versions():
    """Forms with the same files and versions share a row."""
    head = ["| saved form | written by | files | version | reads |", "|---|---|---|--:|--:|"]
    same = defaultdict(list)
    for form in FORMS.values():
        same[form.files, form.version, form.readable].append(form)
    rows = [
        f"| {', '.join(form.name for form in forms)} "
        f"| {', '.join(f'`{form.writer}`' for form in forms)} | {files} | {version} | {readable} |"
        for (files, version, readable), forms in same.items()
    ]
    table = "\n".join([*head, *rows])
    assert table in PAGE.read_text(encoding="utf-8"), table


def test_examples_need_no_logarithm():
    """Their numbers are compared bit by bit on machines with other libraries of mathematics."""
    assert not {"ndcg", "novelty"} & {metric.split("@")[0] for metric in saved_forms.METRICS}
