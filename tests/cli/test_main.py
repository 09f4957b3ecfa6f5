"""Exit codes are what ``--help`` says, whatever happens to the command or to its streams."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from command_line import rankwise_here
from rankwise.cli.main import cli

RANKWISE = f"{sys.executable} -m rankwise"
STREAMS = [
    ("metrics > /dev/null", 0, ""),
    ("metrics >&-", 6, "standard output is closed"),
    ("--help >&-", 6, "standard output is closed"),
    ("metrics > /dev/full", 6, "No space left on device"),
    ("--version > /dev/full", 6, "No space left on device"),
    ("metrics 1< /dev/null", 6, "Bad file descriptor"),
    ("metrics >&- 2>&- <&-", 6, ""),
    ("inspect none.csv 2>&-", 3, ""),
    ("inspect none.csv > /dev/full 2> /dev/full", 3, ""),
    ("inspect - <&-", 3, "the file is empty"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "code", "said"), STREAMS, ids=[row[0] for row in STREAMS])
def test_streams(tmp_path, command, code, said):
    done = subprocess.run(
        f"{RANKWISE} {command}", shell=True, cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert len(done.stderr.splitlines()) <= 2  # nothing is said twice, or at the end by Python


@pytest.mark.slow
@pytest.mark.parametrize("environment", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_a_reader_that_goes_away(tmp_path, environment):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*RANKWISE.split(), "metrics"],
        stdout=writer,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
def test_what_an_encoding_cannot_write(tmp_path):
    done = subprocess.run(
        [*RANKWISE.split(), "metrics", "dcg"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )
    assert done.returncode == 6
    assert "in latin-1" in done.stderr


INSIDE = """
import sys
import polars
import rankwise.cli.main as main, rankwise.tables.files as files
def deeper(): deeper()
def failing(error):
    def fail(*a, **k):
        raise error
    return fail
broken = {
    "SystemExit": failing(SystemExit(0)), "Panic": failing(polars.exceptions.PanicException("boom")),
    "GeneratorExit": failing(GeneratorExit()), "RecursionError": lambda *a: deeper(),
    "MemoryError": failing(MemoryError("7 GiB")), "RuntimeError": failing(RuntimeError("boom")),
    "OSError": failing(OSError(28, "No space left", "there")), "Broken": failing(BrokenPipeError()),
    "Interrupt": failing(KeyboardInterrupt()),
}
for name, files.read_file in broken.items():
    print(name, file=sys.stderr)
    print(name, main._run(["inspect", "run.csv"]))
"""


@pytest.mark.slow
def test_what_is_raised_inside():
    done = subprocess.run(
        [sys.executable, "-c", INSIDE], capture_output=True, text=True, timeout=60
    )
    assert dict(line.split() for line in done.stdout.splitlines()) == {
        "SystemExit": "4",
        "Panic": "4",
        "GeneratorExit": "4",
        "RecursionError": "4",
        "MemoryError": "4",
        "RuntimeError": "4",
        "OSError": "6",
        "Broken": "141",
        "Interrupt": "130",
    }
    assert "error inside rankwise: there is not enough memory. 7 GiB\n" in done.stderr
    assert "PanicException: boom\nerror inside rankwise: please report" in done.stderr
    assert "error: this cannot be written or read\n  where: there\n" in done.stderr
    assert done.stderr.count("\n") < 200  # a recursion is not told from its beginning


def _hears_interrupts():
    """Let a process hear SIGINT where this one was started to ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_interrupted(tmp_path):
    with subprocess.Popen(
        [*RANKWISE.split(), "demo"],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=_hears_interrupts,
    ) as process:
        process.stderr.readline()  # it has begun
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)
    # Python itself ends by the signal if code made from text was interrupted: a shell says 130
    assert process.returncode in {130, -signal.SIGINT}
    assert said[0] == ""
    assert said[1].endswith("interrupted\n")


DISCARDS_EXCEPTIONS = """
import os, signal
try:
    os.kill(os.getpid(), signal.SIGINT)
    sum(range(10))
except BaseException:
    pass
"""
LOADING = """
import signal, time
from rankwise.cli import main
signal.signal(signal.SIGINT, main._interrupt)
try:
    import discards_exceptions
    end = time.monotonic() + 20
    while time.monotonic() < end:
        pass
except KeyboardInterrupt:
    print("heard")
"""
CLEANING = """
import os, signal
from rankwise.cli import main
signal.signal(signal.SIGINT, main._interrupt)
try:
    raise KeyboardInterrupt
except KeyboardInterrupt:
    os.kill(os.getpid(), signal.SIGINT)
    print("cleaned")
try:
    os.kill(os.getpid(), signal.SIGINT)
    print("deaf")
except KeyboardInterrupt:
    print("heard")
"""


def _printed(program, folder):
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.split()


def test_an_interrupt_that_a_module_discards_while_it_loads_is_repeated(tmp_path):
    (tmp_path / "discards_exceptions.py").write_text(DISCARDS_EXCEPTIONS)
    assert _printed(LOADING, tmp_path) == ["heard"]


def test_a_second_interrupt_does_not_break_what_cleans_up(tmp_path):
    assert _printed(CLEANING, tmp_path) == ["cleaned", "heard"]


@pytest.mark.parametrize("before", [signal.SIG_IGN, signal.SIG_DFL])
def test_an_ignored_interrupt_stays_ignored(before, tmp_path):
    program = (
        "import signal\n"
        f"signal.signal(signal.SIGINT, signal.{before.name})\n"
        "from rankwise.cli import main\n"
        "main._run = lambda _: print(signal.getsignal(signal.SIGINT) is main._interrupt)\n"
        "main.main([])"
    )
    assert _printed(program, tmp_path) == [str(before is signal.SIG_DFL)]


def test_help_names_every_code():
    for code in (0, 1, 2, 3, 4, 5, 6, 130, 141):
        assert f" {code} " in f" {cli.epilog} "


WRONG = [
    "nosuch",
    "evaluate run.csv run.csv -m ndgc@3",
    "evaluate run.csv run.csv -m mrr --column foo=bar",
    "evaluate run.csv run.csv -m mrr --population nobody",
    "evaluate run.csv run.csv -m mrr --by city",
    "evaluate run.csv run.csv -m novelty@3",
    "evaluate run.csv run.csv -m mrr --require mrr>>1",
    "compare run.csv --looks looks.json",
    "decide a b",
    "audit run.csv",
    "metrics nosuch",
    "conventions nosuch",
    "split run.csv --test-ratio 3 -o out",
    "check wrong.yaml",
    "run wrong.yaml",
]


@pytest.mark.parametrize("command", WRONG)
def test_wrong_usage_is_2(tmp_path, command):
    (tmp_path / "run.csv").write_text("user,item\n1,5\n")
    (tmp_path / "wrong.yaml").write_text("systms: run.csv\n")
    assert rankwise_here(tmp_path, *command.split()).returncode == 2


def test_nothing_but_wrong_usage_is_2(tmp_path):
    (tmp_path / "run.csv").write_text("user,item\n1,5\n")
    (tmp_path / "broken.csv").write_text("user,item\n1,\n")
    for command, code in (
        ("evaluate none.csv run.csv -m mrr", 3),
        ("evaluate broken.csv run.csv -m mrr", 3),
        ("evaluate run.csv run.csv -m mrr --column user=uid", 3),
        ("evaluate run.csv run.csv -m mrr --require mrr>2", 1),
        ("evaluate run.csv run.csv -m mrr -o none/out.json", 6),
        ("evaluate run.csv run.csv -m mrr --save run.csv", 6),
        ("run none.yaml", 3),
    ):
        assert rankwise_here(tmp_path, *command.split()).returncode == code, command


def test_shells_can_ask_for_completion(tmp_path):
    done = subprocess.run(
        RANKWISE.split(),
        capture_output=True,
        text=True,
        env={**os.environ, "_RANKWISE_COMPLETE": "zsh_source"},
    )
    assert (done.returncode, done.stdout.startswith("#compdef rankwise")) == (0, True)


@pytest.mark.slow
def test_a_result_is_saved_although_stdout_is_full(tmp_path):
    (tmp_path / "run.csv").write_text("user,item\n1,5\n")
    command = f"{RANKWISE} evaluate run.csv run.csv --save kept > /dev/full"
    done = subprocess.run(command, shell=True, cwd=tmp_path, stderr=subprocess.DEVNULL)
    assert (done.returncode, (tmp_path / "kept" / "result.json").is_file()) == (6, True)


def test_errors_name_options(tmp_path):
    (tmp_path / "run.csv").write_text("user,item,score\n1,5,0.9\n1,5,0.5\n")
    (tmp_path / "truth.csv").write_text("user,item\n1,5\n")
    done = rankwise_here(tmp_path, "evaluate", "run.csv", "truth.csv")
    assert (done.returncode, "with --duplicates first" in done.stderr) == (3, True)
    done = rankwise_here(tmp_path, "evaluate", "run.csv", "truth.csv", "-m", "novelty@2")
    assert done.stderr.endswith("hint:  pass --train FILE\n")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_of_another_encoding_shows_what_it_can():
    import pty

    parent, child = pty.openpty()
    command = [sys.executable, "-m", "rankwise", "metrics", "ndcg"]
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    with subprocess.Popen(
        command, stdout=child, stderr=subprocess.PIPE, env=environment
    ) as process:
        os.close(child)
        shown = b""
        with contextlib.suppress(OSError):  # the terminal is gone when the command ends
            while part := os.read(parent, 1 << 16):
                shown += part
        assert process.stderr.read() == b""
    os.close(parent)
    assert process.returncode == 0
    assert b"Normalised DCG" in shown
    assert b"?" in shown


@pytest.mark.parametrize(("typed", "meant"), [("evalute", "evaluate"), ("comparre", "compare")])
def test_a_misspelt_command_is_told_what_was_meant(tmp_path, typed, meant):
    done = rankwise_here(tmp_path, typed)
    assert (done.returncode, f"did you mean '{meant}'?" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "a.csv", "b.csv", "--grade", "view=1", "--grade", "view=2"),
        ("audit", "split", "--stage", "ranker_train=a.csv", "--stage", "ranker_train=b.csv"),
        ("evaluate", "a.csv", "b.csv", "--column", "user=x", "--column", "user=y"),
        ("decide", "a", "b", "--success", "mrr", "--guardrail", "mrr=1%", "--guardrail", "mrr=2%"),
    ],
)
def test_a_name_given_twice_is_refused(tmp_path, arguments):
    done = rankwise_here(tmp_path, *arguments)
    assert (done.returncode, "is given twice" in done.stderr) == (2, True), done.stderr


def test_every_event_has_an_option_of_its_own(tmp_path):
    done = rankwise_here(tmp_path, "evaluate", "a.csv", "b.csv", "--grade", "look=1,order=4")
    assert "--grade look=1 --grade order=4" in " ".join(done.stderr.split())
