"""How often the statements of `rw.validate_metrics`, `rw.judged` and plans hold, in simulated worlds.

Prints tables of docs/simulations.md. Run as ``python simulations/evidence.py launches`` (some four
minutes; ``--logs 20`` for a first look), or with ``labels``, ``rare`` or ``plans`` (some seconds).
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

import numpy as np
import polars as pl

import rankwise as rw
from rankwise import stats


@dataclass(frozen=True)
class World:
    """Past launches: their number, the true slope, the correlation of errors, and the spread of offline effects."""

    launches: int
    slope: float
    shared: float
    spread: float = 1.0

    def draw(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return one table of launches, with true effects."""
        n = self.launches
        offline = rng.normal(0.2 * self.spread, self.spread, n)
        online = self.slope * offline + rng.normal(0, 0.35, n)
        errors = rng.uniform(0.5, 1.0, n), rng.uniform(0.4, 0.9, n)
        first = rng.normal(size=n)
        second = self.shared * first + math.sqrt(1 - self.shared**2) * rng.normal(size=n)
        return {
            "true_offline": offline,
            "true_online": online,
            "ndcg": offline + errors[0] * first,
            "ndcg_se": errors[0],
            "online": online + errors[1] * second,
            "online_se": errors[1],
            "covariance": self.shared * errors[0] * errors[1],
        }

    @property
    def agreement(self) -> float:
        """The true probability that both effects have the same sign."""
        rng = np.random.default_rng(1)
        offline = rng.normal(0.2 * self.spread, self.spread, 400_000)
        return float(
            (offline * (self.slope * offline + rng.normal(0, 0.35, len(offline))) > 0).mean()
        )


WORLDS = (
    World(8, 0.5, 0.0),
    World(12, 0.5, 0.0),
    World(12, 0.0, 0.0),
    World(12, -0.3, 0.7),
    World(40, 0.5, 0.0),
    World(40, 0.0, 0.7),
    World(40, -0.3, 0.7),
    World(100, -0.3, 0.7, 0.5),
)


def launches_row(world: World, logs: int, seed: int = 0) -> dict[str, float]:
    """Return how the intervals and verdicts of a world hold, over simulated tables."""
    rows = []
    for log in range(logs):
        table = world.draw(np.random.default_rng([seed, log]))
        observed = ("ndcg", "online", "ndcg_se", "online_se", "covariance")
        moments = stats.method_of_moments(*(table[name] for name in observed))
        row = rw.validate_metrics(pl.DataFrame({name: table[name] for name in observed})).table.row(
            0, named=True
        )
        x, y = table["ndcg"] - table["ndcg"].mean(), table["online"] - table["online"].mean()
        naive = float(x @ y / (x @ x))
        error = math.sqrt(float(((y - naive * x) ** 2).sum()) / (len(x) - 2) / float(x @ x))
        rows.append(
            {
                "covered": row["slope_low"] <= world.slope <= row["slope_high"],
                "naive covered": abs(naive - world.slope) <= 1.96 * error,
                "Fieller covered": any(low <= world.slope <= high for low, high in moments.fieller),
                "Fieller unbounded": not math.isfinite(moments.fieller[0][0]),
                "naive": naive,
                "slope": row["slope"],
                "cannot tell": row["verdict"] == "cannot tell",
                "wrong verdict": {"follows": world.slope <= 0, "opposes": world.slope >= 0}.get(
                    row["verdict"], False
                ),
                "needed": math.inf
                if row["more_launches"] is None
                else world.launches + row["more_launches"],
                "signs": row["sign_agreement"],
                "observed signs": row["same_signs"] / world.launches,
            }
        )
    frame = pl.DataFrame(rows)
    means = {name: float(frame[name].mean()) for name in frame.columns}  # type: ignore[arg-type]
    medians = {name: float(np.median(frame[name])) for name in ("naive", "slope")}
    needed = frame.filter("cannot tell")["needed"].to_numpy()
    medians["needed"] = float(np.median(needed)) if len(needed) else math.nan
    return {**means, **medians, "true signs": world.agreement}


def labels_row(
    labelled: int, others: int, logs: int, seed: int = 0, generous: float = 0.3
) -> dict[str, float]:
    """Return how intervals of precision@5 hold, with a judge that accepts a share of irrelevant items."""
    rng = np.random.default_rng([seed, labelled])
    truth = 1.2 / 3.7 * 0.9
    rows = []
    for _ in range(logs):
        relevance = rng.beta(1.2, 2.5, (labelled + others, 1)) * np.array([1.1, 1.0, 0.9, 0.8, 0.7])
        human = rng.random(relevance.shape) < relevance
        judge = rng.random(relevance.shape) < np.where(human, 0.9, generous)
        y, f = human.mean(axis=1), judge.mean(axis=1)
        interval = stats.prediction_powered(y[:labelled], f[:labelled], f[labelled:])
        low, high = stats.t_interval(f)
        rows.append(
            (
                truth in interval,
                low <= truth <= high,
                interval.error / interval.human_error,
                interval.estimate,
            )
        )
    covered, judge_alone, width, estimate = np.array(rows, dtype=float).mean(axis=0).tolist()
    return {
        "covered": covered,
        "judge alone": judge_alone,
        "width": width,
        "bias": estimate - truth,
    }


def rare_row(
    labelled: int, accepts: float | None, logs: int, share: float = 0.03, seed: int = 0
) -> dict[str, float]:
    """Return how intervals of hits hold that few users have.

    The judge finds nine of ten hits, and accepts a share of the others; None says the same of all.
    """
    rng = np.random.default_rng([seed, labelled])
    covered = {"t alone": 0, "covered": 0}
    for _ in range(logs):
        human = (rng.random(labelled + 1000) < share).astype(float)
        judge = np.full(len(human), 0.5)
        if accepts is not None:
            judge = (rng.random(len(human)) < np.where(human, 0.9, accepts)).astype(float)
        arrays = human[:labelled], judge[:labelled], judge[labelled:]
        covered["t alone"] += share in stats.prediction_powered(*arrays)
        covered["covered"] += share in stats.prediction_powered(*arrays, bounds=(0, 1))
    return {name: count / logs for name, count in covered.items()}


def plans_row(metrics: int, logs: int, users: int = 500, seed: int = 0) -> dict[str, float]:
    """Return how often two equal systems differ significantly, by a planned metric and by the best of several."""
    rng = np.random.default_rng([seed, metrics])
    p = np.empty((logs, metrics))
    for log in range(logs):
        common = rng.normal(size=(users, 1))
        differences = math.sqrt(0.5) * common + math.sqrt(0.5) * rng.normal(size=(users, metrics))
        p[log] = [stats.paired_t(differences[:, at]).p for at in range(metrics)]
    return {
        "planned": float((p[:, 0] < 0.05).mean()),
        "chosen": float((p.min(axis=1) < 0.05).mean()),
    }


def main() -> None:
    """Print a table of the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["launches", "labels", "rare", "plans"])
    parser.add_argument("--logs", type=int, help="simulated tables per row")
    chosen = parser.parse_args()
    if chosen.table == "labels":
        print(
            "| labelled | coverage | judge alone | width against human alone | bias "
            "|\n|--:|--:|--:|--:|--:|"
        )
        for n in (15, 30, 60, 200):
            row = labels_row(n, 1000, chosen.logs or 4000)
            print(
                f"| {n} | "
                f"{' | '.join(f'{row[name]:.3f}' for name in ('covered', 'judge alone', 'width'))}",
                end="",
            )
            print(f" | {row['bias']:+.4f} |")
        return
    if chosen.table == "rare":
        print("| labelled | judge | t alone | with bounds |\n|--:|---|--:|--:|")
        for n in (30, 60, 200, 1000):
            for judge, accepts in (("constant", None), ("accepts 10 %", 0.1)):
                row = rare_row(n, accepts, chosen.logs or 2000)
                print(f"| {n} | {judge} | {row['t alone']:.3f} | {row['covered']:.3f} |")
        return
    if chosen.table == "plans":
        print(
            "| metrics | primary metric planned | primary metric chosen afterwards |\n|--:|--:|--:|"
        )
        for metrics in (2, 5, 10, 20):
            row = plans_row(metrics, chosen.logs or 1000)
            print(f"| {metrics} | {row['planned']:.3f} | {row['chosen']:.3f} |")
        return
    print(
        "| launches, shared errors, slope | coverage | naive coverage | median slope | naive slope "
        "| cannot tell "
        "| launches needed | wrong verdict | signs | observed signs | true signs | Fieller | "
        "unbounded |\n|---" + "|--:" * 12 + "|"
    )
    for world in WORLDS:
        row = launches_row(world, chosen.logs or 300)
        shares = (
            "wrong verdict",
            "signs",
            "observed signs",
            "true signs",
            "Fieller covered",
            "Fieller unbounded",
        )
        print(
            f"| {world.launches}, {world.shared:g}, "
            f"{world.slope:g}{', weak effects' if world.spread < 1 else ''}",
            *(f"{row[name]:.3f}" for name in ("covered", "naive covered")),
            *(f"{row[name]:+.2f}" for name in ("slope", "naive")),
            f"{row['cannot tell']:.3f}",
            f"{row['needed']:.0f}",
            *(f"{row[name]:.3f}" for name in shares),
            sep=" | ",
            end=" |\n",
            flush=True,
        )


if __name__ == "__main__":
    main()
