"""What the workflows of the forge promise; they themselves run nowhere but there."""

from __future__ import annotations

import re
import tomllib

import pytest

from tools import ROOT

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

WORKFLOWS = {
    path.name: path.read_text(encoding="utf-8")
    for path in (ROOT / ".github/workflows").glob("*.yml")
}
JOBS = {
    f"{file}: {name}": job
    for file, text in WORKFLOWS.items()
    for name, job in yaml.safe_load(text)["jobs"].items()
}
STEPS = [(where, step) for where, job in JOBS.items() for step in job["steps"]]
PLATFORMS = {
    "ubuntu-24.04",
    "ubuntu-24.04-arm",
    "macos-15",
    "macos-15-intel",
    "windows-2022",
    "windows-11-arm",
}
PUBLISHING = ("actions/attest", "pypa/gh-action-pypi-publish", "gh release")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def matrix(name: str, axis: str) -> list[str]:
    return JOBS[name]["strategy"]["matrix"][axis]


def test_actions_are_pinned_by_digest():
    uses = re.findall(r"uses: (.*)", "\n".join(WORKFLOWS.values()))
    assert uses
    for action in uses:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    assert len({*uses}) == len({action.partition("@")[0] for action in uses})  # one version of each


def test_images_have_a_version():
    """An image that a name such as ubuntu-latest stands for changes without a commit."""
    for where, job in JOBS.items():
        image = job["runs-on"]
        assert {*(matrix(where, "os") if image == "${{ matrix.os }}" else [image])} <= PLATFORMS, (
            where
        )
        assert job["timeout-minutes"] <= 60


def test_tokens_may_read_and_no_more():
    for file, text in WORKFLOWS.items():
        assert yaml.safe_load(text)["permissions"] == {"contents": "read"}, file
    for where, step in STEPS:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"] == {"persist-credentials": False}, where
            assert "permissions" not in JOBS[where], (
                where
            )  # what can write runs no code of a branch


def test_pythons_are_those_of_the_classifiers():
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert matrix("tests.yml: pythons", "python") == versions
    assert matrix("release.yml: install", "python") == versions
    assert PROJECT["requires-python"] == f">={versions[0]}"
    installation = (ROOT / "docs/installation.md").read_text(encoding="utf-8")
    assert f"Python {versions[0]} to {versions[-1]}" in installation


def test_free_threaded_python_is_tried_and_not_claimed():
    assert "3.14t" in WORKFLOWS["tests.yml"]
    assert JOBS["tests.yml: free-threaded"]["continue-on-error"] is True
    assert not any("Free Threading" in classifier for classifier in PROJECT["classifiers"])


def test_every_platform_has_a_wheel_that_is_installed_and_tested():
    assert (
        {*matrix("release.yml: wheels", "os")}
        == {*matrix("release.yml: install", "os")}
        == PLATFORMS
    )
    (build,) = (step for where, step in STEPS if "cibuildwheel" in step.get("uses", ""))
    assert "CIBW_SKIP" not in build["env"]  # musllinux is built
    assert build["env"]["CIBW_TEST_COMMAND"].endswith("tests/installed/check_numbers.py compiled")
    for name in ("CIBW_ENVIRONMENT", "CIBW_ENVIRONMENT_WINDOWS"):
        assert "RANKWISE_KERNELS=require" in build["env"][name]
    checks = [
        step["run"] for where, step in STEPS if where == "release.yml: install" and "run" in step
    ]
    expected = {
        "--find-links dist rankwise": "compiled",
        "none-any.whl": "numpy",
        ".tar.gz": "compiled",
    }
    for text, (what, backend) in zip(checks, expected.items(), strict=True):
        assert what in text
        assert text.endswith(f"python tests/installed/check_numbers.py {backend}\n")


def test_only_a_tag_publishes():
    """A run that was started by hand builds and tests the same, and leaves nothing outside."""
    assert {*yaml.safe_load(WORKFLOWS["release.yml"])[True]} == {
        "push",
        "workflow_dispatch",
    }  # YAML reads "on" as true
    publishing = {where for where, step in STEPS if any(word in str(step) for word in PUBLISHING)}
    assert publishing == {"release.yml: publish", "release.yml: notes"}
    for where in publishing:
        assert JOBS[where]["if"] == "github.event_name == 'push'"
    assert JOBS["release.yml: publish"]["needs"] == "install"
    assert JOBS["release.yml: install"]["needs"] == ["wheels", "source"]
    assert JOBS["release.yml: notes"]["needs"] == "publish"


def test_files_that_workflows_name_exist():
    commands = "\n".join(str({**step.get("env", {}), "run": step.get("run")}) for _, step in STEPS)
    paths = {*re.findall(r"\b(?:tests|scripts|src|\.ci|docs)/[\w./-]*\w", commands)}
    assert len(paths) > 5
    for path in paths:
        assert (ROOT / path).exists(), path


def test_dependabot_looks_after_actions_and_packages():
    updates = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text(encoding="utf-8"))[
        "updates"
    ]
    assert {update["package-ecosystem"] for update in updates} == {"github-actions", "pip"}
