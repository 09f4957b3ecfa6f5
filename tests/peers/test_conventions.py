"""Conventions give the numbers that the libraries themselves printed.

The numbers in ``recorded/`` come from the libraries, run by `compare.py` on the data of
`edge_data`; none is written by hand, and none comes from rankwise.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rankwise as rw

sys.path.insert(0, str(Path(__file__).parent))

import agreement
import compare
import edge_data
import page

from libraries import LIBRARIES


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    edge_data.write_cases(folder / "0", 0)
    return folder


@pytest.fixture(scope="module")
def outputs():
    return compare.recorded()


@pytest.fixture(scope="module")
def outcomes(outputs, cases):
    return compare.outcomes_of(outputs, cases)


@pytest.mark.slow
@pytest.mark.xdist_group("peers")
@pytest.mark.parametrize("name", LIBRARIES)
def test_the_numbers_of_a_library(name, outcomes):
    found = outcomes[name]
    assert [one for one in found if one.verdict == "wrong"] == []
    assert sum(one.verdict == "equal" for one in found) >= 3 or name in ("cornac", "elliot", "ranx")
    assert all(one.why for one in found if one.verdict not in ("equal", "not offered"))


@pytest.mark.slow
@pytest.mark.xdist_group("peers")
def test_the_page_is_what_was_found(outputs, outcomes):
    page = Path(__file__).parents[2] / "docs" / "libraries.md"
    assert page.read_text() == compare.written_page(outputs, outcomes), (
        "python tests/peers/compare.py --page writes it"
    )


def test_every_convention_is_held_against_a_library():
    """All but trec_eval, which is no library, and those whose values lie beside the project.

    test_trec_eval holds trec_eval against its own sample outputs, and
    convention/test_second_stage_libraries the rankers and retrieval tools.
    """
    elsewhere = {"trec_eval", *page.second_stage()}
    assert {library.convention for library in LIBRARIES.values()} == {*rw.conventions()} - elsewhere
    assert len(page.second_stage()) == 11


# What is pinned here is what a library gets wrong by its own documentation, or leaves out in silence:
# numbers that the library printed, and the arithmetic that gives them from rankwise's.


def values(outputs, library, case, name):
    return outputs[library]["values"][f"0/{case}"][name]


def test_a_difference_without_a_reason_is_found(cases, outputs):
    """The comparison can fail: a number that is changed is found."""
    output = {"0/full": {"NDCG@5": values(outputs, "rectools", "full", "NDCG@5") + 1e-6}}
    (found,) = agreement.compare(LIBRARIES["rectools"], output, cases)
    assert found.verdict == "wrong"
    moved = {"0/full": {"NDCG@5": values(outputs, "rectools", "full", "NDCG@5")}}
    assert agreement.compare(LIBRARIES["rectools"], moved, cases)[0].verdict == "equal"
