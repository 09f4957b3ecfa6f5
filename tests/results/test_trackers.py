"""Results in experiment trackers: MLflow for real, Weights & Biases by a stand-in that records."""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import pytest

import rankwise as rw
from rankwise.errors import ParameterError, UsageError
from rankwise.results import trackers
from rankwise.results.per_user import from_per_user
from rankwise.results.trackers import metric_key

METRICS = ["ndcg@2", "map(normaliser=k)@[1,2]", "mrr", "reo(item_group=kind)@2", "reo@1"]


@pytest.fixture
def result():
    """Return a result with cells, one of whose groups has a strange name, and values of NaN."""
    items = {"item": [1, 2, 3], "kind": ["a", "R&B", "New York"], "group": ["x", "x", "y"]}
    result = rw.evaluate(
        {"ann": [1, 2], "bob": [3, 1]}, {"ann": {2, 3}, "bob": {1}}, METRICS, items=items
    )
    values = type(result.values)(result.values | {"mrr": math.nan})
    object.__setattr__(result, "values", values)
    return result


@contextmanager
def mlflow_in(folder, monkeypatch):
    """Import MLflow, which logs into a folder; only its own warnings are silent."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # mlflow-skinny has no database
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("DO_NOT_TRACK", "true")
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", module=r"(mlflow|pydantic|google|fastapi|starlette)(\.|$)"
        )
        mlflow = pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
        before = mlflow.get_tracking_uri()
        mlflow.set_tracking_uri(folder.as_uri())
        try:
            yield mlflow
        finally:
            mlflow.set_tracking_uri(before)


@pytest.mark.slow
def test_mlflow_starts_and_ends_a_run(result, tmp_path, monkeypatch):
    with mlflow_in(tmp_path / "store", monkeypatch) as mlflow:
        result.log_mlflow()
        assert mlflow.active_run() is None
        (run,) = mlflow.search_runs(output_format="list")
        assert run.info.status == "FINISHED"
        metrics, parameters, tags = run.data.metrics, run.data.params, run.data.tags
        files = mlflow.artifacts.download_artifacts(
            run_id=run.info.run_id, artifact_path="rankwise", dst_path=str(tmp_path / "back")
        )
    counts = {key: metrics.pop(key) for key in list(metrics) if key.startswith("counts/")}
    assert counts == {f"counts/{name}": count for name, count in result.counts.items()}
    assert metrics["ndcg_at_2"] == result["ndcg@2"]
    assert metrics["map normaliser:k_at_1"] == result["map(normaliser=k)@1"]
    assert metrics["reo_at_1.item_group:x"] == result["reo@1[item_group=x]"]
    kind = metrics["reo item_group:kind_at_2.item_group:New York"]
    assert kind == result["reo(item_group=kind)@2[item_group=New York]"]
    assert len([key for key in metrics if "R_B-" in key]) == 1
    missing = [f"{name}: {v}" for name, v in result.values.items() if not math.isfinite(v)]
    assert len(metrics) + len(missing) == len(result)
    assert "mrr: nan" in missing
    assert tags["rankwise.not_logged"] == f"{len(missing)}: {', '.join(missing)}"
    assert tags["rankwise.version"] == rw.__version__
    assert "rankwise.label" not in tags
    settings = result.provenance["settings"]
    assert parameters.keys() == {f"rankwise.{name}" for name in settings}
    assert parameters["rankwise.population"] == "truth"
    assert json.loads(parameters["rankwise.metrics"]) == settings["metrics"]
    assert parameters["rankwise.relevance_threshold"] == "null"
    back = rw.load(files)
    assert back.per_user.equals(result.per_user)
    assert back["ndcg@2"] == result["ndcg@2"]


@pytest.mark.slow
def test_mlflow_logs_into_the_active_run(result, tmp_path, monkeypatch):
    long = {**result.provenance["settings"], "catalogue": "x" * 6001}
    result.provenance["settings"] = long
    with mlflow_in(tmp_path / "store", monkeypatch) as mlflow:
        with mlflow.start_run() as active:
            result.log_mlflow(prefix="test/")
            result.log_mlflow(prefix="again ", artifacts=False)
            assert mlflow.active_run().info.run_id == active.info.run_id
            mlflow.log_metric("after", 1.0)
        run = mlflow.get_run(active.info.run_id)
        client = mlflow.MlflowClient()
        assert [file.path for file in client.list_artifacts(active.info.run_id)] == ["test"]
        saved = client.list_artifacts(active.info.run_id, "test/rankwise")
    assert {file.path.split("-")[0] for file in saved} == {
        "test/rankwise/per_user",
        "test/rankwise/result.json",
    }
    assert run.data.metrics["test/ndcg_at_2"] == run.data.metrics["again ndcg_at_2"]
    assert run.data.metrics["test/counts/users"] == 2
    assert run.data.params["test/rankwise.ties"] == "input"
    assert "test/rankwise.catalogue" not in run.data.params
    assert "rankwise.catalogue: 6,001 characters" in run.data.tags["test/rankwise.not_logged"]


@pytest.mark.slow
def test_mlflow_takes_more_values_than_one_call_does(tmp_path, monkeypatch):
    import polars as pl

    result = from_per_user(
        pl.DataFrame({"user": [1, 2], **{f"own{at}": [0.0, at] for at in range(1100)}})
    )
    with mlflow_in(tmp_path / "store", monkeypatch) as mlflow:
        result.log_mlflow(artifacts=False)
        (run,) = mlflow.search_runs(output_format="list")
    assert run.data.metrics["own1099"] == 549.5
    assert "rankwise.not_logged" not in run.data.tags


class Run(SimpleNamespace):
    """A stand-in for a run of Weights & Biases."""

    def __init__(self, wandb):
        super().__init__(id="r1", config={}, summary={}, artifacts=[], ended=None, wandb=wandb)

    def log_artifact(self, artifact):
        self.artifacts.append(artifact)

    def __enter__(self):
        self.wandb.run = self
        return self

    def __exit__(self, kind, *_):
        self.wandb.run, self.ended = None, 0 if kind is None else 1


class Artifact:
    """A stand-in that reads a folder when it is added, as the library copies it."""

    def __init__(self, name, type):  # noqa: A002
        self.name, self.type, self.folders = name, type, {}

    def add_dir(self, folder, name):
        self.folders[name] = rw.load(folder)


@pytest.fixture
def wandb(monkeypatch):
    fake = ModuleType("wandb")
    fake.run, fake.started, fake.Artifact = None, [], Artifact

    def init():
        fake.started.append(Run(fake))
        return fake.started[-1]

    fake.init = init
    monkeypatch.setitem(sys.modules, "wandb", fake)
    return fake


def test_wandb_starts_and_ends_a_run(result, wandb):
    result.log_wandb()
    (run,) = wandb.started
    assert (run.ended, wandb.run) == (0, None)
    finite = {metric_key(name): v for name, v in result.values.items() if math.isfinite(v)}
    counts = {f"counts/{name}": count for name, count in result.counts.items()}
    assert run.summary == finite | counts
    missing = [f"{name}: {v}" for name, v in result.values.items() if not math.isfinite(v)]
    assert run.config == {
        "rankwise": {
            "settings": result.provenance["settings"],
            "version": rw.__version__,
            "not_logged": missing,
        }
    }
    (artifact,) = run.artifacts
    assert (artifact.name, artifact.type) == ("rankwise-r1", "rankwise-result")
    assert artifact.folders["rankwise"].per_user.equals(result.per_user)


def test_wandb_logs_into_the_active_run(result, wandb):
    wandb.run = run = Run(wandb)
    result.log_wandb(prefix="test/")
    result.log_wandb(prefix="b", artifacts=False)
    assert (wandb.started, wandb.run, run.ended) == ([], run, None)
    assert run.config.keys() == {"test/rankwise", "brankwise"}
    assert run.summary["test/ndcg_at_2"] == run.summary["bndcg_at_2"] == result["ndcg@2"]
    assert [artifact.name for artifact in run.artifacts] == ["test-rankwise-r1"]


def test_wandb_ends_its_run_if_the_result_cannot_be_saved(result, wandb, monkeypatch):
    monkeypatch.setattr(type(result), "save", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        result.log_wandb()
    assert wandb.started[0].ended == 1


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_missing_tracker_is_named(name, result, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=f"log_{name} needs {name}") as raised:
        getattr(result, f"log_{name}")()
    assert raised.value.hint == f"pip install {name}"


@pytest.mark.parametrize("prefix", ["a@", "/a", "ü", "a\n", "a=b", "../a", "a//", "a" * 41])
def test_a_prefix_that_trackers_do_not_take(prefix, result, wandb):
    with pytest.raises(ParameterError, match="prefix takes up to 40 letters"):
        result.log_wandb(prefix=prefix)
    assert wandb.started == []


def test_no_two_values_share_a_key(result, wandb, monkeypatch):
    monkeypatch.setattr(trackers, "metric_key", lambda name: name[:4])
    with pytest.raises(UsageError, match="two values would be logged under one key") as raised:
        result.log_wandb()
    assert raised.value.found == "'map(' for 'map(normaliser=k)@1' and 'map(normaliser=k)@2'"
    assert wandb.started == []


NAMES = [
    "x@1",
    "x_at_1",
    "x(a=1)",
    "x a:1",
    "x(a=1,b=2)",
    "x(a=1 b=2)",
    "x(a=1-b=2)",
    "x@1[a=b]",
    "x@1[a:b]",
    "x@1/a=b",
    "x@1/a:b",
    "x_at_1[a=b]",
    "x@1[a=b,c=d]",
    "x@1[a=b/c=d]",
    "x@1[a=b][c=d]",
    "x[@1]",
    "x@1[a=b c=d]",
    "x[a=1]",
    "x[1]",
    "x@1[a=ü]",
    "x@1[a=ö]",
    "x@1[a=_]",
    'x@1[a=""]',
    'x@1[a="]"]',
    "x@1[a= ]",
    "x@1[a=\n]",
    "x@1[a=/]",
    "x@1[a=../..]",
    "x@1[a=.]",
    "x@1[a=" + "y" * 900 + "]",
    "x@1[a=" + "y" * 901 + "]",
    "x@1[a=\ud800]",
    "x@1[a=1.5]",
    "x@1[a=-1]",
    "x(y(a=1))@1",
    "x(y,a=1)@1",
    "user_coverage_at_n@2",
    "x@1[a=😀]",
    "x()",
    "x",
]


def test_keys_are_different_and_such_as_mlflow_takes():
    keys = [metric_key(name) for name in NAMES]
    assert len(set(keys)) == len(keys)
    for key in keys:
        assert re.fullmatch(r"[A-Za-z0-9_\-.: ]{1,200}", key), key
    assert metric_key("user_coverage_at_n@2") == "user_coverage_at_n_at_2"
    assert metric_key("x@1[a=b,c=d e]") == "x_at_1.a:b c:d e"
