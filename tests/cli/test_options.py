"""Options of commands, which derive from the functions that the commands call."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import click
import pytest

import rankwise as rw
from rankwise.cli.main import cli
from rankwise.cli.options import GroupedCommand, signature_options
from rankwise.core.docstrings import parameter_texts
from tools import deep

# Parameters that are arguments or options of another form, and those that only Python can pass.
ELSEWHERE = {
    "compare": {"metrics", "primary", "noise"},
    "decide": {"success", "guardrails", "deterioration", "baseline", "system"},
    "report": {"recommendations", "columns", "audit", "decision", "evidence"},
    "off-policy": {"targets", "reward", "columns"},
    "interleaving": {"columns"},
    "validate-metrics": {"offline"},
    "judged": {"human", "judge"},
    "agreement": {"metrics"},
    "stability": {"metrics"},
    "leaderboard": {"metric", "higher_is_better"},
    "nulls": {"baselines", "train"},
    "stages": {"ranked", "final", "by", "columns"},
}
FUNCTIONS = {
    "compare": rw.compare,
    "decide": rw.decide,
    "report": rw.report,
    "off-policy": rw.off_policy,
    "interleaving": rw.interleaving,
    "validate-metrics": rw.validate_metrics,
    "judged": rw.judged,
    "agreement": rw.rank_agreement,
    "stability": rw.stability,
    "leaderboard": rw.leaderboard,
    "nulls": rw.nulls,
    "stages": rw.stages,
}


def command(name):
    return cli.get_command(click.Context(cli), name)


def keyword_only(function):
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_of_a_function_is_an_option_of_its_command(name):
    function = FUNCTIONS[name]
    options = {option.name: option for option in command(name).params}

    parameters = keyword_only(function)
    assert parameters.keys() - options.keys() <= ELSEWHERE[name]

    texts = parameter_texts(function)
    for parameter, default in parameters.items():
        if parameter in ELSEWHERE[name]:
            continue
        option = options[parameter]
        assert option.default in (default, ()), parameter
        assert option.help.rstrip(".").partition(";")[0] in texts[parameter].replace("`", "")


def test_an_option_is_read_as_the_type_of_its_parameter_asks():
    def measure(
        *,
        names: list[str] | None = None,
        share: float = 0.5,
        count: int | None = None,
        fast: bool = False,
    ):
        """Measure.

        Parameters
        ----------
        names : list of str, optional
            The names. There may be none.
        share : float, default=0.5
            A ``share`` of all.
        count : int, optional
            How many.
        fast : bool, default=False
            Whether it hurries.
        """
        return names, share, count, fast

    @click.command()
    @signature_options(measure, "share", "count", "fast", count="--number")
    def run(**options):
        return measure(**options)

    context = run.make_context("run", ["--share", "0.25", "--number", "3", "--fast"])
    assert context.params == {"share": 0.25, "count": 3, "fast": True}
    helps = {option.name: option.help for option in run.params}
    assert helps["share"] == "A share of all."
    with pytest.raises(click.BadParameter):
        run.make_context("run", ["--number", "many"])


def test_help_names_what_an_option_takes():
    metavars = {option.name: option.metavar for option in command("evaluate").params}
    assert (metavars["min_size"], metavars["jackknife"]) == ("USERS", "GROUPS")


@pytest.mark.parametrize("name", [*list(FUNCTIONS)[:2], *deep(*list(FUNCTIONS)[2:])])
def test_a_command_works_without_docstrings(name):
    """Python drops them under ``-OO``: options are there, without their help."""
    done = subprocess.run(
        [sys.executable, "-OO", "-m", "rankwise", name, "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "--" in done.stdout


@pytest.mark.parametrize("name", ["evaluate", "compare", "off-policy"])
def test_help_lists_every_option_once_in_a_group(name):
    grouped = command(name)
    assert isinstance(grouped, GroupedCommand)
    text = grouped.get_help(click.Context(grouped, info_name=name))
    text = text[text.index(f"\n{next(iter(grouped.groups))}:\n") :]

    for title in grouped.groups:
        assert f"\n{title}:\n" in text
    for option in grouped.params:
        if isinstance(option, click.Option):
            flag = max(option.opts, key=len)
            assert len(re.findall(rf"^  (?:-\w, )?{flag}(?= |$)", text, re.MULTILINE)) == 1, flag
