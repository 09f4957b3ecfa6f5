"""The documentation builds without a warning, with a page and a formula for every metric."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rankwise.metrics import registry

DOCS = Path(__file__).parents[1] / "docs"
WITHOUT_PAGES_OF_CODE = f"""
import sys

sys.path.insert(0, {str(DOCS)!r})
import conf

conf._write = lambda app: None
from conf import *

html_static_path = [{str(DOCS / "static")!r}]
"""
"""The configuration of the documentation, for pages that need none that are written from the source."""


def sphinx_build(source, target, *, theme=None, configuration=DOCS, **environment):
    """Build pages with the configuration of the documentation, and raise if anything is warned of."""
    options = ["-q", "-W", "-b", "html", "-c", configuration, "-d", target.with_suffix(".trees")]
    options += ["-D", f"html_theme={theme}"] if theme else []
    kept = {name: value for name, value in os.environ.items() if name != "GITHUB_REPOSITORY"}
    command = [sys.executable, "-m", "sphinx", *options, source, target]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=kept | environment
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_documentation_builds(tmp_path):
    pytest.importorskip("sphinx")
    sphinx_build(
        DOCS, tmp_path / "html", theme="basic"
    )  # the navigation of the other theme takes half of the time
    for name in registry.names():
        page = (tmp_path / "html" / "metrics" / f"{name}.html").read_text()
        assert "<math" in page, name
    index = (tmp_path / "html" / "metrics" / "index.html").read_text()
    assert all(f'href="{name}.html"' in index for name in registry.names())


@pytest.mark.slow
def test_the_theme_has_a_link_to_the_source(tmp_path):
    pytest.importorskip("furo")
    (tmp_path / "index.md").write_text("# Title\n\nA page with $x^2$.\n")
    (tmp_path / "conf.py").write_text(WITHOUT_PAGES_OF_CODE)
    sphinx_build(
        tmp_path, tmp_path / "html", configuration=tmp_path, GITHUB_REPOSITORY="someone/rankwise"
    )
    page = (tmp_path / "html" / "index.html").read_text()
    assert "https://github.com/someone/rankwise/blob/main/docs/index.md" in page
    assert "<math" in page


def test_the_page_that_helps_to_choose_names_every_metric_that_exists():
    text = (DOCS / "choosing.md").read_text()
    words = {re.split(r"[@(=,]", word)[0] for word in re.findall(r"`([a-z_0-9]+[^`]*)`", text)}
    named = {word for word in words if "." not in word}  # the others are names of Python
    known = set(registry.names())
    parameters = {"by"}
    assert not [name for name in named - parameters if not registry.knows(name)]
    missing = known - named
    # A metric with its plain definition beside it is new: advice comes with use.
    missing -= {
        cls.name
        for cls in registry.all_metrics()
        if cls.plain and cls.plain.__module__ == cls.__module__
    }
    # Those that are spelled variants of others, or counts that need no advice.
    assert missing <= {
        "f",
        "cg",
        "dcg",
        "ndcg_binary",
        "mar",
        "r_precision",
        "rbp",
        "err",
        "tp",
        "fp",
        "fn",
        "tn",
        "mse",
        "r2",
        "explained_variance",
        "log_loss",
        "fcp",
        "num_retrieved",
        "user_coverage",
        "user_coverage_at_n",
        "ips_dcg",
        "snips_dcg",
        "bias_disparity_source",
        "bias_disparity_recommendation",
        "user_mad_rating",
        "mean_score",
        "overlap",
        "num_users",
        "num_relevant",
        "num_judged_irrelevant",
        "utility",
        "logit_average_precision",
        "normalised_gain",
        "ndcg_at_relevant",
        "ndcg_at_levels",
    }
