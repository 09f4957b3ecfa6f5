"""The tables and systems that a configuration names: whether they are there, and fit together."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

from rankwise.core.choices import TrainGroup
from rankwise.errors import nearest
from rankwise.evaluation.config.document import Place
from rankwise.evaluation.config.mistakes import Mistakes
from rankwise.evaluation.config.schema import MODELS, Config, Source
from rankwise.tables.formats import plain_stem

__all__ = ["check_files", "check_tables", "check_tools", "sources_of", "systems_of"]


def systems_of(config: Config, mistakes: Mistakes) -> dict[str, Any]:
    """Return the systems by name, those of ``data.recommendations`` as well."""
    alone = config.data.recommendations
    if alone is not None and config.systems:
        mistakes.add(("data", "recommendations"), "systems already give the recommendation lists")
    if alone is not None:
        return {plain_stem(alone.path): alone}
    if not config.systems:
        mistakes.add(("systems",), "there is nothing to evaluate", "write systems: {name: run.csv}")
    for name, system in config.systems.items():
        if isinstance(system, Source):
            continue
        known = MODELS[system.model].__dataclass_fields__
        for key in system.model_fields_set - {"model", "k"}:
            if key not in known:
                mistakes.add(("systems", name, key), f"{system.model} has no parameter {key!r}")
    return dict(config.systems)


def check_tables(config: Config, systems: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Check that the tables that are needed are named, and none twice."""
    data, place = config.data, ("data",)
    if config.split is None and data.interactions is not None:
        mistakes.add(
            ("data", "interactions"),
            "these are split by `split`, which is missing",
            "write split: {rule: GlobalTime, share: 0.2}",
        )
    if config.split is not None:
        if data.interactions is None:
            mistakes.add(("split",), "there are no interactions to split", "write data: {interactions: ratings.csv}")
        for role in ("truth", "train"):
            if getattr(data, role) is not None:
                mistakes.add((*place, role), "split makes it from data.interactions")
    fitted = [name for name, system in systems.items() if not isinstance(system, Source)]
    folder = data.truth is not None and not Path(data.truth.path).suffix
    if fitted and data.train is None and config.split is None and not folder:
        mistakes.add(
            ("systems", fitted[0]), "a baseline needs training interactions", "write data: {train: …}, or split"
        )
    if fitted and data.truth is None and config.split is None:
        mistakes.add(
            ("systems", fitted[0]), "a baseline needs the users of the ground truth", "write data: {truth: …}, or split"
        )
    sliced = None if config.decision is None else config.decision.slices
    given = config.evaluation.by or sliced or ()
    by = {given} if isinstance(given, str) else set(given)
    of_train = by & set(get_args(TrainGroup))
    if by - of_train and data.users is None:
        mistakes.add(("evaluation", "by"), "groups of users need the table of users", "write data: {users: users.csv}")
    if of_train and data.train is None and config.split is None and not folder:
        mistakes.add(
            ("evaluation", "by"),
            f"{', '.join(sorted(of_train))}: these groups of users need training interactions",
            "write data: {train: …}, or split",
        )


def sources_of(config: Config, systems: Mapping[str, Any]) -> list[tuple[Place, Source]]:
    """Return every file that is named, and where."""
    named = [(("data", role), getattr(config.data, role)) for role in type(config.data).model_fields]
    found: list[tuple[Place, Source]] = [(place, s) for place, s in named if s is not None]
    found += [
        (("systems", name), s)
        for name, s in systems.items()
        if isinstance(s, Source) and s is not config.data.recommendations
    ]
    return found


def check_files(config: Config, systems: Mapping[str, Any], folder: Path, mistakes: Mistakes) -> None:
    """Check that files are there, and that what is said of their format makes sense."""
    for place, source in sources_of(config, systems):
        path = folder / source.path
        if not path.exists():
            near = [other.name for other in path.parent.glob("*")] if path.parent.is_dir() else []
            mistakes.add(place, f"there is no file {source.path}", nearest(path.name, near))
        elif path.is_dir() and place not in (("data", "truth"), ("data", "train")):
            mistakes.add(place, f"{source.path} is a folder")
        if (source.separator or source.header) and source.format not in ("csv", "movielens"):
            mistakes.add((*place, "format"), "separator and header go with format: csv or movielens")
        if source.format is not None and config.engine.name == "spark":
            mistakes.add((*place, "format"), "Spark recognises formats itself")


def check_tools(config: Config, mistakes: Mistakes) -> None:
    """Check that the libraries that the outputs need are installed, before any work."""
    if config.output.report is not False:
        needed = ("jinja2", "altair", "vl_convert")
        missing = [name for name in needed if find_spec(name) is None]
        if missing:
            mistakes.add(
                ("output", "report"),
                f"a report needs {', '.join(missing)}",
                'pip install "rankwise[report]", or write report: false',
            )
    name = config.output.report
    if isinstance(name, str) and (Path(name).name != name or Path(name).suffix != ".html"):
        mistakes.add(
            ("output", "report"), f"{name!r} is no name of a file in the output folder", "write report: page.html"
        )
    engine = config.engine
    if engine.name == "spark":
        if find_spec("pyspark") is None:
            mistakes.add(("engine",), "pyspark is missing", 'pip install "rankwise[spark]"')
        if config.evaluation.strategy == "sampled":
            mistakes.add(("evaluation", "strategy"), "sampling needs the engine local")
    elif engine.master is not None or engine.buckets is not None:
        mistakes.add(("engine",), "master and buckets need the engine spark")
