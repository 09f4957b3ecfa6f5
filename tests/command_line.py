"""The command line in another process, once for each command, and in this one, where the process does not matter."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys

from rankwise.cli.main import main


def rankwise(folder, *arguments, stdin=None):
    return subprocess.run(
        [sys.executable, "-m", "rankwise", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        input=stdin,
        timeout=120,
        env={**os.environ, "COLUMNS": "100"},
    )


def rankwise_here(folder, *arguments):
    """Run in this process, which takes a tenth of the time."""
    out, err, code = io.StringIO(), io.StringIO(), None
    interrupt = signal.getsignal(signal.SIGINT)
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as exit_:
            code = exit_.code
        finally:
            signal.signal(signal.SIGINT, interrupt)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
