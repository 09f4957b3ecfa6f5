"""Arrays that every statistic refuses: a hole, an infinite value, a shape or a length that cannot be, too few rows."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from rankwise import stats
from rankwise.errors import RankwiseError

RNG = np.random.default_rng(0)
X, Y, TABLE, GROUPS = RNG.random(30), RNG.random(30), RNG.random((30, 4)), np.repeat([0, 1, 2], 10)
FEW = {"n_resamples": 50}
RIGHT = {
    "adjust": ((X,), {}),
    "bayesian_signed_rank": ((X, Y), {"rope": 0.01, "n_draws": 50}),
    "bootstrap": ((X, Y), FEW),
    "bootstrap_confidence_interval": ((X,), {"n_bootstrap": 50}),
    "bootstrap_means": ((TABLE,), FEW),
    "bootstrap_test": ((X, Y), FEW),
    "borda": ((TABLE,), {}),
    "bounded_interval": ((X, Y), {"largest": 1.0}),
    "bounded_mean_interval": ((X,), {"bounds": (-9.0, 9.0)}),
    "bounded_test": ((X, Y), {"largest": 1.0}),
    "cliffs_delta": ((X, Y), {}),
    "clustered": ((X, GROUPS), {}),
    "compare_groups": ((X, Y, GROUPS), FEW),
    "confidence_sequence": ((X, Y), {"lowest": -1.0, "highest": 1.0}),
    "corrected_resampled_t": ((X, Y), {"test_share": 0.1}),
    "cross_validated_prediction": ((TABLE, Y, X / 10, TABLE / 1000), {}),
    "effect": ((X, Y), {}),
    "equivalence": ((X, Y), {"margin": 0.1}),
    "finite_population": ((X,), {"population": 30}),
    "friedman": ((TABLE,), {}),
    "group_interval": ((X, GROUPS), FEW),
    "jackknife": ((0.5, X), {}),
    "kendall_tau": ((X, Y), {}),
    "kruskal_wallis": ((X, Y), {"same_users": False}),
    "mann_whitney": ((X, Y), {"same_users": False}),
    "max_t": ((TABLE,), FEW),
    "max_t_quantile": ((TABLE,), FEW),
    "method_of_moments": ((X, Y, X / 10, Y / 10, X * Y / 1000), {}),
    "noise_floor": ((TABLE,), {}),
    "non_inferiority": ((X, Y), {"margin": 0.1}),
    "over_data_sets": ((X, Y / 10), {}),
    "paired_t": ((X, Y), {}),
    "paired_t_of_all": ((TABLE,), {}),
    "paired_t_test": ((X, Y), {}),
    "prediction_powered": ((X, Y, RNG.random(60)), {}),
    "rank_by_covariance": ((TABLE[0], np.eye(4) / 100), FEW),
    "rank_on_tasks": ((TABLE,), FEW),
    "rank_systems": ((TABLE,), FEW),
    "sign": ((X, Y), {}),
    "sign_flip": ((X, Y), FEW),
    "sign_flip_interval": ((X, Y), FEW),
    "sign_flip_of_all": ((TABLE,), FEW),
    "slopes_without_each": ((X, Y, X / 10, Y / 10, X * Y / 1000), {}),
    "t_interval": ((X, Y), {}),
    "true_effects": ((X, Y, X / 10, Y / 10, X * Y / 1000), {}),
    "tau_ap": ((X, Y), {}),
    "tukey": ((TABLE,), {}),
    "two_level": ((TABLE,), {}),
    "wilcoxon": ((X, Y), {}),
}
OF_NUMBERS = {"minimum_detectable", "power_of", "users_needed"}
ARRAYS = [
    (name, at)
    for name, (arrays, _) in RIGHT.items()
    for at, array in enumerate(arrays)
    if np.ndim(array)
]

# Where a hole is a missing value, or an error that is not known, and says so in the docstring.
HOLES = {("adjust", 0), ("jackknife", 1), ("over_data_sets", 1), ("paired_t_of_all", 0)}
NAMES = {
    ("clustered", 1),
    ("compare_groups", 2),
    ("group_interval", 1),
}  # of groups: any number is one
ANY_SHAPE = {("adjust", 0), ("noise_floor", 0), ("sign_flip_of_all", 0)}
OTHER_USERS = {
    ("cliffs_delta", 0),
    ("cliffs_delta", 1),
    ("kruskal_wallis", 0),
    ("kruskal_wallis", 1),
}
OTHER_USERS |= {
    ("mann_whitney", 0),
    ("mann_whitney", 1),
    ("prediction_powered", 2),
    ("jackknife", 1),
}
LEAST = {  # rows; the others have no result of fewer, which is NaN
    "bayesian_signed_rank": 1,
    "borda": 1,
    "bootstrap_means": 1,
    "cross_validated_prediction": 7,
    "finite_population": 2,
    "friedman": 2,
    "kruskal_wallis": 1,
    "mann_whitney": 1,
    "max_t": 1,
    "max_t_quantile": 2,
    "method_of_moments": 3,
    "noise_floor": 2,
    "over_data_sets": 1,
    "paired_t_of_all": 1,
    "prediction_powered": 3,
    "rank_on_tasks": 2,
    "rank_systems": 2,
    "sign_flip_of_all": 1,
    "slopes_without_each": 4,
    "true_effects": 3,
    "tukey": 2,
    "two_level": 2,
}


def run(name, arrays):
    return getattr(stats, name)(*arrays, **RIGHT[name][1])


def changed(name, at, array):
    """The arrays of a statistic, one of which is another."""
    return [array if at == index else own for index, own in enumerate(RIGHT[name][0])]


def test_every_statistic_of_arrays_is_tried():
    functions = {name for name in stats.__all__ if inspect.isfunction(getattr(stats, name))}
    assert functions == {*RIGHT} | OF_NUMBERS
    for name, (arrays, _) in RIGHT.items():
        run(name, arrays)


@pytest.mark.parametrize(("name", "at"), ARRAYS)
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_hole_or_an_infinite_value_raises(name, at, number):
    array = np.array(RIGHT[name][0][at], dtype=float)
    array.ravel()[3] = number
    if (np.isnan(number) and (name, at) in HOLES) or (np.isinf(number) and (name, at) in NAMES):
        run(name, changed(name, at, array))
        return
    with pytest.raises(RankwiseError):
        run(name, changed(name, at, array))


@pytest.mark.parametrize(("name", "at"), ARRAYS)
def test_an_array_of_another_shape_raises(name, at):
    array = RIGHT[name][0][at]
    for other in (array[..., None], array[0]):
        if (name, at) not in ANY_SHAPE and not (
            name.endswith(("effects", "moments")) and np.ndim(other) == 0
        ):
            with pytest.raises(RankwiseError):
                run(name, changed(name, at, other))


@pytest.mark.parametrize(("name", "at"), [row for row in ARRAYS if len(RIGHT[row[0]][0]) > 1])
def test_arrays_of_different_lengths_raise(name, at):
    shorter = changed(name, at, RIGHT[name][0][at][:-1])
    if (name, at) in OTHER_USERS:
        run(name, shorter)
        return
    with pytest.raises(RankwiseError):
        run(name, shorter)


@pytest.mark.parametrize(("name", "least"), LEAST.items())
def test_fewer_rows_than_a_statistic_needs_raise(name, least):
    run(name, [array[:least] for array in RIGHT[name][0]])
    with pytest.raises(RankwiseError):
        run(name, [array[: least - 1] for array in RIGHT[name][0]])


@pytest.mark.parametrize("name", ["friedman", "rank_systems", "tukey"])
def test_fewer_systems_than_a_statistic_needs_raise(name):
    least = {"friedman": 3, "rank_systems": 2, "tukey": 2}[name]
    run(name, [TABLE[:, :least]])
    with pytest.raises(RankwiseError):
        run(name, [TABLE[:, : least - 1]])


@pytest.mark.parametrize("name", ["true_effects", "slopes_without_each", "method_of_moments"])
@pytest.mark.parametrize("at", [0, 1])
def test_effects_that_do_not_vary_raise(name, at):
    with pytest.raises(RankwiseError, match="they have to differ"):
        run(name, changed(name, at, np.full(30, 0.3)))


@pytest.mark.parametrize("name", ["true_effects", "slopes_without_each", "method_of_moments"])
def test_errors_that_cannot_be_raise(name):
    for at in (2, 3):
        with pytest.raises(RankwiseError, match="standard errors are above 0"):
            run(name, changed(name, at, np.append(RIGHT[name][0][at][:-1], 0.0)))
    with pytest.raises(RankwiseError, match="smaller than the product"):
        run(name, changed(name, 4, np.append(RIGHT[name][0][4][:-1], X[-1] * Y[-1] / 100)))


LEVELS = {"confidence", "alpha", "test_share"}
COUNTS = {"n_resamples", "n_bootstrap", "n_draws", "population", "seed", "threads", "batch"}
WRONG = (
    dict.fromkeys(LEVELS, (0.0, 1.0, -0.1, 95, "0.9", True, np.nan))
    | dict.fromkeys(COUNTS, (-1, 0.5, "3"))
    | dict.fromkeys(("margin", "largest"), (0.0, -0.1, "0.1"))
    | dict.fromkeys(("method", "statistic", "correction"), ("other", None))
)
OPTIONS = [
    (name, option)
    for name in RIGHT
    for option in inspect.signature(getattr(stats, name)).parameters
    if option in WRONG and not (name == "sign_flip_of_all" and option == "batch")
]


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_an_option_that_cannot_be_raises(name, option):
    arrays, options = RIGHT[name]
    for value in WRONG[option]:
        with pytest.raises(RankwiseError):
            getattr(stats, name)(*arrays, **(options | {option: value}))


@pytest.mark.parametrize(
    "name",
    [name for name in RIGHT if "missing" in inspect.signature(getattr(stats, name)).parameters],
)
def test_pairs_with_a_hole_are_an_error_or_are_left_out(name):
    (x, y, *rest), options = RIGHT[name] if len(RIGHT[name][0]) > 1 else ((X, Y), RIGHT[name][1])
    function, holes = getattr(stats, name), x.copy()
    holes[3] = np.nan
    kept = np.arange(len(x)) != 3
    omitted, plain = (
        function(holes, y, *rest, **options, missing="omit"),
        function(x[kept], y[kept], *rest, **options),
    )
    for field in ("p", "low", "high", "difference", "estimate", "d_z", "right", "n"):
        if hasattr(plain, field):
            assert getattr(omitted, field) == pytest.approx(getattr(plain, field))
    if hasattr(plain, "flags"):
        assert omitted.flags == ("1 pairs with a missing value omitted", *plain.flags)
    for missing in ("error", "other"):
        with pytest.raises(
            RankwiseError, match="NaN" if missing == "error" else "missing must be one of"
        ):
            function(holes, y, *rest, **options, missing=missing)
