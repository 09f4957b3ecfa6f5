"""The notebooks run as a reader runs them, show what they promise, and are stored without outputs."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import nbformat
import pytest
from nbclient import NotebookClient

from tools import deep

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
NAMES = ["embeddings_to_report", "evaluate_and_compare", "splits_and_leakage"]
CLAIMS = {
    "embeddings_to_report": """
        assert page.missing == {}
        with open("report.html", encoding="utf-8") as file:
            assert file.read() == page.html
        ndcg = comparison.table.filter(primary=True)
        assert dict(ndcg.select("system", "verdict").rows()) == {
            "neighbours": "better", "factors": "better",
        }
    """,
    "evaluate_and_compare": """
        assert result.per_user["ndcg@10"].median() == 0  # many users have no hit
        ndcg = comparison.table.filter(primary=True)
        assert dict(ndcg.select("system", "verdict").rows()) == {
            "random": "worse", "neighbours": "better",
        }
    """,
    "splits_and_leakage": """
        status = {
            name: [audit[code].status for code in ("L3", "L7", "L8", "L10", "L11")]
            for name, audit in audits.items()
        }
        assert status == {
            "random": ["warn", "warn", "warn", "pass", "pass"],
            "by time": ["pass", "pass", "pass", "warn", "warn"],
        }
        assert on_leaking.table["verdict"].to_list() == ["worse"]  # the ranking flips
        assert on_leak_free.table["verdict"].to_list() == ["better"]
        assert round(audits["by time"]["L11"].value, 1) == 0.2  # a fifth is of cold-start items
        cold = warm_and_cold.slices.filter(pl.col("group") == "cold")
        assert cold["ndcg@10"].to_list() == [0.0]
        assert popular["ndcg@10"] > 0
        assert len(neighbours(new_users)) == 0
    """,
}
"""What the text of a notebook says, in terms of its variables."""


def read(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def test_the_notebooks_are_those_tested_here():
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == NAMES == sorted(CLAIMS)


@pytest.mark.parametrize("name", NAMES)
def test_stored_without_outputs(name):
    book = read(name)
    nbformat.validate(book)
    assert (book.nbformat, book.nbformat_minor) == (4, 5)
    assert [cell.id for cell in book.cells] == [
        f"cell-{number:02d}" for number in range(1, len(book.cells) + 1)
    ]
    assert all(cell.metadata == {} for cell in book.cells)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in code] == [([], None)] * len(code)
    assert set(book.metadata) == {"kernelspec", "language_info"}
    assert book.metadata.kernelspec.name == "python3"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["evaluate_and_compare", *deep("embeddings_to_report", "splits_and_leakage")]
)
def test_runs_from_start_to_end(name, tmp_path, monkeypatch):
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))  # not those of the user
    book = read(name)
    # A browser would draw the charts, with a library from the network: here they are drawn at once.
    drawn = nbformat.v4.new_code_cell('import altair\n\naltair.renderers.enable("svg");')
    claims = nbformat.v4.new_code_cell(dedent(CLAIMS[name]))
    book.cells = [drawn, *book.cells, claims]
    client = NotebookClient(book, timeout=60, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()  # raises if a cell does
    for cell in book.cells:
        outputs = cell.get("outputs", [])
        # Warnings, and whatever else is written past the results, would be a reader's first sight.
        assert {output.output_type for output in outputs} <= {"execute_result"}, cell.source
        kinds = {kind for output in outputs for kind in output.data}
        if ".plot." in cell.source:
            assert "image/svg+xml" in kinds, cell.source
        if cell.source in ("split", "result", "comparison", "page"):
            assert "text/html" in kinds, cell.source
