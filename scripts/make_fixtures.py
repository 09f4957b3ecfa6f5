"""Store an example of every saved form in its current version, which all later programs have to read.

``python scripts/make_fixtures.py`` writes what is not stored yet to ``tests/saved/FORM/VERSION``,
and ``python scripts/make_fixtures.py FORM …`` the named forms alone. A version that is stored is
never written again: raise its version in ``src/rankwise/core/saved_forms.py``.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from rankwise.core.saved_forms import FORMS
from saved_forms import EXAMPLES, NUMBERS, SAVED, as_text


def folder_of(form: str) -> Path:
    """Return the folder of the current version of a form."""
    return SAVED / form.replace(" ", "_") / str(FORMS[form].version)


def make(form: str) -> None:
    """Write the example of a form, and the numbers that it holds."""
    folder = folder_of(form)
    if folder.exists():
        raise SystemExit(
            f"{folder} is stored already: raise the version of {form!r} in core/saved_forms.py"
        )
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary) / "made"
        made.mkdir()
        numbers = EXAMPLES[form].write(made)
        (made / NUMBERS).write_text(as_text(numbers), encoding="utf-8")
        shutil.copytree(made, folder, ignore=shutil.ignore_patterns("_SUCCESS", "*.crc"))
    sys.stdout.write(f"{folder}\n")


def main() -> None:
    """Make the named fixtures, or those that are missing."""
    parser = argparse.ArgumentParser(
        description="Store an example of every saved form in its current version."
    )
    parser.add_argument(
        "forms", nargs="*", metavar="FORM", help="by default every form whose version is not stored"
    )
    names = parser.parse_args().forms
    if unknown := set(names) - FORMS.keys():
        parser.error(f"no such form: {', '.join(sorted(unknown))}; there are {', '.join(FORMS)}")
    for form in names or [form for form in FORMS if not folder_of(form).exists()]:
        make(form)


if __name__ == "__main__":
    main()
