"""What the workflows of the forge promise, and what the steps of the action do, which run here in bash."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib

import pytest

from command_line import rankwise_here
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


def lowest_versions(requirements: list[str]) -> dict[str, str]:
    """Return the lower bound of each requirement by package, without requirements of extras."""
    bounds = (re.match(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", text) for text in requirements)
    return {bound[1]: bound[2] for bound in bounds if bound}


def test_lowest_versions_are_those_of_the_project():
    """Every night runs with them; the versions of PyTorch and of tools are in constraints.txt."""
    extras = PROJECT["optional-dependencies"]
    lowest = lowest_versions(PROJECT["dependencies"])
    for extra in extras.keys() - {"all", "dev"}:
        lowest |= lowest_versions(extras[extra])
    del lowest["torch"]
    lowest["pandas"] = lowest_versions(extras["dev"])["pandas"]
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    assert dict(line.split("==") for line in lines if not line.startswith("#")) == lowest

    install, run, on_spark = (
        step["run"] for where, step in STEPS if where == "nightly.yml: lowest" and "run" in step
    )
    assert install.endswith("-c constraints.txt -c constraints-lowest.txt")
    assert '-m "not slow and not deep"' in run
    assert on_spark.endswith("tests/spark")
    for extra in extras.keys() - {"all", "dev", "plot"}:  # which report has
        assert extra in install


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


ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
ACTION_STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")


@pytest.fixture(scope="module")
def saved_results(tmp_path_factory):
    """A folder with a baseline, systems that ship, stop and hold, and lists to evaluate."""
    folder = tmp_path_factory.mktemp("results")
    truth = {user: {1, 2} for user in range(120)}
    rows = [f"{user},{item}" for user, items in truth.items() for item in items]
    (folder / "truth.csv").write_text("user,item\n" + "\n".join(rows))
    for name, hits in {"old": 0, "better": 90, "worse": -90, "same": 1}.items():
        moved = [1, 2] if hits > 0 else [3, 4]
        lists = {user: moved if user < abs(hits) else [1, 3] for user in truth}
        rows = [
            f"{user},{item},{rank}"
            for user, items in lists.items()
            for rank, item in enumerate(items, 1)
        ]
        (folder / f"{name}.csv").write_text("user,item,rank\n" + "\n".join(rows))
        options = ["-m", "recall@2", "-m", "mrr@2", "--save", name]
        assert not rankwise_here(
            folder, "evaluate", f"{name}.csv", "truth.csv", *options
        ).returncode
    return folder


class Runner:
    """A forge that runs steps of the action in bash, as it runs them."""

    def __init__(self, temporary, folder):
        self.temporary, self.folder = temporary, folder
        self.bin = temporary / "bin"
        self.bin.mkdir()
        self.program("rankwise", f'exec "{sys.executable}" -m rankwise "$@"')
        self.outputs = {"install": {"rankwise": str(self.bin / "rankwise")}}

    def program(self, name, script):
        """Put a program on the path."""
        (self.bin / name).write_text(f"#!/bin/bash\n{script}\n")
        (self.bin / name).chmod(0o755)

    def file(self, name):
        return self.temporary / name

    def run(self, name, **inputs):
        """Run a step with inputs, and keep its outputs."""
        step = ACTION_STEPS[name]
        known = {key: value.get("default", "") for key, value in ACTION["inputs"].items()}
        known |= {key.replace("_", "-"): value for key, value in inputs.items()}
        assert {*known} == {*ACTION["inputs"]}

        def value(expression):
            scope, _, rest = expression.partition(".")
            if scope == "inputs":
                return known[rest]
            if scope == "steps":
                step_id, _, key = rest.partition(".outputs.")
                return self.outputs[step_id][key]
            return {"github.event.pull_request.number": "7", "github.token": "t"}[expression]

        variables = {
            key: EXPRESSION.sub(lambda found: value(found[1]), text)
            for key, text in step.get("env", {}).items()
        }
        output = self.file("output")
        output.write_text("")
        script = self.file("script.sh")
        script.write_text(step["run"])
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=self.folder,
            env={
                **os.environ,
                "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
                "RUNNER_TEMP": str(self.temporary),
                "GITHUB_ACTION_PATH": str(ROOT),
                "GITHUB_STEP_SUMMARY": str(self.file("step-summary.md")),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_REPOSITORY": "someone/shop",
                "GITHUB_WORKFLOW": "gate",
                "GITHUB_JOB": "decide",
                "GITHUB_ACTION": "__rankwise",
                **variables,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if "id" in step:
            lines = output.read_text().splitlines()
            self.outputs[step["id"]] = dict(line.split("=", 1) for line in lines)
        return done


@pytest.fixture
def runner(tmp_path, saved_results):
    return Runner(tmp_path, saved_results)


def decided(runner, system, **inputs):
    given = {"baseline": "old", "success": "recall@2", "record": str(runner.file("d.json"))}
    return runner.run("Decide", system=system, **given | inputs)


def test_no_text_of_an_input_becomes_a_part_of_a_script():
    for name, step in ACTION_STEPS.items():
        assert "${{" not in step["run"], name
        assert step["shell"] == "bash"


def test_every_input_of_the_action_is_used_and_described():
    used = re.findall(r"inputs\.([\w-]+)", str(ACTION["runs"]))
    assert {*used} == {*ACTION["inputs"]}
    for name, given in ACTION["inputs"].items():
        assert given["description"].endswith("."), name
        assert given.get("required") or isinstance(given["default"], str), name


def test_outputs_of_the_action_are_written_by_its_steps(runner):
    decided(runner, "better")
    named = {EXPRESSION.fullmatch(each["value"])[1] for each in ACTION["outputs"].values()}
    assert named == {f"steps.decide.outputs.{key}" for key in runner.outputs["decide"]}


@pytest.mark.parametrize(
    ("system", "verdict", "code"),
    [("better", "ship", 0), ("worse", "stop", 1), ("same", "hold", 5), ("nothing", "error", 3)],
)
def test_the_action_decides_and_ends_with_the_code(runner, system, verdict, code):
    done = decided(runner, system)
    assert done.returncode == 0, done.stderr
    written = runner.outputs["decide"]
    assert (written["verdict"], written["exit-code"]) == (verdict, str(code))
    assert runner.file("step-summary.md").exists() is (verdict != "error")
    assert runner.file("d.json").exists() is (verdict != "error")
    assert runner.run("Hold or stop").returncode == code
    assert runner.run("Hold or stop", not_shown="pass").returncode == (0 if code == 5 else code)


def test_the_action_appends_to_the_summary_of_the_step(runner):
    runner.file("step-summary.md").write_text("before\n")
    decided(runner, "better", guardrails="mrr@2=20%\n\nrecall@2=0.3\n", arguments="--alpha=0.1")
    text = runner.file("step-summary.md").read_text()
    assert text.startswith("before\n**SHIP** ")
    assert "may lose less than 20 %" in text
    assert "90 %" in text


HOSTILE = "\"; touch hit; $(touch hit) `touch hit` '; touch hit; '"


@pytest.mark.parametrize("name", ["system", "baseline", "success", "guardrails", "arguments"])
def test_hostile_inputs_are_text(runner, saved_results, name):
    good = {"system": "better", "baseline": "old", "success": "recall@2"}
    runner.run("Decide", **good | {"record": str(runner.file("d.json")), name: HOSTILE})
    assert runner.outputs["decide"]["verdict"] == "error"
    assert not (saved_results / "hit").exists()


def test_hostile_lists_are_text(runner, saved_results):
    names = ("lists", "truth", "metrics", "evaluate_arguments", "system", "success")
    assert runner.run("Evaluate", **dict.fromkeys(names, HOSTILE)).returncode != 0
    assert not (saved_results / "hit").exists()


def test_the_action_evaluates_the_metrics_of_the_decision(runner):
    system = str(runner.file("evaluated"))
    inputs = {"lists": "better.csv", "truth": "truth.csv", "guardrails": "mrr@2=20%"}
    done = runner.run(
        "Evaluate", system=system, success="recall@2\nrecall@1", evaluate_arguments="-q", **inputs
    )
    assert done.returncode == 0, done.stderr
    written = (runner.file("evaluated") / "result.json").read_text()
    assert all(name in written for name in ("recall@2", "recall@1", "mrr@2"))
    decided(runner, system, guardrails="mrr@2=20%")
    assert runner.outputs["decide"]["verdict"] == "ship"


GH = """
printf '%s\\n' "$*" >> "$RUNNER_TEMP/calls"
if [[ "$*" == *--paginate* ]]; then printf '%s' "$(cat "$RUNNER_TEMP/id" 2>/dev/null)"; fi
exit "$(cat "$RUNNER_TEMP/code" 2>/dev/null || echo 0)"
"""


def test_the_action_comments_once_and_then_changes_its_comment(runner):
    runner.program("gh", GH)
    decided(runner, "better")
    assert runner.run("Comment").returncode == 0
    body = runner.file("rankwise-comment.md").read_text()
    mark, first = body.splitlines()[:2]
    assert re.fullmatch(r"<!-- rankwise \d+ -->", mark)
    assert first.startswith("**SHIP** ")
    asked, posted = runner.file("calls").read_text().splitlines()
    assert "--paginate repos/someone/shop/issues/7/comments" in asked
    assert mark in asked
    assert "--method POST repos/someone/shop/issues/7/comments --field body=@" in posted

    runner.file("id").write_text("41\n")
    assert runner.run("Comment").returncode == 0
    changed = runner.file("calls").read_text().splitlines()[-1]
    assert "--method PATCH repos/someone/shop/issues/comments/41 --field body=@" in changed


def test_a_comment_that_is_not_allowed_is_a_warning(runner):
    runner.program("gh", GH)
    runner.file("code").write_text("1")
    decided(runner, "worse")
    done = runner.run("Comment")
    assert done.returncode == 0
    assert "::warning::" in done.stdout


def test_the_action_installs_the_rankwise_of_its_own_checkout(runner):
    """A fake Python makes the environment: installing it all takes a minute."""
    made = runner.temporary / "rankwise" / "bin"
    runner.program(
        "python3",
        f'mkdir -p "{made}"; printf \'#!/bin/bash\\necho "$@" > "$RUNNER_TEMP/pip"\' > "{made}/python"; '
        f'chmod +x "{made}/python"',
    )
    assert runner.run("Install").returncode == 0
    assert runner.file("pip").read_text() == f"-m pip install --quiet {ROOT}\n"
    assert runner.outputs["install"] == {"rankwise": str(made / "rankwise")}


def test_the_page_of_gates_uses_inputs_that_there_are():
    page = (ROOT / "docs/gates.md").read_text(encoding="utf-8")
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    steps = [
        step
        for block in blocks
        if "jobs" in block
        for job in block["jobs"].values()
        for step in job["steps"]
    ]
    (step,) = (step for step in steps if "/rankwise@" in step.get("uses", ""))
    assert {*step["with"]} <= {*ACTION["inputs"]}
    assert {name for name, given in ACTION["inputs"].items() if given.get("required")} <= {
        *step["with"]
    }
