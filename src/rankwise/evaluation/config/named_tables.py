"""The tables and systems that a configuration names: whether they are there, and fit together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

from rankwise.core.choices import TrainGroup
from rankwise.errors import OutputError, ParameterError, nearest
from rankwise.evaluation.config.document import Place
from rankwise.evaluation.config.mistakes import AS_BOOLEAN, Mistakes
from rankwise.evaluation.config.schema import MODELS, Config, Source
from rankwise.tables.formats import plain_stem
from rankwise.tables.parts import is_table_folder

__all__ = [
    "check_files",
    "check_output",
    "check_ranking",
    "check_tables",
    "check_tools",
    "has_training",
    "sources_of",
    "systems_of",
]


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


def has_training(config: Config, folder: Path) -> bool:
    """Return whether there are training interactions: named, of a split, or in the folder of one."""
    if config.data.train is not None or config.split is not None:
        return True
    if config.data.truth is None:
        return False
    path = folder / config.data.truth.path
    if not path.is_dir():  # a folder that is missing is a mistake of its own
        return not path.exists() and not path.suffix
    return any("train" in part.name for part in path.iterdir())


def check_tables(config: Config, systems: Mapping[str, Any], folder: Path, mistakes: Mistakes) -> None:
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
    trained = has_training(config, folder)
    if fitted and not trained:
        mistakes.add(
            ("systems", fitted[0]), "a baseline needs training interactions", "write data: {train: …}, or split"
        )
    if fitted and data.truth is None and config.split is None:
        mistakes.add(
            ("systems", fitted[0]), "a baseline needs the users of the ground truth", "write data: {truth: …}, or split"
        )
    sliced = None if config.decision is None else config.decision.slices
    by = _names(config.evaluation.by) | _names(sliced)
    of_train = by & set(get_args(TrainGroup))
    if by - of_train and data.users is None:
        mistakes.add(("evaluation", "by"), "groups of users need the table of users", "write data: {users: users.csv}")
    if of_train and not trained:
        mistakes.add(
            ("evaluation", "by"),
            f"{', '.join(sorted(of_train))}: these groups of users need training interactions",
            "write data: {train: …}, or split",
        )


def _names(given: Any) -> set[str]:
    return {given} if isinstance(given, str) else set(given or ())


def check_output(out: Path, folder: Path, sources: Sequence[Source]) -> None:
    """Raise if the output folder holds the configuration or one of its inputs, or is a file.

    Raises
    ------
    ParameterError
        If it holds what is read, which a run would replace.
    OutputError
        If it is a file.
    """
    whole, here = out.resolve(), folder.resolve()
    held = [path for source in sources if (path := (folder / source.path).resolve()).is_relative_to(whole)]
    if whole == here or here.is_relative_to(whole) or held:
        raise ParameterError(
            "the output folder holds the configuration, or what it reads",
            where=str(out),
            found=str(held[0] if held else here),
            hint="name another: output: {folder: results}",
        )
    if out.exists() and not out.is_dir():
        raise OutputError("this is a file, not a folder", where=str(out))


def check_ranking(config: Config, systems: Mapping[str, Any], folder: Path, mistakes: Mistakes) -> list[str]:
    """Check what is ranked, samples, candidate sets and seen items; return notes about it."""
    evaluation, trained = config.evaluation, has_training(config, folder)
    sampled, notes = evaluation.strategy == "sampled", []
    given = evaluation.model_fields_set
    drawn_by = evaluation.negative_sampling if sampled else "uniform"
    if sampled and config.data.truth is None and config.split is None:
        mistakes.add(("evaluation", "strategy"), "sampling needs the ground truth", "write data: {truth: …}, or split")
    if drawn_by == "popularity" and not trained:
        mistakes.add(
            ("evaluation", "negative_sampling"),
            "drawing by popularity needs training interactions",
            "write data: {train: …}, or split",
        )
    if not sampled:
        notes += [
            f"evaluation.{key} has no effect with strategy: full"
            for key in ("negative_sampling", "neg_alpha")
            if key in given
        ]
    elif "neg_alpha" in given and drawn_by == "uniform":
        notes.append("evaluation.neg_alpha has no effect with negative_sampling: uniform")
    if evaluation.candidates != "all" and sampled:
        notes.append("evaluation.candidates has no effect with strategy: sampled")
    _check_candidates(config, systems, mistakes, trained=trained)
    return notes


def _check_candidates(config: Config, systems: Mapping[str, Any], mistakes: Mistakes, *, trained: bool) -> None:
    """Check the items that may be ranked: cold or warm ones, seen ones."""
    evaluation = config.evaluation
    if evaluation.candidates != "all" and evaluation.strategy == "full":
        if not trained:
            mistakes.add(
                ("evaluation", "candidates"),
                "cold and warm items are told apart by training interactions",
                "write data: {train: …}, or split",
            )
        if evaluation.candidates == "cold" and config.data.items is None:
            mistakes.add(
                ("evaluation", "candidates"),
                "cold items are those of the catalogue without training interactions",
                "write data: {items: …}",
            )
    if evaluation.mask_seen == "context":
        mistakes.add(
            ("evaluation", "mask_seen"),
            "tables have no contexts here, so that items seen in another context cannot be told apart",
            "write mask_seen: pair (the same as exclude_seen: true), or none",
        )
    fitted = [name for name, system in systems.items() if not isinstance(system, Source)]
    if evaluation.mask_seen == "none" and fitted:
        mistakes.add(
            ("evaluation", "mask_seen"),
            f"baselines never recommend items that a user has seen ({', '.join(fitted)})",
            "evaluate run files with mask_seen: none",
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
        elif path.is_dir() and source.format not in (None, "parquet"):
            mistakes.add((*place, "format"), "the files of a folder tell their format", "leave format out")
        elif path.is_dir() and not is_table_folder(path) and place not in (("data", "truth"), ("data", "train")):
            mistakes.add(place, f"{source.path} is a folder, and not of Parquet files")
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
    if isinstance(name, str) and name.lower() in AS_BOOLEAN:
        mistakes.add(
            ("output", "report"), f"{name!r} is text, not a boolean", f"write report: {AS_BOOLEAN[name.lower()]}"
        )
    elif isinstance(name, str) and (Path(name).name != name or Path(name).suffix != ".html"):
        mistakes.add(
            ("output", "report"), f"{name!r} is no name of a file in the output folder", "write report: page.html"
        )
    engine = config.engine
    if engine.name == "spark":
        if find_spec("pyspark") is None:
            mistakes.add(("engine",), "pyspark is missing", 'pip install "rankwise[spark]"')
        if config.evaluation.strategy == "sampled":
            mistakes.add(("evaluation", "strategy"), "sampling needs the engine local")
        elif config.evaluation.candidates != "all":
            mistakes.add(("evaluation", "candidates"), "candidate sets need the engine local")
    elif engine.master is not None or engine.buckets is not None:
        mistakes.add(("engine",), "master and buckets need the engine spark")
