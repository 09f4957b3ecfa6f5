"""Each option is declared once: a declaration is all that a new one needs."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
import textwrap
from dataclasses import fields
from functools import partial
from itertools import product
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest

import rankwise as rw
from rankwise.convention.convention import CHOICES
from rankwise.convention.entries import ENTRY_CHOICES
from rankwise.core.populations import POPULATIONS, PopulationName, widest_population
from rankwise.errors import ParameterError
from rankwise.evaluation import settings
from rankwise.evaluation.across_conventions import CHOICE_NAMES
from rankwise.options import (
    AveragingRule,
    Choices,
    Options,
    Scope,
    choice_values,
)

NEW = """
    tail: Literal["keep", "cut"] = declare_option(
        "keep",
        "What to do with the tail of a list. Nothing so far.",
        choices=Literal["keep", "cut"],
        scope="lists",
        per_metric=True,
        saved_if_changed=True,
    )

"""
FIRST_CHECK = "    def __post_init__(self) -> None:\n        for entry in fields(Choices):"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package in which one more choice is declared, and nothing else is changed."""
    source = Path(rw.__file__).parent
    folder = tmp_path_factory.mktemp("declared")
    shutil.copytree(source, folder / "rankwise", ignore=shutil.ignore_patterns("__pycache__"))
    text = (source / "options.py").read_text(encoding="utf-8")
    assert text.count(FIRST_CHECK) == 1
    (folder / "rankwise" / "options.py").write_text(
        text.replace(FIRST_CHECK, NEW.lstrip("\n") + FIRST_CHECK)
    )
    return folder


def output(package, *arguments):
    """Return what Python prints with the copy of the package."""
    environment = {**os.environ, "PYTHONPATH": str(package), "COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.slow
def test_new_choice_is_an_option_of_every_evaluation(package):
    code = """
    import inspect
    import rankwise as rw
    from rankwise.errors import UsageError
    from rankwise.evaluation.settings import Settings

    for function in (rw.evaluate, rw.Evaluator, rw.evaluate_model, rw.evaluate_ratings):
        parameter = inspect.signature(function).parameters["tail"]
        assert (parameter.default, parameter.annotation) == ("keep", "Literal['keep', 'cut']"), function
    assert 'tail : {"keep", "cut"}, default="keep"' in rw.evaluate.__doc__
    assert Settings(metrics=()).tail == "keep"

    lists, truth = {"ida": [4, 7]}, {"ida": {7}}
    first = rw.evaluate(lists, truth, "mrr@2")
    second = rw.evaluate(lists, truth, "mrr@2", tail="cut")
    saved = [result.provenance["settings"]["tail"] for result in (first, second)]
    assert saved == ["keep", "cut"]
    try:
        rw.compare({"a": first, "b": second})
    except UsageError as error:
        assert "tail" in str(error)
    else:
        raise AssertionError("compared")
    try:
        rw.evaluate(lists, truth, "mrr@2", tail="trim")
    except UsageError as error:
        assert error.what == "tail must be one of keep, cut"
    else:
        raise AssertionError("evaluated")
    """
    output(package, "-c", textwrap.dedent(code))


@pytest.mark.slow
def test_new_choice_is_a_choice_of_conventions(package):
    code = """
    import inspect
    import rankwise as rw
    from rankwise.evaluation.across_conventions import Definition
    from rankwise.evaluation.plan import plan_passes

    mine = rw.Convention("mine", tail="cut", metrics={"mrr": {"tail": "keep"}})
    assert mine.tail == mine.to_dict()["tail"] == "cut"
    assert rw.Convention.of(mine.to_dict()) == mine
    assert rw.Convention("child", base=mine).tail == "cut"
    assert "tail" not in rw.conventions()["ranx"].to_dict()
    assert "tail" in inspect.signature(rw.Convention).parameters
    assert [mine.choices_of(mine.parse(text))["tail"] for text in ("mrr@3", "map@3")] == ["keep", "cut"]
    _, passes = plan_passes(["mrr@3", "map@3"], {"convention": mine})
    assert [one.tail for one in passes] == ["keep", "cut"]
    first, second = (Definition.from_name("map@3", one) for one in (None, mine))
    assert first.differences(second) == {"tail": ("keep", "cut")}
    assert first.with_choices_of(second, {"tail"}) == second
    assert second.settings({}).tail == "cut"
    """
    output(package, "-c", textwrap.dedent(code))


@pytest.mark.slow
def test_new_choice_is_on_the_command_line_and_in_configuration_files(package):
    text = output(package, "-m", "rankwise", "evaluate", "--help")
    assert "--tail [keep|cut]" in text
    assert "What to do with the tail of a list." in text
    code = """
    from rankwise.experiments.schema import Evaluation

    field = Evaluation.model_fields["tail"]
    assert (field.default, field.description) == ("keep", "What to do with the tail of a list. Nothing so far.")
    assert Evaluation.model_json_schema()["properties"]["tail"]["enum"] == ["keep", "cut"]
    """
    output(package, "-c", textwrap.dedent(code))


@pytest.mark.parametrize("known", ["PieceOptions", "WholeOptions", "RatingOptions", "ListOptions"])
def test_typed_dictionaries_have_the_options_that_are_declared(known):
    dictionary = getattr(settings, known)
    assert {*settings.taken_options(dictionary)} == dictionary.__annotations__.keys()


def test_typed_dictionaries_have_the_types_that_are_declared():
    kept = get_type_hints(
        settings.Settings, localns={"Metric": rw.Metric, "Convention": rw.Convention}
    )
    given = get_type_hints(settings.ListOptions, localns={"Convention": rw.Convention})
    shorthands = {"k", "threshold"}  # they end up in metrics and relevance_threshold
    assert settings.option_fields().keys() | shorthands == given.keys()
    for name in given.keys() - {
        "by",
        "convention",
        "relevance",
        *shorthands,
    }:  # given by name or event, kept apart
        assert given[name] == kept[name], name


def test_metrics_on_torch_take_all_choices_of_relevance_and_population():
    pytest.importorskip("torch")
    from rankwise.torch.batch import MetricOptions

    assert choice_values("relevance", "population").keys() <= MetricOptions.__annotations__.keys()
    assert (
        choice_values("relevance", "population").keys()
        <= settings.AveragingOptions.__annotations__.keys()
    )


def test_every_choice_is_declared_with_its_scope_and_its_values():
    hints = get_type_hints(Choices)
    for entry in fields(Choices):
        assert entry.metadata["scope"] in get_args(Scope), entry.name
        assert hints[entry.name] in (entry.metadata["choices"], entry.metadata["choices"] | None)
    choices = {entry.name for entry in fields(Choices)}
    assert {*CHOICE_NAMES} == {*choice_values()} == {*CHOICES} - {"list_population"} == choices
    assert not any(
        entry.metadata["scope"] for entry in fields(Options) if entry.name not in choices
    )


def test_rule_of_a_metric_has_the_choices_of_who_is_averaged_over():
    assert [entry.name for entry in fields(AveragingRule)] == [*choice_values("population")]
    assert AveragingRule() == AveragingRule.of(vars(Choices()))


def test_order_of_choices_is_that_of_saved_conventions_and_of_explanations():
    per_metric = ["population", "undefined", "without_list", "ties", "empty_lists", "relevance"]
    assert [*ENTRY_CHOICES] == per_metric
    assert [*rw.conventions()["elliot"].to_dict()][3:-1] == [
        *(name for name in ENTRY_CHOICES if name != "empty_lists"),
        *("list_population", "duplicates", "order_by", "ids", "score_precision", "catalogue"),
    ]
    assert [*CHOICE_NAMES] == [
        *("population", "undefined", "without_list", "relevance", "ties", "empty_lists"),
        *("order_by", "ids", "score_precision", "catalogue", "duplicates", "ranks"),
    ]


def test_signature_of_a_convention_has_its_choices():
    parameters = inspect.signature(rw.Convention).parameters
    assert [*parameters][:3] == ["name", "base", "metrics"]
    assert {*parameters} - {"name", "base", "metrics", "library", "note"} == {*CHOICES}
    with pytest.raises(TypeError, match="unexpected keyword argument 'tail'"):
        rw.Convention("mine", tail="cut")


@pytest.mark.slow
def test_new_option_is_in_the_matrix_of_options_and_roads(package):
    code = f"""
    import sys
    sys.path[:0] = [{str(Path(__file__).parents[1])!r}]
    from rankwise.evaluation.settings import check_taken, option_fields
    from road_worlds import probe, refused_on, rows, values_of

    assert "tail" in rows()
    assert values_of("tail") == ["cut"]
    assert probe("tail", text=False) is None  # it does nothing, which the matrix does not let pass
    assert not refused_on("tail")
    check_taken("torch", {{"tail": "cut"}})
    option_fields()["tail"].metadata["not_on"]["torch"] = "tensors have no tail"
    try:
        check_taken("torch", {{"tail": "cut"}})
    except Exception as error:
        assert str(error).startswith("rankwise.torch does not take tail=: tensors have no tail"), error
    else:
        raise AssertionError("taken")
    """
    output(package, "-c", textwrap.dedent(code))


def test_populations_that_include_another_and_know_who_belongs_to_it():
    relevant, listed, judged = np.array(list(product([False, True], repeat=3))).T
    judged |= relevant
    for inner, outer in product(get_args(PopulationName), repeat=2):
        if widest_population([inner, outer]) == outer:
            belongs = [
                POPULATIONS[one].includes(relevant=relevant, listed=listed, judged=judged)
                for one in (inner, outer)
            ]
            assert not (belongs[0] & ~belongs[1]).any(), (inner, outer)
    # The users with a list include those who are judged as well, but nobody asks there who is judged.
    assert widest_population(["judged_both", "recommended"]) is None
    evaluator = partial(rw.Evaluator, ["ndcg@1", "novelty@1"], train={1: [2]})
    mixed = rw.Convention(
        "mixed", population="judged_both", metrics={"novelty": {"population": "recommended"}}
    )
    with pytest.raises(ParameterError, match="their populations differ") as raised:
        evaluator(truth={1: {2}}, convention=mixed)
    assert "rankwise.evaluate makes one evaluation of each" in str(raised.value.hint)
    both = rw.evaluate(
        {1: [2], 3: [4]},
        {1: {2: 0.0}, 3: {4: 1.0}},
        ["ndcg@1", "novelty@1"],
        train={1: [2]},
        convention=mixed,
    )
    assert both["ndcg@1"] == 1.0
