"""Pages of the documentation: every block runs, in order, and prints what the page says.

A page that says "in the folder that `rankwise demo` writes" is run in a copy of that folder, any other in an empty one.
Tests give it the folder and the output of a demo that ran before, so that not every page
makes the same data again. A block of Python is executed, a block of commands is run line by
line (a backslash at the end joins two), and a block of text below either is what it printed. Two comments, which no reader sees:

``<!-- file: NAME -->``      the next block is written to that file
``<!-- not run: REASON -->`` the next block is only shown

No comment runs anything: what a block needs, a block above it shows.

``python tests/pages.py PAGE …`` writes what is printed now into the pages.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import symtable
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from unittest import mock

from command_line import rankwise_here
from rankwise.experiments import demo

_PART = re.compile(
    r"^(?:<!-- (?P<note>file|not run): (?P<said>[^\n]*) -->\n+)?"
    r"^```(?P<kind>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)

DEMO = re.compile(r"rankwise demo(?: --save rankwise-demo)?")
_RUNS_DEMO = re.compile(r"^rankwise demo", re.MULTILINE)
_NEEDS_DEMO = re.compile(
    r"in\s+the\s+folder\s+that\s+`rankwise\s+demo`\s+(?:writes|leaves)", re.IGNORECASE
)


_NOTES = re.compile(r"<!--(.*?)-->", re.DOTALL)
_ALLOWED_NOTE = re.compile(
    r" (?:(?:file|not run): [^\n]*|\S+ writes what follows|the end of what [^\n]*) "
)


def hidden_notes(text: str) -> list[str]:
    """Return the comments of a page that are neither the name of a file, a reason not to run nor the mark of a generated part."""
    return [note[0] for note in _NOTES.finditer(text) if not _ALLOWED_NOTE.fullmatch(note[1])]


def unbound_names(text: str) -> list[str]:
    """Return the names that a block of Python reads and no visible block up to it binds.

    Blocks that are only shown may read names of the reader's code, such as a model.
    """
    bound, unbound = set(dir(builtins)) | {"__name__"}, []
    for part in _PART.finditer(text):
        if part["kind"] != "python":
            continue
        read, binds = _names(symtable.symtable(part["body"], "block", "exec"))
        if part["note"] != "not run":
            unbound += sorted(read - binds - bound)
        if part["note"] != "file":  # a module, not a part of the page's session
            bound |= binds
    return unbound


def _names(table: symtable.SymbolTable) -> tuple[set[str], set[str]]:
    """Return the names that a block reads from its module, and those that it binds there."""
    symbols = table.get_symbols()
    read = {
        symbol.get_name() for symbol in symbols if symbol.is_global() and symbol.is_referenced()
    }
    if table.get_type() == "module":
        read = {symbol.get_name() for symbol in symbols if symbol.is_referenced()}
    binds = {
        symbol.get_name()
        for symbol in symbols
        if (symbol.is_assigned() or symbol.is_imported()) and table.get_type() == "module"
    }
    for child in table.get_children():
        read |= _names(child)[0]
    return read, binds


def uses_demo(text: str) -> bool:
    """Return whether a page runs the demo, or starts in the folder that the demo writes."""
    return bool(_RUNS_DEMO.search(text) or _NEEDS_DEMO.search(text))


@dataclass
class Page:
    """A page that is run in a folder.

    ``names`` are what its first block knows already, ``saved_demo`` the folder and the output of a demo.
    """

    path: Path
    folder: Path
    names: dict[str, object] = field(default_factory=dict)
    saved_demo: tuple[Path, subprocess.CompletedProcess[str]] | None = None

    def __post_init__(self) -> None:
        self.text = self.path.read_text(encoding="utf-8")
        self._here = self.folder
        if _NEEDS_DEMO.search(self.text):
            if self.saved_demo is None:
                demo.save(outcome_of_demo(), self.folder)
            else:
                shutil.copytree(self.saved_demo[0], self.folder, dirs_exist_ok=True)

    def run(self) -> Iterator[tuple[str, str]]:
        """Run every block; yield each output that the page shows, beside what was printed."""
        printed: str | None = None
        self.pieces, end = [], 0
        for part in _PART.finditer(self.text):
            self.pieces.append(self.text[end : part.start()])
            end = part.end()
            whole, between = part[0], self.pieces[-1].strip()
            if (
                part["kind"] == "text"
                and part["note"] is None
                and printed is not None
                and not between
            ):
                yield part["body"], printed
                whole = f"```text\n{printed.rstrip()}\n```"
            else:
                printed = self._print(part)
            self.pieces.append(whole)
        self.pieces.append(self.text[end:])

    def _print(self, part: re.Match[str]) -> str | None:
        """Run one part and return what it prints; None if nothing is to be compared."""
        if part["note"] == "file":
            (self._here / part["said"]).parent.mkdir(parents=True, exist_ok=True)
            (self._here / part["said"]).write_text(part["body"], encoding="utf-8")
        elif part["note"] is None and part["kind"] == "python":
            return self._python(part["body"])
        elif part["note"] is None and part["kind"] == "sh":
            return "".join(map(self._command, part["body"].replace("\\\n", " ").splitlines()))
        return None

    def _python(self, code: str) -> str:
        said = io.StringIO()
        with contextlib.chdir(self._here), contextlib.redirect_stdout(said):
            exec(compile(code, str(self.path), "exec"), self.names)
        return said.getvalue()

    def _command(self, line: str) -> str:
        """Run a line; it may end with an exit code other than 0 where a comment says so."""
        line, _, comment = line.partition("  #")
        line = line.strip()
        expected = int(found[1]) if (found := re.search(r"\bexit (\d)", comment)) else 0
        if line.startswith("cd "):
            self._here = (self._here / line[3:]).resolve()
            return ""
        if self.saved_demo and DEMO.fullmatch(line):
            shutil.copytree(self.saved_demo[0], self._here / "rankwise-demo")
            return self.saved_demo[1].stdout
        plain = line.startswith("rankwise ") and not re.search(r"[|<>&*]", line)
        if plain:
            done = rankwise_here(self._here, *shlex.split(line)[1:])
        elif line:
            path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
            done = subprocess.run(
                ["sh", "-ec", line],
                cwd=self._here,
                capture_output=True,
                text=True,
                timeout=300,
                env={**os.environ, "PATH": path, "COLUMNS": "100"},
                check=False,
            )
        else:
            return ""
        assert done.returncode == expected, f"{self.path.name}: {line}\n{done.stderr}{done.stdout}"
        return done.stdout


def check(path: Path, folder: Path, /, saved_demo: object = None, **names: object) -> int:
    """Run a page, raise unless it prints what it says, and return how many outputs it shows."""
    count = 0
    with mock.patch.object(demo, "run", outcome_of_demo):
        for shown, printed in Page(path, folder, dict(names), saved_demo).run():
            assert _plain(printed) == _plain(shown), (
                f"{path.name} shows\n{shown}\nprinted\n{printed}"
            )
            count += 1
    return count


outcome_of_demo = cache(demo.run)


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def refresh(path: Path) -> None:
    """Write what a page prints into it."""
    with tempfile.TemporaryDirectory() as folder:
        page = Page(path, Path(folder))
        for _ in page.run():
            pass
    path.write_text("".join(page.pieces), encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        refresh(Path(name))
