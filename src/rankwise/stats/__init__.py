"""Confidence intervals, significance tests, effect sizes and power for arrays of values.

Nothing here reads tables or results; for those, `rankwise.compare` combines these functions.

>>> from rankwise import stats
>>> stats.paired_t([0.5, 0.25, 1.0], [0.0, 0.0, 0.5]).p
0.0377
"""

from rankwise.stats.all_pairs import PairTests, max_t, paired_t_of_all, sign_flip_of_all, tukey
from rankwise.stats.bootstrap import bootstrap, bootstrap_means
from rankwise.stats.clusters import clustered, finite_population, jackknife
from rankwise.stats.confidence_sequence import confidence_sequence
from rankwise.stats.differences import Interval, TestResult
from rankwise.stats.effects import Effect, cliffs_delta, effect
from rankwise.stats.equivalence import Equivalence, equivalence
from rankwise.stats.flip_interval import flip_interval
from rankwise.stats.many_sets import (
    Bayesian,
    Friedman,
    bayesian_signed_rank,
    corrected_resampled_t,
    friedman,
    kruskal_wallis,
    mann_whitney,
)
from rankwise.stats.multiple import adjust
from rankwise.stats.non_inferiority import NonInferiority, non_inferiority
from rankwise.stats.paired import bootstrap_test, paired_t, sign, sign_flip, t_interval, wilcoxon
from rankwise.stats.power import minimum_detectable, power_of, users_needed
from rankwise.stats.simple import PairedTTest, bootstrap_confidence_interval, paired_t_test
from rankwise.stats.system_ranks import SystemRanks, max_t_quantile, rank_systems
from rankwise.stats.two_level import DataSets, TwoLevel, over_data_sets, two_level

__all__ = [
    "Bayesian",
    "DataSets",
    "Effect",
    "Equivalence",
    "Friedman",
    "Interval",
    "NonInferiority",
    "PairTests",
    "PairedTTest",
    "SystemRanks",
    "TestResult",
    "TwoLevel",
    "adjust",
    "bayesian_signed_rank",
    "bootstrap",
    "bootstrap_confidence_interval",
    "bootstrap_means",
    "bootstrap_test",
    "cliffs_delta",
    "clustered",
    "confidence_sequence",
    "corrected_resampled_t",
    "effect",
    "equivalence",
    "finite_population",
    "flip_interval",
    "friedman",
    "jackknife",
    "kruskal_wallis",
    "mann_whitney",
    "max_t",
    "max_t_quantile",
    "minimum_detectable",
    "non_inferiority",
    "over_data_sets",
    "paired_t",
    "paired_t_of_all",
    "paired_t_test",
    "power_of",
    "rank_systems",
    "sign",
    "sign_flip",
    "sign_flip_of_all",
    "t_interval",
    "tukey",
    "two_level",
    "users_needed",
    "wilcoxon",
]
