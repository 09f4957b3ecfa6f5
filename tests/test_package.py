"""The public face: what it exports, and what importing it costs."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import rankwise as rw
from rankwise import metrics
from rankwise.metrics import registry


def test_all_is_exact():
    assert set(rw.__all__) <= set(dir(rw))
    for name in dir(rw):
        assert getattr(rw, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nDCG'"):
        _ = rw.nDCG


def test_functions_come_first_then_classes_then_packages():
    kinds = [
        2 if inspect.ismodule(value) else int(isinstance(value, type))
        for name in rw.__all__
        if not isinstance(value := getattr(rw, name), str)
    ]
    assert kinds == sorted(kinds)
    assert len(dir(rw)) <= 59


def test_metrics_are_listed_once():
    """By `rankwise.metrics`; as attributes of rankwise they are the same classes."""
    classes = {
        cls.__name__: cls
        for cls in registry.all_metrics()
        if cls.__module__.startswith("rankwise.")
    }
    short = {"AP", "F1", "HR", "ILD", "MAP", "MRR", "RR"}
    assert {
        name for name in dir(metrics) if is_metric(getattr(metrics, name))
    } == classes.keys() | short
    assert not (classes.keys() | short) & {*dir(rw)}
    for name, cls in classes.items():
        assert getattr(rw, name) is getattr(metrics, name) is cls


def is_metric(value):
    return isinstance(value, type) and issubclass(value, metrics.Metric) and "name" in vars(value)


def test_metrics_list_what_authors_need():
    assert dir(metrics) == sorted(metrics.__all__)
    assert {"metric", "preset", "PerUser", "HitCount", "POPULARITY"} <= {*dir(metrics)}
    assert not {"registry", "kinds", "import_module"} & {*dir(metrics)}
    with pytest.raises(AttributeError, match=r"'rankwise\.metrics' has no attribute 'ndcg'"):
        _ = metrics.ndcg


def test_importing_metrics_loads_no_family():
    code = (
        "import sys, rankwise.metrics; from rankwise.metrics import registry; registry.find('ndcg'); "
        "print([m for m in ('coverage', 'diversity', 'popularity') if f'rankwise.metrics.{m}' in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_importing_loads_nothing_heavy():
    code = "import sys, rankwise; print([m for m in ('numpy', 'polars', 'scipy', 'torch', 'rich') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_help_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from rankwise.cli.main import _run\n"
        "_run(['--help'])\n"
        "print([m for m in ('numpy', 'polars', 'scipy', 'torch', 'rich') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip().endswith("[]")


@pytest.mark.slow
def test_evaluating_loads_neither_torch_nor_pandas():
    code = (
        "import sys, rankwise as rw; rw.evaluate({1: [2]}, {1: {2}}, 'ndcg@1'); "
        "print([m for m in ('torch', 'pandas', 'pyarrow', 'scipy.stats') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_type_checkers_read_the_annotations():
    """Those of an installed package, where this file lies beside it; typed/code_of_others.py has names that are not there."""
    assert Path(rw.__file__).with_name("py.typed").is_file()


def test_pyright_sees_every_export(tmp_path):
    """Pyright takes as exported what is imported under its name; mypy is less strict."""
    pytest.importorskip("pyright", reason="pyright is not installed")
    names = [*sorted(rw.__all__), "NDCG", "Recall", "MAP"]
    (tmp_path / "code.py").write_text(
        "import rankwise as rw\n" + "\n".join(f"rw.{name}" for name in names) + "\nrw.evalute\n"
    )
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "code.py"]
    found = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path
    ).stdout
    lines = [line for line in found.splitlines() if " error: " in line]
    assert len(lines) == 1, found
    assert "evalute" in lines[0]


@pytest.mark.parametrize("name", ["AP", "MAP", "MRR", "RR", "HR", "F1", "ILD"])
def test_names_in_capitals_are_those_of_text(name):
    assert getattr(rw, name) is type(rw.parse(name))


def test_a_name_that_is_not_there_has_a_hint():
    with pytest.raises(AttributeError, match="did you mean 'evaluate'"):
        _ = rw.evalute
