"""The sampling unit: which rows of values are independent, and the noun for these rows.

Everything that infers (intervals, tests, ranks, plans, studies of labels) and every sentence that
counts the sample reads it here, from the record of a result or of a comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

from rankwise.core.terminal import count_of

Row: TypeAlias = Literal["user", "request"]
_FEW_CLUSTERS = 10
"""Clusters below which the variance between them is hardly known."""


@dataclass(frozen=True)
class SamplingUnit:
    """The random sample that a mean is over: independent rows of values, or clusters of rows.

    Attributes
    ----------
    row : {"user", "request"}
        What one row of values is of.
    clusters : str or None
        The grouping whose groups of rows are the sample, because rows of one group are not
        independent: ``"user"`` for requests of users, or a column that the caller names, such as
        ``"household"``. None: every row is independent.

    Examples
    --------
    >>> REQUESTS.counted(213, 80), USERS.counted(1), USERS.within("household").counted(90, 30)
    ('213 requests of 80 users', '1 user', '90 users')
    """

    row: Row = "user"
    clusters: str | None = None

    @classmethod
    def of_result(cls, provenance: Mapping[str, Any]) -> Self:
        """Return the unit of a result: users, unless means are over requests of users."""
        over_requests = (
            "requests" in provenance and provenance["settings"].get("mean_over") != "users"
        )
        return cls("request", "user") if over_requests else cls()

    def within(self, clusters: str | None) -> Self:
        """Return the unit with the clusters that a caller names; unchanged for None."""
        return self if clusters is None else type(self)(self.row, clusters)

    @property
    def is_of_requests(self) -> bool:
        """Whether rows are requests, and their users the sample."""
        return self.row == "request" and self.clusters == "user"

    @property
    def rows(self) -> str:
        """The noun of several rows."""
        return f"{self.row}s"

    @property
    def cluster(self) -> str:
        """The noun of one cluster."""
        return "user" if self.is_of_requests else "cluster"

    def counted(self, rows: int, clusters: int | None = None) -> str:
        """Return the number of rows in words, and for requests also the number of users."""
        text = count_of(rows, self.row)
        return (
            text
            if clusters is None or not self.is_of_requests
            else f"{text} of {count_of(clusters, 'user')}"
        )

    def counted_in(self, row: Mapping[str, Any]) -> str:
        """Return the sample of one row of a comparison in words."""
        return self.counted(int(row["users"] or 0), row["clusters"])

    def users_in(self, row: Mapping[str, Any]) -> int:
        """Return the number of users of one row of a comparison, whose requests count once."""
        size = (
            row["clusters"] if self.is_of_requests and row["clusters"] is not None else row["users"]
        )
        return int(size or 0)

    def flags(self, clusters: int) -> list[str]:
        """Return the caveat of few clusters.

        >>> USERS.within("household").flags(4), REQUESTS.flags(4), REQUESTS.flags(40)
        (['only 4 clusters by household'], ['only 4 users'], [])
        """
        by = "" if self.is_of_requests else f" by {self.clusters}"
        return [f"only {count_of(clusters, self.cluster)}{by}"] if clusters < _FEW_CLUSTERS else []

    def unseen_flag(self, mean: float, largest: int) -> str:
        """Return the caveat of a bound: a cluster that was not sampled has the mean size.

        >>> REQUESTS.unseen_flag(3.42, 24)
        'an unseen user is taken to have 3.4 requests, the mean; the largest here has 24'
        """
        return (
            f"an unseen {self.cluster} is taken to have {mean:.1f} {self.rows}, the mean; the "
            f"largest here has {largest:,}"
        )

    def broken_size_flag(self, largest: int, stated: int) -> str:
        """Return the caveat of a cluster that is larger than was stated.

        >>> REQUESTS.broken_size_flag(30, 24)
        'a user has 30 requests, more than the 24 that were stated: nothing is shown'
        """
        return (
            f"a {self.cluster} has {largest:,} {self.rows}, more than the {stated:,} that were "
            "stated: nothing is shown"
        )

    @property
    def sampled(self) -> str:
        """The noun of one unit of the sample."""
        return self.row if self.clusters is None else self.cluster

    @property
    def unseen(self) -> str:
        """Those who were not sampled, in words."""
        return f"{self.sampled}s who were not sampled"

    def condition(self, loss: str) -> str:
        """Return the condition of a verdict: that nobody who was not sampled loses more.

        >>> USERS.condition("0.63"), USERS.within("household").condition("1.6")
        ('no user loses more than 0.63', "no cluster loses more than 1.6 users' worth")
        """
        if self.clusters is None:
            return f"no {self.row} loses more than {loss}"
        return f"no {self.cluster} loses more than {loss} {self.rows}' worth"

    @property
    def informative_flag(self) -> str:
        """The caveat of gains that depend on the size of a cluster.

        >>> REQUESTS.informative_flag
        'gains differ by size: the result depends on how many users with many requests there are'
        """
        return (
            f"gains differ by size: the result depends on how many {self.cluster}s with many "
            f"{self.rows} there are"
        )

    @property
    def untested_flag(self) -> str:
        """The caveat of clusters that no test can be made from.

        >>> REQUESTS.untested_flag
        'fewer than two users, or one with more than 80 % of the requests: no test'
        """
        return (
            f"fewer than two {self.cluster}s, or one with more than 80 % of the {self.rows}: "
            "no test"
        )

    @property
    def unvaried_flag(self) -> str:
        """The caveat of clusters that all have the same mean."""
        return f"{self.cluster}s do not vary"


USERS = SamplingUnit()
"""One row per user, each independent of the others."""
REQUESTS = SamplingUnit("request", "user")
"""One row per request; users are the sample."""
