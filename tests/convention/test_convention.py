"""Conventions: what names mean, which choices hold, and what a result says of both."""

from __future__ import annotations

import json
import pickle

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import MetricError, ParameterError, UsageError
from rankwise.evaluation.plan import plan_passes

RUN = pl.DataFrame(
    {
        "user": ["ann"] * 3 + ["bob"] * 2 + ["cem", "dee"],
        "item": ["9", "10", "a", "b", "c", "a", "b"],
        "score": [2.0, 2.0, 1.0, 3.0, 1.0, 1.0, 1.0],
    }
)
TRUTH = pl.DataFrame(
    {
        "user": ["ann", "ann", "bob", "cem", "eve"],
        "item": ["10", "z", "c", "b", "a"],
        "relevance": [2, 1, 3, 0, 1],
    }
)


def test_text_is_read_in_the_language_of_the_convention():
    rectools = rw.conventions()["rectools"]
    assert str(rectools.parse("ndcg@10")) == "ndcg(gain=binary,ideal=full)@10"
    assert str(rectools.parse("nDCG@10")) == "ndcg(gain=binary,ideal=full)@10"
    assert str(rectools.parse("MAP(divide_by_k=True)@5")) == "map(normaliser=k)@5"
    assert str(rw.conventions()["trec_eval"].parse("ndcg_cut_10")) == "ndcg@10"
    assert str(rw.conventions()["trec_eval"].parse("11pt_avg")) == "iprec(rounding=nearest)"
    assert str(rw.conventions()["trec_eval-9"].parse("11pt_avg")) == "iprec(rounding=trec_eval)"
    assert str(rw.conventions()["sklearn"].parse("average_precision")) == "lrap"


def test_parameters_that_are_given_win():
    rectools = rw.conventions()["rectools"]
    assert str(rectools.parse("ndcg(ideal=relevant)@10")) == "ndcg(gain=binary)@10"
    assert str(rectools.parse("ndcg(gain=linear,ideal=relevant)@10")) == "ndcg@10"
    elliot = rw.conventions()["elliot"]
    assert str(elliot.parse("gini(over=recommended)@5")) == (
        "complement(metric=gini(over=recommended))@5"
    )


def test_parts_are_read_in_the_same_language():
    lenskit = rw.conventions()["lenskit"]
    assert str(lenskit.parse("f@5")) == (
        "f(first=precision(denominator=length),second=recall(denominator=capped))@5"
    )
    rectools = rw.conventions()["rectools"]
    assert rectools.parse("group_gap(ndcg)@5") == (
        rw.parse("group_gap(ndcg(gain=binary,ideal=full))@5")
    )


@pytest.mark.parametrize("name", rw.conventions())
def test_what_a_convention_writes_it_reads(name):
    convention = rw.conventions()[name]
    for entry in convention.metrics.values():
        if not entry.refused:
            metric = entry.metric @ 5 if "{k}" in entry.name else entry.metric
            assert convention.parse(convention.write(metric)) == metric, entry.name


@pytest.mark.parametrize("name", rw.conventions())
def test_a_convention_survives_json_and_pickle(name):
    convention = rw.conventions()[name]
    saved = json.loads(json.dumps(convention.to_dict()))
    for again in (rw.Convention.of(saved), pickle.loads(pickle.dumps(convention))):
        assert again.choices == convention.choices
        assert again.metrics == convention.metrics
        assert again.name == convention.name


@pytest.mark.parametrize("name", rw.conventions())
def test_one_metric_has_one_rule(name):
    """Two names of one metric may not have different choices: a result has one value of it."""
    convention, rules = rw.conventions()[name], {}
    for key, entry in convention.metrics.items():
        if not entry.refused:
            text = str(entry.metric @ ()) + ("@k" if key.endswith("@k") else "")
            assert rules.setdefault(text, entry.choices) == entry.choices, (entry.name, text)


def test_a_name_that_is_refused_is_an_error_and_not_another_number():
    with pytest.raises(MetricError, match="not computed here"):
        rw.evaluate(RUN, TRUTH, "bpref", convention="ranx")
    with pytest.raises(MetricError, match="no metric called"):
        rw.conventions()["elliot"].parse("no_such_metric@5")


def test_unknown_conventions_and_choices():
    with pytest.raises(ParameterError, match="no such convention") as error:
        rw.evaluate(RUN, TRUTH, "ndcg@5", convention="recbol")
    assert error.value.hint == "did you mean 'recbole'?"
    with pytest.raises(ParameterError, match="population must be one of"):
        rw.Convention("mine", population="everyone")
    with pytest.raises(ParameterError, match="there is no choice 'popluation'"):
        rw.Convention("mine", metrics={"ndcg": {"popluation": "both"}})
    with pytest.raises(ParameterError, match="a convention has no 'gain'"):
        rw.Convention.of({"name": "mine", "gain": "binary"})
    with pytest.raises(ParameterError, match="has a name"):
        rw.Convention(" ")


def test_a_convention_made_of_another():
    mine = rw.Convention("mine", base="recbole", metrics={"ndcg": "ndcg(gain=exponential)"})
    assert str(mine.parse("ndcg@10")) == "ndcg(gain=exponential)@10"
    assert mine.parse("giniindex@10") == rw.conventions()["recbole"].parse("giniindex@10")
    assert mine.relevance == "any"
    again = rw.Convention("again", base=mine, relevance="positive")
    assert (again.relevance, str(again.parse("ndcg"))) == ("positive", "ndcg(gain=exponential)")


def test_options_that_are_given_win():
    assert rw.evaluate(RUN, TRUTH, "mrr", convention="recbole").counts["users"] == 4
    changed = rw.evaluate(RUN, TRUTH, "mrr", convention="recbole", relevance="positive")
    assert changed.counts["users"] == 3
    assert changed.provenance["settings"]["relevance"] == "positive"


def test_a_result_reads_names_through_its_convention(tmp_path):
    result = rw.evaluate(RUN, TRUTH, ["ndcg@2", "MAP@2"], convention="rectools")
    assert list(result) == ["ndcg(gain=binary,ideal=full)@2", "map(normaliser=relevant)@2"]
    for one in (result, rw.load(result.save(tmp_path / "saved"))):
        assert one["ndcg@2"] == one["nDCG@2"] == one[next(iter(one))]
        assert one["map@2"] == one["average_precision@2"]
        assert one.convention.name == "rectools"
        assert one.provenance["convention"]["metrics"]["map"] == {
            "metric": "map(normaliser=relevant)"
        }
        assert dict(one) == one.values
    assert "convention rectools (RecTools 0.19.0)" in repr(result)


def test_what_a_convention_does_not_have_is_marked_as_rankwises_own(tmp_path):
    """The notes, LaTeX, JSON, the saved result and the report all name it with its parameters."""
    names = ["ndcg@2", "rbp@2", "map(normaliser=k)@2", "P@2"]
    result = rw.evaluate(RUN, TRUTH, names, convention="trec_eval-9")
    own = {
        "rbp@2": "rbp(p=0.8,normaliser=none,max_relevance=None,top_grade=max_relevance)@2",
        "map(normaliser=k)@2": "map(without_relevant=undefined,normaliser=k,ties=expected)@2",
    }
    note = f"except rankwise's own {', '.join(own.values())}"
    for one in (result, rw.load(result.save(tmp_path / "saved"))):
        assert (
            one.provenance["own_definitions"]
            == one.to_dict()["provenance"]["own_definitions"]
            == own
        )
        assert note in one.notes[-2]
    assert (
        "own rbp(p=0.8,normaliser=none,max\\_relevance=None,top\\_grade=max\\_relevance)@2"
        in result.export("latex")
    )
    csv = pl.read_csv(result.export("csv").encode())
    assert dict(csv.select("metric", "definition_of").rows()) == {
        "ndcg": "trec_eval-9",
        "rbp": "rankwise",
        "map(normaliser=k)": "rankwise",
        "precision": "trec_eval-9",
    }
    compared = pl.read_csv(rw.compare(result, result, metrics=names[:2]).export("csv").encode())
    assert compared.select("metric", "definition_of").rows() == [
        ("ndcg@2", "trec_eval-9"),
        ("rbp@2", "rankwise"),
    ]
    page = result.report().save(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "rbp(p=0.8,normaliser=none,max_relevance=None,top_grade=max_relevance)@2" in page
    assert "definition of" in page


@pytest.mark.parametrize(
    ("convention", "names"),
    [
        (None, ["rbp@2", "ndcg@2"]),
        ("rectools", ["MAP(divide_by_k=True)@2", "nDCG@2"]),
        ("trec_eval", ["set_P", "bpref", "ndcg_cut_2"]),
        ("ir_measures", ["RR@2"]),
        (rw.Convention("both", population="both"), ["rbp@2"]),
    ],
)
def test_what_a_convention_has_is_not_marked(convention, names):
    result = rw.evaluate(RUN, TRUTH, names, convention=convention)
    whose = {None: "rankwise"}.get(convention, getattr(convention, "name", convention))
    assert pl.read_csv(result.export("csv").encode())["definition_of"].unique().to_list() == [whose]
    assert result.provenance["own_definitions"] == {}
    assert "own" not in result.notes[-2]


def test_marks_of_several_evaluations_are_put_together():
    """Ties differ between these metrics of ir_measures, so that they are evaluated apart."""
    result = rw.evaluate(RUN, TRUTH, ["rbp@2", "RR@2", "dcg@2"], convention="ir_measures")
    assert list(result.provenance["own_definitions"]) == ["rbp@2", "dcg@2"]


def test_a_metric_that_the_convention_does_not_have_is_written_in_full():
    convention = rw.conventions()["trec_eval-9"]
    text = convention.write(convention.parse("rbp@5"))
    assert text == "rbp(p=0.8,normaliser=none,max_relevance=None,top_grade=max_relevance)@5"
    assert convention.parse(text) == convention.parse("rbp@5")
    assert convention.write(convention.parse("ndcg@5")) == "ndcg@5"


def test_explain_says_whose_definition_it_is():
    explanation = rw.explain(RUN, TRUTH, "rbp@2", "default", "trec_eval-9")
    assert explanation.remarks == (
        (
            "trec_eval-9: the library has no such metric; this is rankwise's own "
            "rbp(p=0.8,normaliser=none,max_relevance=None,top_grade=max_relevance)@2"
        ),
    )


def test_objects_that_a_convention_would_read_otherwise_are_refused():
    with pytest.raises(MetricError, match="means another metric") as error:
        rw.evaluate(RUN, TRUTH, rw.NDCG() @ 2, convention="rectools")
    text = error.value.hint.split('"')[-2]
    mine = rw.evaluate(RUN, TRUTH, text, convention="rectools")
    assert list(mine) == ["ndcg@2"]
    assert rw.evaluate(RUN, TRUTH, rw.Recall() @ 2, convention="rectools")["recall@2"] > 0


def test_two_metrics_that_one_name_would_mean_are_refused():
    texts = ["ndcg@2", "ndcg(gain=linear,ideal=relevant)@2"]
    with pytest.raises(ParameterError, match="the name of two of these metrics"):
        rw.evaluate(RUN, TRUTH, texts, convention="rectools")


def test_populations_that_differ_from_metric_to_metric():
    """recommenders takes precision over users in both tables, and nDCG over those of the truth."""
    result = rw.evaluate(RUN, TRUTH, ["precision@2", "ndcg@2"], convention="recommenders")
    apart = {
        "precision@2": rw.evaluate(
            RUN, TRUTH, "precision@2", population="both", relevance="any", ties="input"
        ),
        "ndcg(gain=binary)@2": rw.evaluate(
            RUN, TRUTH, "ndcg(gain=binary)@2", relevance="any", ties="input"
        ),
    }
    assert {name: one[name] for name, one in apart.items()} == result.values
    assert result.per_user["precision@2"].is_nan().to_list() == [False, False, False, True]
    assert result.provenance["rules"]["ndcg(gain=binary)"]["population"] == "truth"
    assert "ndcg(gain=binary): population=truth" in repr(result)


def test_ties_that_differ_from_metric_to_metric():
    metrics = {"mrr": {"ties": "item"}, "recall": {"ties": "item_desc"}}
    mine = rw.Convention("mine", metrics=metrics)
    result = rw.evaluate(RUN, TRUTH, ["recall@1", "mrr@1"], convention=mine)
    assert list(result) == ["recall@1", "mrr@1"]
    for name, ties in (("mrr@1", "item"), ("recall@1", "item_desc")):
        alone = rw.evaluate(RUN, TRUTH, name, ties=ties)
        assert result[name] == alone[name]
        assert result.per_user[name].to_list() == alone.per_user[name].to_list()
    assert result.provenance["settings"]["ties"] == "item_desc+item"
    with pytest.raises(ParameterError, match="several choices of ties"):
        rw.Evaluator(["recall@1", "mrr@1"], truth=TRUTH, convention=mine)
    assert rw.evaluate(RUN, TRUTH, ["recall@1", "mrr@1"], convention=mine, ties="item").values == (
        rw.evaluate(RUN, TRUTH, ["recall@1", "mrr@1"], ties="item").values
    )


def test_sums_over_items_of_other_users_are_evaluated_apart():
    mine = rw.Convention("mine", population="both", list_population="recommended")
    result = rw.evaluate(RUN, TRUTH, ["recall@2", "item_coverage@2"], convention=mine)
    assert result["item_coverage@2"] == 5.0
    assert result["recall@2"] == rw.evaluate(RUN, TRUTH, "recall@2", population="both")["recall@2"]
    gini = {"gini": {"population": "both"}}
    mine = rw.Convention("mine", population="recommended", metrics=gini)
    result = rw.evaluate(RUN, TRUTH, ["recall@2", "gini@2"], convention=mine)
    assert result["gini@2"] == rw.evaluate(RUN, TRUTH, "gini@2", population="both")["gini@2"]
    with pytest.raises(MetricError, match="over other users"):
        rw.Evaluator(["recall@2", "gini@2"], truth=TRUTH, convention=mine)


def test_sums_over_items_of_more_users_share_an_evaluation():
    """recommenders describes all lists, and takes nDCG over users of the ground truth."""
    metrics = ["ndcg@2", "gini@2", "catalog_coverage@2"]
    assert len(plan_passes(metrics, {"convention": "recommenders"})[1]) == 1
    together = rw.evaluate(RUN, TRUTH, metrics, convention="recommenders")
    for name in metrics:
        alone = rw.evaluate(RUN, TRUTH, name, convention="recommenders")
        assert together[name] == alone[name]
    pieces = rw.Evaluator(metrics, truth=TRUTH, convention="recommenders", ties="item")
    whole = rw.evaluate(RUN, TRUTH, metrics, convention="recommenders", ties="item")
    assert pieces.update(RUN).result().values == whole.values


def test_groups_intervals_and_slices_under_a_convention():
    users = pl.DataFrame({"user": ["ann", "bob", "cem", "dee", "eve"], "country": list("ABABA")})
    result = rw.evaluate(
        RUN, TRUTH, ["precision@2", "ndcg@2"], users=users, by="country", convention="recommenders"
    )
    slices = {row["group"]: row for row in result.slices.to_dicts()}
    for country in "AB":
        inside = users.filter(pl.col("country") == country)["user"].implode()
        alone = rw.evaluate(
            RUN.filter(pl.col("user").is_in(inside)),
            TRUTH.filter(pl.col("user").is_in(inside)),
            ["precision@2", "ndcg@2"],
            convention="recommenders",
        )
        for name, value in alone.values.items():
            assert slices[country][name] == value
    assert result.interval("precision@2", method="t").n == 3
    assert result.interval("ndcg@2", method="t").n == 4


def test_results_under_different_conventions_do_not_compare_unless_forced():
    results = {
        name: rw.evaluate(RUN, TRUTH, "recall@2", convention=name) for name in ("warprec", "cornac")
    }
    with pytest.raises(UsageError, match="different settings of convention"):
        rw.compare(results)
    assert rw.compare(results, force=True).table["difference"].to_list() == [0.0]


def test_pieces_and_machines():
    whole = rw.evaluate(RUN, TRUTH, ["precision@2", "ndcg@2"], convention="recommenders")
    evaluator = rw.Evaluator(
        ["precision@2", "ndcg@2"], truth=TRUTH, convention="recommenders", ties="input"
    )
    for user in RUN["user"].unique():
        evaluator.update(RUN.filter(pl.col("user") == user))
    assert evaluator.result().values == whole.values
    assert pickle.loads(pickle.dumps(evaluator)).result().values == whole.values


def test_ids_as_text_order_ties_as_text():
    run = pl.DataFrame({"user": [1, 1], "item": [9, 10], "score": [1.0, 1.0]})
    truth = pl.DataFrame({"user": [1], "item": [9]})
    assert rw.evaluate(run, truth, "mrr", ties="item_desc")["mrr"] == 0.5
    assert rw.evaluate(run, truth, "mrr", ties="item_desc", ids="text")["mrr"] == 1.0
    assert rw.evaluate(run, truth, "mrr", convention="trec_eval")["mrr"] == 1.0
    mixed = truth.with_columns(pl.col("user", "item").cast(pl.String))
    assert rw.evaluate(run, mixed, "mrr", convention="trec_eval")["mrr"] == 1.0


def test_scores_that_tie_in_32_bits():
    run = {"u": {"a": 0.1 + 1e-9, "b": 0.1}}
    assert rw.evaluate(run, {"u": {"b"}}, "mrr", ties="item_desc")["mrr"] == 0.5
    options = {"ties": "item_desc", "score_precision": "float32"}
    assert rw.evaluate(run, {"u": {"b"}}, "mrr", **options)["mrr"] == 1.0


def test_scores_before_ranks():
    run = pl.DataFrame({"user": ["u"] * 2, "item": ["a", "b"], "rank": [1, 2], "score": [1.0, 2.0]})
    assert rw.evaluate(run, {"u": {"b"}}, "mrr")["mrr"] == 0.5
    by_score = rw.evaluate(run, {"u": {"b"}}, "mrr", order_by="score")
    assert by_score["mrr"] == 1.0
    assert "lists ordered by score" in by_score.notes[-1]


def test_ranks_with_gaps_are_kept_under_a_convention_that_keeps_them():
    lists = pl.DataFrame({"user": ["u"] * 2, "item": ["a", "b"], "rank": [1, 4]})
    keeps = rw.Convention("keeps", ranks="keep")
    assert rw.evaluate(lists, {"u": {"b"}}, "mrr", convention=rw.Convention("closes"))["mrr"] == 0.5
    result = rw.evaluate(lists, {"u": {"b"}}, "mrr", convention=keeps)
    assert result["mrr"] == 0.25
    assert result.provenance["settings"]["ranks"] == "keep"
    assert rw.evaluate(lists, {"u": {"b"}}, "mrr", convention=keeps, ranks="close")["mrr"] == 0.5
    closes = rw.Convention("mine", base=keeps, ranks="close")
    assert [rw.Convention.of(one.to_dict()) for one in (keeps, closes)] == [keeps, closes]
    assert (keeps.to_dict().get("ranks"), closes.to_dict().get("ranks")) == ("keep", None)
    explanation = rw.explain(lists, {"u": {"b"}}, "mrr", closes, keeps)
    assert explanation.choices.select("choice", "effect").rows() == [("ranks", -0.25)]


def test_any_row_is_relevant():
    assert rw.evaluate(RUN, TRUTH, "recall@3")["recall@3"] == pytest.approx(1.5 / 3)
    result = rw.evaluate(RUN, TRUTH, "recall@3", relevance="any")
    assert result.counts["users"] == 4
    assert "relevant: every row of the ground truth" in repr(result)
    without = TRUTH.drop("relevance")
    assert rw.evaluate(RUN, without, "recall@3", relevance="any").values == result.values
    graded = rw.evaluate(RUN, TRUTH, "recall@3", relevance="any", relevance_threshold=2)
    assert graded.counts["users"] == 2


def test_the_catalogue_of_training():
    train = pl.DataFrame({"user": ["ann", "bob"], "item": ["a", "q"]})
    result = rw.evaluate(
        RUN, TRUTH, "coverage@3", train=train, catalogue="train", population="recommended"
    )
    assert result["coverage@3"] == 0.5
    assert result.counts["recommended_items_outside_catalogue"] == 4
    assert result.provenance["settings"]["catalogue"] == "the items of training"
    with pytest.raises(ParameterError, match='catalogue="train" needs training'):
        rw.evaluate(RUN, TRUTH, "coverage@3", catalogue="train")
    assert rw.evaluate(RUN, TRUTH, "recall@3", catalogue="train")["recall@3"] > 0


def test_judged_users_with_a_list():
    result = rw.evaluate(RUN, TRUTH, "recall@3", population="judged_both", undefined="zero")
    assert result.per_user["user"].to_list() == ["ann", "bob", "cem"]
    assert result["recall@3"] == pytest.approx(0.5)


def test_partials_under_other_rules_do_not_merge():
    """Two conventions of one name may differ: what was computed under them is not added up."""
    lists, truth = {"u": ["a", "b"]}, {"u": {"a"}, "v": {"b"}}
    for choices in ({"ndcg": {"population": "both"}}, {"ndcg": {"undefined": "zero"}}):
        first, second = (
            rw.Evaluator(["ndcg@3"], truth=truth, convention=rw.Convention("mine", metrics=m))
            for m in (choices, {})
        )
        with pytest.raises(ParameterError, match="same metrics and settings"):
            first.update(lists).merge(second)


def test_results_under_two_conventions_of_one_name_do_not_compare():
    results = {
        ties: rw.evaluate(RUN, TRUTH, "recall@1", convention=rw.Convention("mine", ties=ties))
        for ties in ("item", "item_desc")
    }
    with pytest.raises(UsageError, match="different settings of convention"):
        rw.compare(results)


def test_results_compare_whatever_metrics_stand_beside():
    """The rule of a metric counts, not that of the metric that was asked for first."""
    one = rw.evaluate(RUN, TRUTH, ["precision@2", "ndcg@2"], convention="recommenders")
    two = rw.evaluate(RUN, TRUTH, "ndcg@2", convention="recommenders")
    assert rw.compare({"one": one, "two": two}).table["difference"].to_list() == [0.0]
    assert "with a relevant item" in repr(two)


def test_the_footnote_names_only_the_metrics_that_differ():
    result = rw.evaluate(RUN, TRUTH, ["ndcg@2", "gini@2"], convention="rectools")
    assert list(result.provenance["rules"]) == ["gini"]
    assert "gini: population=recommended" in " ".join(repr(result).split())
    assert not any("ndcg" in note for note in result.notes)


def test_relevance_that_differs_from_metric_to_metric():
    metrics = ["recall@3", "ndcg_at_k(score_type=raw)@3"]
    result = rw.evaluate(RUN, TRUTH, metrics, convention="recommenders")
    settings, rules = result.provenance["settings"], result.provenance["rules"]
    assert (settings["relevance"], list(rules)) == ("any", ["ndcg"])
    assert rules["ndcg"]["relevance"] == "positive"
    evaluator = rw.Evaluator(
        metrics, truth=TRUTH, convention="recommenders", threshold=1, ties="item"
    )
    assert evaluator.update(RUN).result()["recall@3"] == pytest.approx(0.75)


def test_entries_that_cannot_be_read_name_their_convention():
    with pytest.raises(ParameterError, match="convention 'x': the metric of 'zzz'"):
        rw.Convention("x", metrics={"zzz": "nosuch"})
    with pytest.raises(ParameterError, match="means several metrics"):
        rw.Convention("x", metrics={"zzz": "ndcg,map"})
    with pytest.raises(MetricError, match="not the text of a metric"):
        rw.conventions()["recbole"].parse("ndcg@[5")
    for name in ("all", "default"):
        with pytest.raises(ParameterError, match="names something else"):
            rw.Convention(name, metrics={"hits": "hit_rate"})


def test_rankwise_is_no_convention_whatever_it_is_called():
    for name in (None, "default", "Default", rw.conventions()["default"]):
        result = rw.evaluate(RUN, TRUTH, "recall@1", convention=name)
        assert result.convention is None
        assert result.provenance["settings"]["convention"] == "default"


def test_populations_of_the_ground_truth_need_one():
    for population in ("both", "judged", "judged_both"):
        with pytest.raises(ParameterError, match="without a ground truth there are no relevant"):
            rw.evaluate(RUN, None, "item_coverage@2", population=population)
    assert rw.evaluate(RUN, None, "item_coverage@2", convention="elliot", train={"u": ["a"]})


def test_values_behind_a_dot_are_the_cut_offs_or_parameters_of_a_name():
    trec_eval = rw.conventions()["trec_eval"]

    def read(text):
        return [str(metric) for metric in trec_eval.read(text)]

    assert read("P.5,2") == read("P_2,5") == ["precision@[2,5]"]
    assert read("P_2,ndcg_cut_5") == ["precision@2", "ndcg@5"]
    assert read("Rprec_mult.2,0.5") == ["r_precision(multiple=0.5)", "r_precision(multiple=2.0)"]
    assert read("11pt_avg.0.25,.5") == ["iprec(levels=[0.25,0.5],rounding=nearest)"]
    assert read("ndcg.2=9") == ["ndcg(gains=[1.0,9.0])"]
    assert read("ndcg_10") == ["ndcg@10"]
    assert read("set_F.4") == ["f(beta=2.0,first=precision(denominator=length))@1000000"]


def test_a_convention_of_ones_own_can_have_values_behind_a_dot():
    mine = rw.Convention(
        "mine", metrics={"RBP": {"metric": "rbp", "parameter": "p", "values": "0.5,0.9"}}
    )
    assert [str(one) for one in mine.read("RBP")] == ["rbp(p=0.5)", "rbp(p=0.9)"]
    assert mine.defines(mine.parse("RBP.0.7"))
    assert rw.Convention.of(mine.to_dict()).metrics == mine.metrics
