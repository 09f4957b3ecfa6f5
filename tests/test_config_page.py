"""The page about configuration files: every file on it runs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from command_line import rankwise_here
from rankwise.experiments.experiment import read_experiment

DOCS = Path(__file__).parents[1] / "docs"
CONFIGS = re.findall(r"```yaml\n(.*?)```", (DOCS / "config.md").read_text("utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def folder(saved_demo, tmp_path_factory):
    return shutil.copytree(saved_demo[0], tmp_path_factory.mktemp("config") / "demo")


@pytest.mark.slow
@pytest.mark.xdist_group("demo")
@pytest.mark.parametrize("number", range(len(CONFIGS)))
def test_every_configuration_of_the_page_runs(folder, number):
    path = folder / f"config-{number}.yaml"
    path.write_text(CONFIGS[number].replace("report: true", "report: false"))
    done = rankwise_here(folder, "run", path.name)
    assert done.returncode == 0, done.stderr
    out = folder / read_experiment(path).config.output.folder
    assert (out / "comparison.json").is_file()


def test_the_page_names_every_section():
    page = (DOCS / "config.md").read_text("utf-8").split("## Sections")[1]
    schema = json.loads((DOCS / "config.schema.json").read_text("utf-8"))
    missing = [name for name in schema["properties"] if f"`{name}`" not in page]
    assert missing == ["version"]
