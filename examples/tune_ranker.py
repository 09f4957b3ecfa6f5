"""A search over a ranker's settings with Optuna, and what its winner is worth.

Trials are scored by rankwise's nDCG on validation queries, round by round, so that bad ones are
pruned. The best of many looks better than it is there: the comparison on the validation queries is
corrected for all trials (``earlier=``), and the number to report is the one on test queries, which
no trial has seen.

    pip install lightgbm optuna
    python examples/tune_ranker.py
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import rankwise as rw
from rankwise.rankers import LightGBMMetric, RankerTruth

METRIC = "ndcg@10"
TRIALS = 12
ROUNDS = 60
FIXED = {
    "objective": "lambdarank",
    "metric": "None",
    "verbose": -1,
    "seed": 0,
    "num_threads": 1,
    "deterministic": True,
}


class Rows(NamedTuple):
    """The rows of a set of queries."""

    features: Any
    labels: Any
    sizes: Any

    @property
    def truth(self) -> RankerTruth:
        """The ground truth of these rows."""
        return RankerTruth(self.labels, group=self.sizes)


def made_up(n_queries: int, seed: int) -> Rows:
    """Return queries of 20 documents, whose grades follow three of eight features, with noise."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_queries * 20, 8))
    worth = features[:, 0] + features[:, 1] * features[:, 2] + rng.normal(size=len(features))
    return Rows(features, np.digitize(worth, [0.5, 1.5, 2.5]), np.full(n_queries, 20))


def train(train: Rows, valid: Rows, settings: dict[str, Any], trial: Any = None) -> Any:
    """Return a ranker; a trial hears of every round, and may end it."""
    import lightgbm as lgb
    import optuna

    sets = [lgb.Dataset(rows.features, rows.labels, group=rows.sizes) for rows in (train, valid)]

    def report(environment: Any) -> None:
        value = environment.evaluation_result_list[0][2]
        trial.report(value, environment.iteration)
        if trial.should_prune():
            raise optuna.TrialPruned

    return lgb.train(
        FIXED | settings,
        sets[0],
        ROUNDS,
        valid_sets=[sets[1]],
        feval=LightGBMMetric(METRIC),
        callbacks=[
            lgb.early_stopping(15, verbose=False),
            *([report] if trial is not None else []),
        ],
    )


def main() -> None:
    """Search, and compare the winner with the default settings."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    parts = [made_up(n_queries, seed) for seed, n_queries in enumerate((200, 150, 300))]
    learn, valid, test = parts

    def objective(trial: Any) -> float:
        settings = {
            "num_leaves": trial.suggest_int("num_leaves", 3, 31),
            "min_data_in_leaf": trial.suggest_int("min_data_in_leaf", 5, 200, log=True),
            "learning_rate": trial.suggest_float("learning_rate", 0.03, 0.3, log=True),
        }
        ranker = train(learn, valid, settings, trial)
        best: float = ranker.best_score["valid_0"][METRIC]
        return best

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=TRIALS)
    rankers = {
        "default": train(learn, valid, {}),
        "tuned": train(learn, valid, study.best_params),
    }
    for name, rows, earlier in (("validation", valid, TRIALS - 1), ("test", test, 0)):
        truth = rows.truth
        results = {
            system: truth.evaluate(ranker.predict(rows.features), METRIC)
            for system, ranker in rankers.items()
        }
        print(f"On the {name} queries:")
        print(rw.compare(results, baseline="default", earlier=earlier), end="\n\n")


if __name__ == "__main__":
    main()
