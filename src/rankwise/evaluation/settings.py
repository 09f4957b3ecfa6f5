"""The settings of an evaluation: its metrics, and its options under a convention.

`rankwise.core.options` declares every option, with its default, its check and its description. Functions take
``**options: Unpack[…]`` with one of the typed dictionaries of `rankwise.evaluation.option_sets`, so
that editors and mypy see each option with its type; `rankwise.evaluation.signatures` gives them the
whole signature and the descriptions. The command line makes its options from the same fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, get_args

from rankwise.core.choices import ANY_ROW, Population
from rankwise.core.options import Options, declare_option
from rankwise.core.user_rules import UserRule, UserRules, population_of_all
from rankwise.errors import ParameterError
from rankwise.evaluation.option_sets import ListOptions
from rankwise.evaluation.wanted import DEFAULT_MEASURES, RATING_MEASURES, options_under, requested

if TYPE_CHECKING:  # the help of the command line needs neither NumPy nor Polars
    from rankwise.convention.convention import Convention
    from rankwise.encoding.readings import Readings
    from rankwise.measures.measure import Measure
    from rankwise.measures.read import MeasureLike

__all__ = ["DEFAULT_MEASURES", "RATING_MEASURES", "Settings", "check_population", "option_fields", "option_summary"]


@dataclass(frozen=True, kw_only=True)
class Settings(Options):
    """The metrics and options of an evaluation, checked once."""

    measures: tuple[Measure, ...]
    exact: bool = False
    """Whether recommendations are exact ranks of judged items."""
    adjusted: bool = field(default=False, compare=False)
    """Whether ``exclude_seen``, ``warm_and_cold`` and ``jackknife`` are done to the tables."""
    exceptions: tuple[tuple[str, UserRule], ...] = ()
    """By name without cut-offs: the rules of measures that differ from the common rule."""
    ties_if_scored: bool = False
    """Whether ``ties`` holds only where scores order the lists, as that of a convention does."""
    convention: Convention | None = declare_option(
        None,
        "Convention whose definitions are used. A name (see `rankwise.conventions`) or a "
        "`rankwise.Convention`: metrics that are given as text mean what they mean in that "
        "library, and its choices hold for every option that is not given.",
        metavar="NAME",
        type="str or Convention",
        by_default="rankwise's defaults",
    )

    @classmethod
    def read(
        cls,
        measures: MeasureLike | Iterable[MeasureLike],
        options: Mapping[str, Any],
        known: type = ListOptions,
        **explicit: Any,
    ) -> Self:
        """Check options and measures.

        Parameters
        ----------
        measures : str, measure, or a list of them
            The measures.
        options : mapping of str to object
            The options that were given.
        known : type, default=ListOptions
            The typed dictionary of the options that the caller takes.
        **explicit : object
            Options that the caller's signature names.

        Raises
        ------
        UsageError
            If a measure or an option makes no sense.
        TypeError
            If there is no such option.
        """
        wanted, convention, given = requested(measures, options, known)
        if (ties := explicit.pop("ties", None)) is not None:
            given["ties"] = ties
        return cls.of(wanted, convention, given, **explicit)

    @classmethod
    def of(
        cls, measures: tuple[Measure, ...], convention: Convention | None, given: Mapping[str, Any], **explicit: Any
    ) -> Self:
        """Return the settings of measures that are read already."""
        options = given if convention is None else options_under(convention, measures, given)
        return cls(measures=measures, **{**options, **explicit})

    @cached_property
    def rules(self) -> UserRules:
        """The population of each measure, and the value of users for whom it is undefined."""
        rule = UserRule(self.population, self.undefined, self.without_list)
        return UserRules(rule, dict(self.exceptions))

    @cached_property
    def readings(self) -> Readings:
        """How ids and scores of the tables are taken."""
        from rankwise.encoding.readings import Readings

        return Readings(self.order_by, self.ids, self.score_precision)

    @cached_property
    def evaluated(self) -> Population:
        """The population of all measures together.

        Raises
        ------
        ParameterError
            If no population has the users of all measures.
        """
        rules = [self.rules.of(str(measure @ ())) for measure in self.measures]
        wanted = {rule.population for rule in rules} or {self.population}
        widest = population_of_all(wanted)
        if widest is None:
            raise ParameterError(
                "one evaluation cannot average these measures: their populations differ",
                found=", ".join(sorted(wanted)),
                hint="evaluate them in two calls",
            )
        return widest

    @property
    def needs_relevant(self) -> bool:
        """Whether some item must be relevant, because users without any have no value."""
        rules = [self.rules.of(str(measure @ ())) for measure in self.measures]
        return all(not rule.counts_irrelevant or rule.undefined == "skip" for rule in rules)

    def to_dict(self) -> dict[str, Any]:
        """Return what a result says about its settings, as plain values: all that can move a number."""
        saved = {entry.name: getattr(self, entry.name) for entry in fields(Options) if entry.compare}
        if not isinstance(self.weights, str | None):
            saved["weights"] = "given"
        if self.relevance_threshold == ANY_ROW:
            saved["relevance_threshold"] = None
        return {
            "measures": [str(measure) for measure in self.measures],
            "convention": "default" if self.convention is None else self.convention.name,
            **saved,
            "by": list(self.by),
            "ties_given": self.ties is not None and not self.ties_if_scored,
            "exact": self.exact,
        }


def check_population(users: object) -> None:
    """Raise if a population was given in place of the users table."""
    if isinstance(users, str) and users in get_args(Population):
        raise ParameterError(
            "users= takes a table of users; population= selects the users who are evaluated",
            found=f"users={users!r}",
            hint=f'write population="{users}"',
        )


def option_fields() -> dict[str, Field[Any]]:
    """Return the fields of `Settings` that are options, by name."""
    options = [entry for entry in fields(Settings) if "text" in entry.metadata]
    options.sort(key=lambda entry: entry.name != "convention")  # which decides the defaults of the rest
    return {entry.name: entry for entry in options}


def option_summary(field: Field[Any]) -> str:
    """Return the first sentence about an option, without its full stop and markup."""
    return str(field.metadata["text"].partition(". ")[0].rstrip(".").replace("``", ""))
