"""Evaluate random worlds on every road, against one another and against the plain definitions.

``scripts/soak MINUTES`` evaluates one world after the other: sizes, ties, missing users, grades, text ids, cold
items, weights, groups, thresholds, cut-offs, duplicates, populations and conventions are drawn. Roads are compared
to the bit (PyTorch to 1e-12, for powers differ in their last digit) with one thread and compiled kernels, which is
compared with the plain definitions of `rankwise.functional` to 1e-9. The smallest world that differs is printed with
its seed, and ``scripts/soak --seed N`` repeats it. Each seed gives ten worlds. The command line runs in every 5th seed
and Spark, where Java is there, in every 20th, three worlds each. The exit code is 1 if something differs.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), *(str(TESTS / name) for name in ("spark", "torch", "soak"))]

from hypothesis import HealthCheck, find, settings  # noqa: E402
from hypothesis.errors import NoSuchExample  # noqa: E402
from plain_values import plain_differences  # noqa: E402
from random_worlds import Case, cases  # noqa: E402
from roads import COMMANDS, ROADS, SPARK, base, compared, is_same  # noqa: E402

import rankwise as rw  # noqa: E402
from tools import installed  # noqa: E402

WORLDS, SLOW_WORLDS = 10, 3
SHRINKING = 10.0
"""Seconds in which a smaller world that differs is looked for."""
EVERY_COMMAND, EVERY_SPARK = 5, 20
SEVERAL_PASSES = re.compile("hint: +evaluate (it|them|the metrics|each group) ")
"""What a road says that reads the data once, where metrics of a convention have different choices."""
PLAIN, TORCH = "plain", "torch"
NAMES = (*ROADS, PLAIN, *([TORCH] if installed("torch") else []))


class EnoughShrinkingError(KeyboardInterrupt):
    """The time to look for a smaller world is over: Hypothesis lets this exception through."""


@dataclass(frozen=True)
class Difference:
    """What a road gives that differs."""

    road: str
    name: str
    found: Any
    expected: Any

    @property
    def key(self) -> tuple[str, str]:
        """The road and the metric, without parameters and cut-off: reported once."""
        return self.road, self.name.partition("@")[0].partition("(")[0]

    def __str__(self) -> str:
        return f"  {self.road}: {self.name}: {self.found!r} beside {self.expected!r}"


@dataclass
class Soak:
    """The counts of a soak, and the differences that were reported."""

    roads: tuple[str, ...]
    worlds: int = 0
    refused: int = 0
    comparisons: Counter[str] = field(default_factory=Counter)
    reported: set[tuple[str, str]] = field(default_factory=set)

    def differences(self, case: Case, roads: tuple[str, ...]) -> list[Difference]:
        """Return what differs in a case and is not yet reported."""
        self.worlds += 1
        tables = case.tables()
        metrics = usable(case, tables)
        if not metrics:
            self.refused += 1
            return []
        reference = base(case, tables, metrics)
        out: list[Difference] = []
        for road in roads:
            out += self.on_road(road, partial(values_of, road, case, tables, metrics, reference))
        return [one for one in out if one.key not in self.reported]

    def on_road(
        self, road: str, values: Callable[[], Iterator[tuple[str, Any, Any]]]
    ) -> Iterator[Difference]:
        """Yield the differences of one road; an exception is one."""
        tolerance = {PLAIN: 1e-9, TORCH: 1e-12}.get(road, 0.0)
        try:
            for name, found, expected in values():
                self.comparisons[road] += 1
                if not is_same(found, expected, tolerance):
                    yield Difference(road, name, found, expected)
        except rw.RankwiseError as error:
            if not SEVERAL_PASSES.search(str(error)):
                yield Difference(road, type(error).__name__, str(error), "a value")
        except Exception as error:  # noqa: BLE001 - whatever a road raises where another gives a value
            place = traceback.extract_tb(error.__traceback__)[-1]
            yield Difference(
                road,
                f"{type(error).__name__} in {Path(place.filename).name}",
                str(error),
                "a value",
            )

    def run_seed(self, seed: int) -> None:
        """Draw the worlds of a seed, and report the smallest one of each kind of difference."""
        roads = tuple(road for road in self.roads if in_turn(road, seed))
        if not roads:
            return
        slow = any(road in (*COMMANDS, *SPARK) for road in roads)
        chosen = settings(
            max_examples=SLOW_WORLDS if slow else WORLDS,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        smallest: list[tuple[float, Case]] = []

        def differs(case: Case) -> bool:
            if smallest and time.monotonic() > smallest[0][0] + SHRINKING:
                raise EnoughShrinkingError
            if not self.differences(case, roads):
                return False
            smallest.append((time.monotonic(), case))
            return True

        with contextlib.suppress(NoSuchExample, EnoughShrinkingError):
            find(cases(), differs, settings=chosen, random=Random(seed))
        if not smallest:
            return
        case = smallest[-1][1]
        found = self.differences(case, roads)
        self.reported |= {one.key for one in found}
        lines = [f"seed {seed} differs:", *dict.fromkeys(map(str, found)), str(case), ""]
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()


def in_turn(road: str, seed: int) -> bool:
    """Return whether a road is taken in the worlds of a seed."""
    every = EVERY_COMMAND if road in COMMANDS else EVERY_SPARK if road in SPARK else 1
    return seed % every == 0


def usable(case: Case, tables: Any) -> tuple[str, ...]:
    """Return the metrics of a case that can be evaluated together; others lack scores, or refuse an option."""

    def works(*metrics: str) -> bool:
        try:
            base(case, tables, metrics)
        except rw.RankwiseError:
            return False
        return True

    if works(*case.metrics):
        return case.metrics
    alone = tuple(metric for metric in case.metrics if works(metric))
    return alone if alone and works(*alone) else alone[:1]


def values_of(
    road: str, case: Case, tables: Any, metrics: tuple[str, ...], reference: rw.Result
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the values of a road beside those of the reference; none where the road cannot be taken."""
    if road == PLAIN:
        yield from plain_differences(case, metrics, reference)
    elif road == TORCH:
        from torch_road import torch_values

        yield from torch_values(case, metrics)
    elif (result := ROADS[road](case, tables, metrics)) is not None:
        yield from compared(result, reference)


def main() -> None:
    """Read the command line, soak, and print the counts."""
    parser = argparse.ArgumentParser(
        "scripts/soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("minutes", type=float, nargs="?", help="how long; without it one seed")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument(
        "--only", choices=NAMES, action="append", help="a road; may be repeated (default: all)"
    )
    arguments = parser.parse_args()
    soak = Soak(tuple(arguments.only or NAMES))
    end = time.monotonic() + 60 * (arguments.minutes or 0)
    seed = arguments.seed
    warnings.simplefilter("ignore")
    while True:
        soak.run_seed(seed)
        seed += 1
        if time.monotonic() >= end:
            break
    counts = ", ".join(f"{road} {soak.comparisons[road]:,}" for road in soak.roads)
    sys.stdout.write(
        f"seeds {arguments.seed} to {seed - 1}: {soak.worlds:,} worlds ({soak.refused:,} refused), "
        f"{1 + len(soak.roads)} roads, {soak.comparisons.total():,} comparisons ({counts}), "
        f"{len(soak.reported)} differences\n"
    )
    sys.exit(bool(soak.reported))


if __name__ == "__main__":
    main()
