"""Confidence intervals, significance tests, effect sizes and power for arrays of values.

Nothing here reads tables or results; for those, `rankwise.compare` combines these functions.

>>> from rankwise import stats
>>> stats.paired_t([0.5, 0.25, 1.0], [0.0, 0.0, 0.5]).p
0.0377
"""

from rankwise.stats.bounded_means import bounded_interval, bounded_mean_interval, bounded_test
from rankwise.stats.confidence_sequences import confidence_sequence
from rankwise.stats.data_sets import (
    Bayesian,
    Friedman,
    bayesian_signed_rank,
    clustered,
    corrected_resampled_t,
    finite_population,
    friedman,
    jackknife,
    kruskal_wallis,
    mann_whitney,
)
from rankwise.stats.differences import Interval, TestResult
from rankwise.stats.effect_sizes import Effect, PairedTTest, cliffs_delta, effect, paired_t_test
from rankwise.stats.equivalence import (
    Equivalence,
    NonInferiority,
    equivalence,
    minimum_detectable,
    non_inferiority,
    power_of,
    users_needed,
)
from rankwise.stats.errors_in_variables import (
    MethodOfMoments,
    TrueEffects,
    cross_validated_prediction,
    method_of_moments,
    slopes_without_each,
    true_effects,
)
from rankwise.stats.group_means import compare_groups, group_interval
from rankwise.stats.intervals import (
    bootstrap,
    bootstrap_confidence_interval,
    bootstrap_means,
    sign_flip_interval,
)
from rankwise.stats.leaderboards import borda, rank_by_covariance, rank_on_tasks
from rankwise.stats.many_systems import (
    PairTests,
    SystemRanks,
    adjust,
    max_t,
    max_t_quantile,
    paired_t_of_all,
    rank_systems,
    sign_flip_of_all,
    tukey,
)
from rankwise.stats.noise_floor import NoiseFloor, RunsNeeded, noise_floor
from rankwise.stats.paired_tests import (
    bootstrap_test,
    paired_t,
    sign,
    sign_flip,
    t_interval,
    wilcoxon,
)
from rankwise.stats.prediction_powered import PredictionPowered, prediction_powered
from rankwise.stats.rank_correlation import kendall_tau, tau_ap
from rankwise.stats.variance_components import DataSets, TwoLevel, over_data_sets, two_level

__all__ = [
    "Bayesian",
    "DataSets",
    "Effect",
    "Equivalence",
    "Friedman",
    "Interval",
    "MethodOfMoments",
    "NoiseFloor",
    "NonInferiority",
    "PairTests",
    "PairedTTest",
    "PredictionPowered",
    "RunsNeeded",
    "SystemRanks",
    "TestResult",
    "TrueEffects",
    "TwoLevel",
    "adjust",
    "bayesian_signed_rank",
    "bootstrap",
    "bootstrap_confidence_interval",
    "bootstrap_means",
    "bootstrap_test",
    "borda",
    "bounded_interval",
    "bounded_mean_interval",
    "bounded_test",
    "cliffs_delta",
    "clustered",
    "compare_groups",
    "confidence_sequence",
    "corrected_resampled_t",
    "cross_validated_prediction",
    "effect",
    "equivalence",
    "finite_population",
    "friedman",
    "group_interval",
    "jackknife",
    "kendall_tau",
    "kruskal_wallis",
    "mann_whitney",
    "max_t",
    "max_t_quantile",
    "method_of_moments",
    "minimum_detectable",
    "noise_floor",
    "non_inferiority",
    "over_data_sets",
    "paired_t",
    "paired_t_of_all",
    "paired_t_test",
    "power_of",
    "prediction_powered",
    "rank_by_covariance",
    "rank_on_tasks",
    "rank_systems",
    "sign",
    "sign_flip",
    "sign_flip_interval",
    "sign_flip_of_all",
    "slopes_without_each",
    "t_interval",
    "tau_ap",
    "true_effects",
    "tukey",
    "two_level",
    "users_needed",
    "wilcoxon",
]
