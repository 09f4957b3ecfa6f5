"""The page on splits: its table is the example's output, and what it says of it holds."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "splits.py"
PAGE = EXAMPLE.parents[1] / "docs" / "splits.md"
sys.path.insert(0, str(PAGE.parent / "generators"))

from check_reference import describe_checks  # noqa: E402 - it lies in docs/generators


@pytest.mark.deep  # test_movietweetings.py splits the same ratings, and always runs
def test_the_tables_of_the_page(movietweetings, capsys):
    runpy.run_path(str(EXAMPLE))["main"](movietweetings)
    said = capsys.readouterr().out
    section = (
        PAGE.read_text(encoding="utf-8").split("## Example: three splits")[1].split("\n## ")[0]
    )
    blocks = [block.split("\n```")[0] for block in section.split("```text\n")[1:]]
    assert len(blocks) == 2
    assert all(block in said for block in blocks)
    table = blocks[0]
    leads = next(line for line in table.splitlines() if "ndcg@10       lead" in line)
    cells = leads.split("neighbours")[1].split()[::2]
    assert [f"{float(cell):.3f}" for cell in cells] == ["0.029", "0.016", "-0.006"]


def test_the_page_names_every_rule():
    from rankwise.splits.reading import FILTERS, RULES

    text = PAGE.read_text(encoding="utf-8")
    assert not [name for name in (*RULES, *FILTERS) if f"`{name}" not in text]


def test_every_check_has_an_anchor_and_says_what_to_do():
    import rankwise as rw

    page = describe_checks()
    checks = rw.audit({"ann": [1]}, {"ann": [2]}).checks
    assert len(checks) == 24
    for check in checks:
        entry = page.split(f"({check.code.lower()})=\n### {check.code}: {check.name}\n")[1].split(
            "\n#"
        )[0]
        assert all(f"*{part}*" in entry for part in ("Finds", "Worst verdict", "Remedy")), (
            check.code
        )


def test_checks_state_the_limits_that_they_use():
    """The number of a check's entry is the default in ``Limits``; a guess of L4 states none."""
    from rankwise.splits.audit_parts import Limits

    entries = re.split(r"^### ", describe_checks(), flags=re.MULTILINE)[1:]
    described = re.findall(
        r"^    (\w+) : float.*?\n\s+((?:L\d+(?:, )?)+):", Limits.__doc__, re.MULTILINE
    )
    assert len(described) == len(Limits.__dataclass_fields__)
    for name, codes in described:
        number = rf"\b{getattr(Limits(), name):g}\b"
        named = [entry for entry in entries if entry.split(":")[0] in codes.split(", ")]
        assert name == "unseen" or any(re.search(number, entry) for entry in named), name
