"""Evaluate random worlds on every road, against one another and against the plain definitions.

``scripts/soak MINUTES`` evaluates one world after the other, of every kind: recommendation lists, requests, slices of
relevant items, crossed groups, lists of codes, click probabilities, click events of interleaving experiments, stages,
logs of impressions, and decisions. Sizes, ties, missing users, grades, ids (at the limits of their types, and names with
every separator), cold items, weights, groups, thresholds, cut-offs, duplicates, populations and conventions are drawn.
Roads are compared to the bit (PyTorch to 1e-12, for powers differ in their last digit) with one call in Python, which
is compared with plain definitions to 1e-9; a road that refuses names one that does not. The smallest world that differs
is printed with its seed, and ``scripts/soak --seed N`` repeats it. Each seed gives ten worlds of each kind. The command
line and configuration files run in every 5th seed and Spark, where Java is there, in every 20th, three worlds of each
kind. The exit code is 1 if something differs.
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
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), *(str(TESTS / name) for name in ("spark", "torch", "soak"))]

import code_worlds  # noqa: E402
import crossed_worlds  # noqa: E402
import decision_worlds  # noqa: E402
import event_worlds  # noqa: E402
import log_worlds  # noqa: E402
import probability_worlds  # noqa: E402
import request_worlds  # noqa: E402
import roads  # noqa: E402
import slice_worlds  # noqa: E402
import stage_worlds  # noqa: E402
from hypothesis import HealthCheck, find, settings  # noqa: E402
from hypothesis.errors import NoSuchExample  # noqa: E402
from kinds import COMMANDS, PLAIN, SPARK, TORCH, Kind, is_same  # noqa: E402

import rankwise as rw  # noqa: E402

WORLDS, SLOW_WORLDS = 10, 3
SHRINKING = 10.0
"""Seconds in which a smaller world that differs is looked for."""
EVERY_COMMAND, EVERY_SPARK = 5, 20
NAMES_A_ROAD = re.compile(
    r"(rw\.|rankwise\.)evaluate (has it|makes one)|evaluate (it|them|the metrics|each group) "
)
"""What a road says that refuses some worlds of lists, by their data or the choices of a convention."""
TAKES_IT = re.compile(r"rankwise\.\w+ takes it|use rankwise\.\w+")
"""What a road says that refuses by its declaration."""
MODULES = (
    roads,
    request_worlds,
    slice_worlds,
    crossed_worlds,
    code_worlds,
    probability_worlds,
    stage_worlds,
    event_worlds,
    log_worlds,
    decision_worlds,
)
KINDS = {module.KIND.name: module.KIND for module in MODULES}
ROADS = tuple(dict.fromkeys(road for kind in KINDS.values() for road in kind.names))


class EnoughShrinkingError(KeyboardInterrupt):
    """The time to look for a smaller world is over: Hypothesis lets this exception through."""


@dataclass(frozen=True)
class Difference:
    """What a road gives that differs."""

    kind: str
    road: str
    name: str
    found: Any
    expected: Any

    @property
    def key(self) -> tuple[str, str, str]:
        """The kind, the road and the metric, without parameters and cut-off: reported once."""
        return self.kind, self.road, self.name.partition("@")[0].partition("(")[0]

    def __str__(self) -> str:
        return f"  {self.road}: {self.name}: {self.found!r} beside {self.expected!r}"


@dataclass
class Soak:
    """The counts of a soak, and the differences that were reported."""

    roads: tuple[str, ...] = ROADS
    kinds: tuple[Kind, ...] = tuple(KINDS.values())
    worlds: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    comparisons: Counter[tuple[str, str]] = field(default_factory=Counter)
    reported: set[tuple[str, str, str]] = field(default_factory=set)

    def differences(self, kind: Kind, world: Any, roads: tuple[str, ...]) -> list[Difference]:
        """Return what differs in a world and is not yet reported."""
        self.worlds[kind.name] += 1
        try:
            result = kind.call(world)
        except rw.RankwiseError as error:
            self.refused[kind.name] += 1
            found = self.of_refused(kind, world, error, roads)
        except Exception as error:  # noqa: BLE001 - whatever a call raises that is no refusal
            found = [Difference(kind.name, "call", _place(error), str(error), "a result")]
        else:
            found = [one for road in roads for one in self.on_road(kind, road, world, result)]
        return [one for one in found if one.key not in self.reported]

    def on_road(self, kind: Kind, road: str, world: Any, result: Any) -> Iterator[Difference]:
        """Yield the differences of one road; an exception is one, unless the road declares it."""
        tolerance = {PLAIN: 1e-9, TORCH: 1e-12}.get(road, 0.0)
        is_declared = kind.refuses(world, road)
        try:
            with TemporaryDirectory() as folder:
                for name, value, expected in kind.compare(road, world, result, Path(folder)):
                    self.comparisons[kind.name, road] += 1
                    if not is_same(value, expected, tolerance):
                        yield Difference(kind.name, road, name, value, expected)
        except rw.RankwiseError as error:
            pattern = TAKES_IT if is_declared else NAMES_A_ROAD
            if not pattern.search(" ".join(str(error).split())):
                yield Difference(kind.name, road, type(error).__name__, str(error), "a value")
            return
        except Exception as error:  # noqa: BLE001 - whatever a road raises where another gives a value
            yield Difference(kind.name, road, _place(error), str(error), "a value")
            return
        if is_declared:
            yield Difference(kind.name, road, "refusal", "a value", "an error that names a road")

    def of_refused(
        self, kind: Kind, world: Any, refusal: rw.RankwiseError, roads: tuple[str, ...]
    ) -> list[Difference]:
        """Return the roads that take a world which the call refuses, or fail in another way."""
        out = []
        for road in roads:
            if road in kind.beside:
                continue
            try:
                with TemporaryDirectory() as folder:
                    values = kind.roads[road](world, Path(folder))
            except rw.RankwiseError:
                self.comparisons[kind.name, road] += 1
            except Exception as error:  # noqa: BLE001 - whatever a road raises where another refuses
                out.append(Difference(kind.name, road, _place(error), str(error), str(refusal)))
            else:
                if values is not None:
                    out.append(Difference(kind.name, road, "refusal", "a value", str(refusal)))
        return out

    def run_seed(self, seed: int) -> None:
        """Draw the worlds of each kind, and report the smallest one of each kind of difference."""
        for kind in self.kinds:
            roads = tuple(road for road in self.roads if road in kind.names and in_turn(road, seed))
            if roads:
                self.run_kind(kind, roads, seed)

    def run_kind(self, kind: Kind, roads: tuple[str, ...], seed: int) -> None:
        """Draw the worlds of a kind, and report the smallest one that differs."""
        is_slow = any(road in (*COMMANDS, SPARK) for road in roads)
        chosen = settings(
            max_examples=SLOW_WORLDS if is_slow else WORLDS,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        smallest: list[tuple[float, Any]] = []

        def differs(world: Any) -> bool:
            if smallest and time.monotonic() > smallest[0][0] + SHRINKING:
                raise EnoughShrinkingError
            if not self.differences(kind, world, roads):
                return False
            smallest.append((time.monotonic(), world))
            return True

        with contextlib.suppress(NoSuchExample, EnoughShrinkingError):
            find(kind.worlds, differs, settings=chosen, random=Random(seed))
        if not smallest:
            return
        world = smallest[-1][1]
        found = self.differences(kind, world, roads)
        self.reported |= {one.key for one in found}
        title = f"seed {seed} of {kind.name} differs:"
        lines = [title, *dict.fromkeys(map(str, found)), str(world), ""]
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()

    def summary(self) -> Iterator[str]:
        """Yield a line for each kind, with the comparisons of each road."""
        for kind in self.kinds:
            counts = ", ".join(
                f"{road} {self.comparisons[kind.name, road]:,}"
                for road in self.roads
                if road in kind.names
            )
            worlds, refused = self.worlds[kind.name], self.refused[kind.name]
            yield f"{kind.name}: {worlds:,} worlds ({refused:,} refused): {counts}"


def _place(error: Exception) -> str:
    """Return the type of an exception and the file that raises it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}"


def in_turn(road: str, seed: int) -> bool:
    """Return whether a road is taken in the worlds of a seed."""
    every = EVERY_COMMAND if road in COMMANDS else EVERY_SPARK if road == SPARK else 1
    return seed % every == 0


def main() -> None:
    """Read the command line, soak, and print the counts."""
    parser = argparse.ArgumentParser(
        "scripts/soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("minutes", type=float, nargs="?", help="how long; without it one seed")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument(
        "--only", choices=ROADS, action="append", help="a road; may be repeated (default: all)"
    )
    parser.add_argument(
        "--kind",
        choices=KINDS,
        action="append",
        help="a kind of worlds; may be repeated (default: all)",
    )
    arguments = parser.parse_args()
    kinds = tuple(KINDS[name] for name in arguments.kind or KINDS)
    soak = Soak(tuple(arguments.only or ROADS), kinds)
    end = time.monotonic() + 60 * (arguments.minutes or 0)
    seed = arguments.seed
    warnings.simplefilter("ignore")
    while True:
        soak.run_seed(seed)
        seed += 1
        if time.monotonic() >= end:
            break
    total = (
        f"seeds {arguments.seed} to {seed - 1}: {soak.worlds.total():,} worlds, "
        f"{soak.comparisons.total():,} comparisons, {len(soak.reported)} differences"
    )
    sys.stdout.write("\n".join([*soak.summary(), total]) + "\n")
    sys.exit(bool(soak.reported))


if __name__ == "__main__":
    main()
