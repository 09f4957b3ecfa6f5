"""The result of an evaluation on Spark, whose per-user values may stay there."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from rankwise.results.result import Result
from rankwise.spark.sessions import active_session, output_errors_of_spark
from rankwise.spark.tables import collected, send

__all__ = ["SparkResult"]


@dataclass(frozen=True, eq=False, repr=False)
class SparkResult(Result):
    """A `rankwise.Result` whose per-user values may stay in Spark.

    It is a `Result` in every respect. If there are too many users for the driver, their values are
    collected there at the first use of ``per_user``, as in `save` and `rankwise.compare`;
    `per_user_spark`, `write_per_user` and `rankwise.spark.compare` leave them in Spark.
    """

    @classmethod
    def of(cls, result: Result, values: DataFrame | None = None, kept: DataFrame | None = None) -> SparkResult:
        """Return a result, with its per-user values in Spark if they are not on the driver.

        ``kept`` is the table that Spark caches for them, until `release`.
        """
        made = cls(**{f.name: getattr(result, f.name) for f in fields(Result)})
        made.__dict__["_kept"] = kept
        if values is not None:
            made.__dict__["_values"] = values
            del made.__dict__["per_user"]  # from now on __getattr__ brings it
        return made

    def __getattr__(self, name: str) -> Any:
        if name != "per_user" or "_values" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__["per_user"] = collected(self.__dict__["_values"]).sort("user")
        return self.__dict__["per_user"]

    @property
    def is_collected(self) -> bool:
        """Whether the per-user values are on the driver."""
        return "per_user" in self.__dict__

    @property
    def per_user_spark(self) -> DataFrame:
        """The per-user values as a Spark table, in no particular order."""
        if "_values" not in self.__dict__:
            self.__dict__["_values"] = send(active_session(None), self.per_user)
        values: DataFrame = self.__dict__["_values"]
        return values

    def __reduce__(self) -> Any:
        # Elsewhere there may be no Spark: the result of an evaluation, with its users' values.
        return Result, tuple(getattr(self, f.name) for f in fields(Result))

    def release(self) -> None:
        """Release the cache of the per-user values; Spark recomputes them if they are used."""
        kept = self.__dict__.get("_kept")
        if kept is not None:
            kept.unpersist()

    def write_per_user(self, path: str | Path) -> None:
        """Write the per-user values as Parquet from the executors, replacing existing files.

        Raises
        ------
        OutputError
            If they cannot be written.
        """
        with output_errors_of_spark(str(path)):
            self.per_user_spark.write.mode("overwrite").parquet(str(path))
