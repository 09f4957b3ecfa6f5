"""The documentation builds without a warning, with a page and a formula for every metric."""

from __future__ import annotations

import json
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


SEARCHES = {
    "statistical significance": "compare statistics",
    "p value": "compare statistics",
    "multiple testing": "compare statistics",
    "bootstrap": "compare statistics",
    "wilcoxon": "statistics",
    "sample size": "sample_size",
    "power analysis": "sample_size",
    "non-inferiority": "decisions",
    "continuous integration": "decisions gates",
    "exit code": "decisions gates",
    "train test split": "splits",
    "temporal split": "splits",
    "k-fold cross validation": "splits",
    "leave one out": "splits",
    "hyperparameter": "splits",
    "data leakage": "audit",
    "cold start": "slices",
    "fairness": "slices",
    "popularity bias": "slices",
    "negative sampling": "sampled",
    "counterfactual evaluation": "off_policy",
    "inverse propensity": "off_policy metrics/ips",
    "bandit": "off_policy",
    "implicit feedback": "tables",
    "csv": "tables",
    "pandas": "tables",
    "different numbers": "conventions",
    "hit ratio": "metrics/hit_rate",
    "mean reciprocal rank": "metrics/mrr",
    "normalized discounted cumulative gain": "metrics/ndcg",
    "average precision": "metrics/map",
    "latex table": "papers",
    "embeddings": "sources",
}
"""What newcomers type into the search, and the pages that answer it."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build all pages, for a deep check; the workflow docs builds them for each change, too."""
    pytest.importorskip("sphinx")
    folder = tmp_path_factory.mktemp("site") / "html"
    # the navigation of the usual theme takes half of the time
    sphinx_build(DOCS, folder, theme="basic")
    return folder


@pytest.mark.deep
@pytest.mark.xdist_group("site")
def test_the_documentation_builds(site):
    for name in registry.names():
        page = (site / "metrics" / f"{name}.html").read_text()
        assert "<math" in page, name
    index = (site / "metrics" / "index.html").read_text()
    assert all(f'href="{name}.html"' in index for name in registry.names())


@pytest.mark.deep
@pytest.mark.xdist_group("site")
def test_a_search_finds_the_page_that_answers_it(site):
    """Among the first three, as the script of the search orders them, for 30 of 33 searches."""
    index = json.loads((site / "searchindex.js").read_text()[len("Search.setIndex(") : -1])
    first = {query: found_pages(index, query)[:3] for query in SEARCHES}
    missed = [
        f"{query}: {first[query]}"
        for query, right in SEARCHES.items()
        if not {*first[query]} & {*right.split()}
    ]
    assert len(missed) <= 3, "\n".join(missed)


@pytest.mark.deep
@pytest.mark.xdist_group("site")
def test_code_has_a_copy_button_and_output_has_none(site):
    page = (site / "compare.html").read_text("utf-8")
    assert "copybutton.js" in page
    script = (site / "_static" / "copybutton.js").read_text("utf-8")
    assert "div:not(.highlight-text) > div.highlight > pre" in script
    assert 'class="highlight-text notranslate"' in page
    assert "http" not in re.sub(
        r"http://www.w3.org\S*|https?://\S*(?:LICENSE|license)\S*", "", script
    )


def found_pages(index, query):
    """Return pages in the order of Sphinx's searchtools.js: titles, entries and objects, then words."""
    from sphinx.search.en import SearchEnglish

    language, scores = SearchEnglish({}), {}
    pattern = re.search(r"lookedUp:\s*/(.*)/,", (DOCS / "search_scorer.js").read_text())[1]
    looked_up = re.compile(pattern.replace(r"\/", "/"))

    def add(page, score, *, is_object=False):
        if not is_object and looked_up.match(index["docnames"][page]):
            score -= 4
        scores[page] = max(scores.get(page, -9), score)

    whole = query.lower()
    for title, places in index["alltitles"].items():
        if whole in title.lower() and len(whole) >= len(title) / 2:
            for page, _ in places:
                add(page, round(15 * len(whole) / len(title)) + (index["titles"][page] == title))
    for entry, places in index["indexentries"].items():
        if whole in entry and len(whole) >= len(entry) / 2:
            for page, *_ in places:
                add(page, round(100 * len(whole) / len(entry)))
    typed = [word for word in re.split(r"\W+", whole) if word]
    for prefix, objects in index["objects"].items():
        for page, _, priority, _, name in objects:
            last = name.lower().split(".")[-1]
            text = f"{prefix} {name} {index['titles'][page]}".lower()
            if any(word in last for word in typed) and all(word in text for word in typed):
                exact = any(word == last for word in typed)
                add(
                    page,
                    (11 if exact else 6) + {0: 15, 1: 5, 2: -5}.get(priority, 0),
                    is_object=True,
                )
    words = {language.stem(word) for word in typed if word not in language.stopwords}
    by_word = [word_scores(index, word) for word in words if not word.isdigit()]
    for page in set.intersection(*map(set, by_word)) if by_word else ():
        add(page, max(found[page] for found in by_word))
    ordered = sorted(scores, key=lambda page: (-scores[page], index["titles"][page].lower()))
    return [index["docnames"][page] for page in ordered]


def word_scores(index, word):
    """Return the score of each page for a word: in its text 5, in a title 15, or for a part 2 and 7."""
    found = {}
    for table, whole, part in (("terms", 5, 2), ("titleterms", 15, 7)):
        exact = word in index[table]
        keys = [word] if exact else [key for key in index[table] if len(word) > 2 and word in key]
        for key in keys:
            pages = index[table][key]
            for page in [pages] if isinstance(pages, int) else pages:
                found[page] = max(found.get(page, 0), whole if exact else part)
    return found


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
