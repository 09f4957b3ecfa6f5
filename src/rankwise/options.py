"""The options of an evaluation, each declared once: default, check, description, comparison.

Signatures, the command line, YAML files, what a result saves, and the check that two results may be
compared derive from the fields of `Options`. A new option is compared by default: only a reason in
its declaration exempts it.

An option is compared unless its declaration says why it need not be. ``Options`` derives from
``Choices``, the options that a convention decides; a choice also declares its scope (who is
averaged over, what is relevant, how lists are read, how tables are taken) and whether one metric
may have its own. ``Settings`` are options and metrics. A ``Convention`` is ``Choices`` with a name
and definitions of metrics, an ``Entry`` has the choices of one name, and a ``Definition`` is one
metric with its ``Choices``: none of them lists choices. ``EncodingRules`` hold the ``Options``.
``takes_options`` adds the options to the signatures and docstrings of ``evaluate``, ``Evaluator``,
``evaluate_model`` and ``evaluate_ratings``, and the command line and configuration files make their
options from the same fields. Editors and mypy see a ``TypedDict`` (PEP 692), because Python cannot
derive one from a dataclass; a test checks that the two agree, and another that a new option needs
its declaration alone. ``core/arguments`` fills other shared descriptions into docstrings, and the
decorator ``metric`` the inherited parameters of a metric, so that ``help()`` and the pages are
complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from numbers import Real
from typing import Any, Literal, TypeAlias, get_args

from rankwise.core.arguments import (
    SMALL_GROUP,
    bounded,
    check_choice,
    check_count,
    check_number,
    check_positive,
    is_slice_of_truth,
)
from rankwise.core.populations import POPULATIONS, PopulationName
from rankwise.errors import ParameterError
from rankwise.messages import parameter

__all__ = [
    "ANY_ROW",
    "COLD_ITEMS",
    "DEFAULT_RULE",
    "DEFAULT_RULES",
    "ONE_PER_PASS",
    "ROADS",
    "SHORTHANDS",
    "TABLES",
    "Agreement",
    "AveragingRule",
    "AveragingRules",
    "CatalogueRule",
    "Choices",
    "Duplicates",
    "EmptyLists",
    "Form",
    "IdType",
    "MeanOver",
    "NotOn",
    "Options",
    "OrderBy",
    "Ranks",
    "Relevance",
    "Road",
    "Scope",
    "ScorePrecision",
    "Ties",
    "Undefined",
    "WithoutList",
    "choice_values",
    "compared_options",
    "declare_option",
    "options_of",
]

Duplicates: TypeAlias = Literal["error", "first", "keep"]
IdType: TypeAlias = Literal["typed", "text"]
OrderBy: TypeAlias = Literal["rank", "score"]
MeanOver: TypeAlias = Literal["requests", "users"]
CatalogueRule: TypeAlias = Literal["items", "train"]
EmptyLists: TypeAlias = Literal["absent", "present"]
Ranks: TypeAlias = Literal["close", "keep"]
Relevance: TypeAlias = Literal["positive", "any", "graded"]
ANY_ROW = float("-inf")
"""The threshold of relevance that every row of the ground truth reaches."""
ScorePrecision: TypeAlias = Literal["float64", "float32"]
Ties: TypeAlias = Literal["input", "expected", "item", "item_desc", "optimistic", "pessimistic"]
Undefined: TypeAlias = Literal["skip", "zero", "nan"]
WithoutList: TypeAlias = Literal["skip", "zero"]


Agreement: TypeAlias = Literal["equal", "per_metric", "ties", "where_counted", "where_read"]
"""What `rankwise.compare` needs of an option of two results: equal values; equal values for every
metric that both have; the rule for ties; equal values where something was counted in both; or equal
values where a metric that is compared reads what the option is about."""


Scope: TypeAlias = Literal["population", "lists", "relevance", "tables"]
"""Where a choice acts: who is averaged over, how lists are read, what is relevant, how tables are taken before
anything is matched."""
ONE_PER_PASS: tuple[Scope, ...] = ("lists", "relevance", "tables")
"""The scopes of which all metrics of one pass over the data need the same choices."""
Road: TypeAlias = Literal[
    "evaluate", "pieces", "chunks", "command", "configuration", "spark", "torch", "model", "ratings"
]
"""A way to evaluate."""
ROADS: dict[Road, str] = {
    "evaluate": "rankwise.evaluate",
    "pieces": "rankwise.Evaluator",
    "chunks": "rankwise.evaluate with chunk_rows",
    "command": "the command line",
    "configuration": "a configuration file",
    "spark": "rankwise.spark.evaluate",
    "torch": "rankwise.torch",
    "model": "rankwise.evaluate_model",
    "ratings": "rankwise.evaluate_ratings",
}
"""What each road is called in messages."""
NotOn: TypeAlias = dict[Road, str]
"""The roads that refuse something, each with the reason."""
_PIECES: NotOn = dict.fromkeys(("pieces", "chunks"), "all lists are needed at once")
_COLUMN_OF_ITEMS: NotOn = {"command": "it takes the name of a column of --items"}
_CHUNKS: NotOn = {"chunks": "all lists are needed at once"}
_TENSORS: NotOn = {"torch": "tensors are read as they are"}
_MODEL: NotOn = {"model": "a model names items itself"}
_RATED: NotOn = {"ratings": "the rated items of each user are the list"}


@dataclass(frozen=True, eq=False)
class Form:
    """A form of an option's value that not every road accepts.

    Attributes
    ----------
    text : str
        How it is written.
    is_given : callable
        Whether a value has this form.
    not_on : mapping of str to str
        The roads that refuse it, each with the reason.
    """

    text: str
    is_given: Callable[[Any], bool]
    not_on: NotOn


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


COLD_ITEMS = "item:cold"
"""The slices of relevant items that training knows, and that it does not."""


def _slices_of_truth(by: Any) -> list[str]:
    names = (by,) if isinstance(by, str) else by or ()
    return [name for name in names if isinstance(name, str) and is_slice_of_truth(name)]


def _has_cold_slice(by: Any) -> bool:
    return COLD_ITEMS in _slices_of_truth(by)


def _has_slice_of_truth(by: Any) -> bool:
    return any(name != COLD_ITEMS for name in _slices_of_truth(by))


def declare_option(
    default: Any,
    text: str,
    *,
    scope: Scope | None = None,
    per_metric: bool = False,
    not_on: NotOn | None = None,
    forms: Sequence[Form] = (),
    agreement: Agreement | None = None,
    counted: tuple[str, ...] = (),
    not_compared: str = "",
    saved_if_changed: bool = False,
    moves_numbers: bool = True,
    **more: Any,
) -> Any:
    """Make the field of an option: the first sentence of its text is the command line's help.

    Parameters
    ----------
    default : object
        Its default.
    text : str
        Its description.
    scope : str, optional
        Where a choice acts; None for options that no convention decides.
    per_metric : bool, default=False
        Whether a convention may decide it for one metric.
    not_on : mapping of str to str, optional
        The roads that refuse it, each with the reason.
    forms : sequence of Form, default=()
        Forms of its value that fewer roads take.
    agreement : str, optional
        What comparing two results needs; by default ``"per_metric"`` or ``"equal"``.
    counted : tuple of str, default=()
        For ``"where_counted"``, the counts that say that the option had an effect.
    not_compared : str, default=""
        Why results that differ in it may be compared; empty where they may not.
    saved_if_changed : bool, default=False
        Whether saved conventions leave out its default, because older ones lack the choice.
    moves_numbers : bool, default=True
        Whether settings that differ in it differ.
    **more : object
        What the text alone does not say: ``flag``, ``metavar`` and ``by_default`` of the command
        line, ``type`` in words, the ``least`` value, ``choices``.
    """
    metadata = {
        "text": text,
        "scope": scope,
        "per_metric": per_metric,
        "not_on": not_on or {},
        "forms": tuple(forms),
        "agreement": agreement or ("per_metric" if per_metric else "equal"),
        "counted": counted,
        "not_compared": not_compared,
        "saved_if_changed": saved_if_changed,
    }
    return field(default=default, compare=moves_numbers, metadata=metadata | more)


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The options that a convention decides, checked."""

    relevance: Relevance = declare_option(
        "positive",
        "Which ground-truth rows are relevant if there is no rating threshold. "
        '``"positive"``: those with a relevance above 0; ``"any"``: all of them; ``"graded"``: '
        "those with a "
        "relevance above 0, also if there is a threshold, which is then for other metrics. "
        "`rankwise.evaluate` also "
        'takes the grades of events, ``{"view": 0, "cart": 1, "purchase": 3}``: of several rows of '
        "a user and an item "
        "the largest counts.",
        choices=Relevance,
        scope="relevance",
        per_metric=True,
        forms=(
            Form(
                "relevance={event: grade}",
                _is_mapping,
                {
                    "torch": "tensors have relevances, and no events",
                    "ratings": "ratings are relevances, and no events",
                },
            ),
        ),
    )
    population: PopulationName = declare_option(
        "truth",
        'Which users are evaluated. ``"truth"``: users with a relevant item; '
        '``"both"``: users with a relevant item and a recommendation list; '
        '``"recommended"``: users with a list; ``"judged"``: users with a row in the ground '
        'truth, relevant or not; ``"judged_both"``: those of them who have a list; ``"all"``: '
        "users with a relevant item or a list. The population is the same for all metrics, unless "
        "a convention has another one for some.",
        choices=PopulationName,
        scope="population",
        per_metric=True,
    )
    undefined: Undefined = declare_option(
        "skip",
        "Users without a relevant item: leave out (skip), count 0 (zero), or make the mean NaN "
        "(nan). This is about accuracy metrics; 0 counts also where it is the best value "
        "(``fallout``), and of a metric made of others the others count 0.",
        choices=Undefined,
        scope="population",
        per_metric=True,
    )
    without_list: WithoutList = declare_option(
        "skip",
        "Value of list metrics (diversity, novelty, popularity, …) for an evaluated user "
        'without a recommendation list. ``"skip"``: none; ``"zero"``: 0, which is refused for '
        "metrics "
        "whose best value is 0. Accuracy metrics of these users are 0 either way.",
        choices=WithoutList,
        scope="population",
        per_metric=True,
    )
    ties: Ties | None = declare_option(
        None,
        'How tied scores are ordered. ``"expected"``: the mean over all orders (default '
        'where lists are ordered by score); ``"input"``: as given; ``"item"``, '
        '``"item_desc"``: by item id; ``"optimistic"``, ``"pessimistic"``: relevant items '
        'first or last. Metrics that describe lists order ties by item id unless ``"input"`` or '
        '``"item_desc"`` is given.',
        by_default="expected where scores order",
        type="str",
        choices=Ties,
        scope="lists",
        per_metric=True,
        agreement="ties",
        forms=(
            Form(
                'ties="input", "optimistic" or "pessimistic"',
                lambda ties: ties in ("input", "optimistic", "pessimistic"),
                {"model": "the scores of a model are ranked before it is known what is relevant"},
            ),
        ),
    )
    duplicates: Duplicates = declare_option(
        "error",
        "What to do with a duplicate item in a list, or in a user's ground truth. "
        '``"error"``: raise; ``"first"``: keep the best-ranked row (ground truth: the most '
        'relevant), and count the rows that are dropped, above which the others move up; ``"keep"``: '
        "only the best-ranked row counts, and each repetition keeps its place (as in Haystack), for "
        "which only accuracy metrics are defined.",
        choices=Duplicates,
        scope="lists",
        agreement="where_counted",
        counted=("duplicates_dropped", "duplicates_kept"),
        not_on=_TENSORS,
        forms=(Form('duplicates="keep"', lambda rule: rule == "keep", _RATED | _MODEL),),
    )
    ranks: Ranks = declare_option(
        "close",
        'What to do with gaps between the ranks of a list. ``"close"``: items below a '
        'gap move up; ``"keep"``: they keep their ranks (as in RecTools), for which only '
        "accuracy metrics are defined. Lists with gaps are counted.",
        choices=Ranks,
        scope="lists",
        saved_if_changed=True,
        agreement="where_counted",
        counted=("lists_with_rank_gaps",),
        not_on=_TENSORS | {"ratings": "predictions order the rated items, which have no ranks"},
    )
    empty_lists: EmptyLists = declare_option(
        "absent",
        "What a list is that is there and has no item, as in ``{user: []}``. "
        '``"absent"``: the user has no list; ``"present"``: a list in which nothing is found (as '
        "in BEIR and MTEB), for which only accuracy metrics are defined. It matters where only "
        "users with a list are evaluated.",
        choices=EmptyLists,
        scope="lists",
        per_metric=True,
        saved_if_changed=True,
        agreement="where_counted",
        counted=("empty_lists",),
        not_on=_TENSORS
        | _RATED
        | {
            "spark": "rows of a data frame tell of no empty list",
            "model": "a user for whom a model has no item has no list",
        },
    )
    order_by: OrderBy = declare_option(
        "rank",
        'What orders lists that have both ranks and scores. With ``"score"`` ranks are ignored.',
        choices=OrderBy,
        scope="tables",
        not_on=_TENSORS,
    )
    ids: IdType = declare_option(
        "typed",
        'How ids are compared. ``"typed"``: as they are; ``"text"``: as text, so that '
        '1 matches ``"1"``, and 10 comes before 9 where item ids order ties.',
        choices=IdType,
        scope="tables",
        not_on=_TENSORS,
    )
    score_precision: ScorePrecision = declare_option(
        "float64",
        "Precision of the scores that order lists. In float32 scores that differ only in the "
        "eighth digit are tied.",
        choices=ScorePrecision,
        scope="tables",
        not_on=_TENSORS,
    )
    catalogue: CatalogueRule = declare_option(
        "items",
        'Which items form the catalogue. ``"items"``: those of ``items``, or every item '
        'seen if it is not given; ``"train"``: those of ``train`` only.',
        choices=CatalogueRule,
        scope="tables",
        agreement="where_read",
        not_on={"torch": "the catalogue is that of the columns, or items="},
    )

    def __post_init__(self) -> None:
        for entry in fields(Choices):
            value = getattr(self, entry.name)
            if not (value is None and entry.default is None):
                check_choice(entry.name, value, entry.metadata["choices"])


def choice_values(*scopes: Scope, per_metric: bool | None = None) -> dict[str, Any]:
    """Return the `Literal` of each choice, by name: per-metric choices first, then by scope.

    >>> list(choice_values("tables"))
    ['order_by', 'ids', 'score_precision', 'catalogue']
    """
    order = scopes or get_args(Scope)
    entries = [entry for entry in fields(Choices) if entry.metadata["scope"] in order]
    entries.sort(
        key=lambda entry: (not entry.metadata["per_metric"], order.index(entry.metadata["scope"]))
    )
    return {
        entry.name: entry.metadata["choices"]
        for entry in entries
        if per_metric is None or entry.metadata["per_metric"] == per_metric
    }


@dataclass(frozen=True)
class AveragingRule:
    """The population of a metric, and the value of users for whom the metric is undefined."""

    population: PopulationName = Choices.population
    undefined: Undefined = Choices.undefined
    without_list: WithoutList = Choices.without_list

    def includes(self, evaluated: PopulationName, n_relevant: Any, list_length: Any) -> Any:
        """Return which of the evaluated users belong to the population, shape (U,).

        Parameters
        ----------
        evaluated : str
            The population of all evaluated users, which includes this one.
        n_relevant, list_length : array of int, shape (U,)
            Relevant items of each user, and items recommended.

        Returns
        -------
        array of bool or None
            None if they all belong to it.
        """
        if self.population == evaluated:
            return None
        return POPULATIONS[self.population].includes(
            relevant=n_relevant > 0,
            listed=list_length > 0,
            judged="judged" in POPULATIONS[evaluated].needs,  # they all are, or nobody asks
        )

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> AveragingRule:
        """Return the rule that options say."""
        return cls(**{name: options[name] for name in choice_values("population")})

    @property
    def counts_irrelevant(self) -> bool:
        """Whether users without relevant items belong to the population."""
        return not POPULATIONS[self.population].needs_relevant


@dataclass(frozen=True, eq=False, repr=False)
class AveragingRules:
    """One rule for all metrics, and the exceptions by name of the metric without cut-offs."""

    default: AveragingRule = field(default_factory=AveragingRule)
    exceptions: Mapping[str, AveragingRule] = field(default_factory=dict)

    def of(self, metric: Any) -> AveragingRule:
        """Return the rule of a metric; the name is made only if any metric has an exception."""
        return (
            self.exceptions.get(str(metric @ ()), self.default) if self.exceptions else self.default
        )


DEFAULT_RULE = AveragingRule()
DEFAULT_RULES = AveragingRules()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Options(Choices):
    """The options of an evaluation, checked once.

    Options that cannot change a value (threads, block size, progress) are ignored by ``==``.
    """

    relevance_threshold: float | None = declare_option(
        None,
        "Count items as relevant from this rating on. Without it every ground-truth row with a "
        "relevance above 0 is relevant.",
        flag="--threshold",
    )
    exclude_seen: bool = declare_option(
        False,
        "Remove items of each user's training history from the lists: with a split, the items "
        "that are known before its test part. Items below them move up. Removed items are "
        "counted, as are relevant items that can no longer be found. "
        "(`rankwise.rank` excludes seen items before it cuts the lists.)",
        not_on=_PIECES | _RATED,
    )
    judged_only: bool = declare_option(
        False,
        "Remove items that are not judged from the lists. These are items without a row in the "
        "user's ground "
        "truth, or with a negative relevance there. Items below them move up, and removed items "
        "are counted; a "
        "list without a judged item is as if it were not there.",
        not_on=_TENSORS,
    )
    depth: int | None = declare_option(
        None,
        "Number of items of each list that are evaluated. Items below this rank are as if they "
        "were not "
        "recommended, for metrics without a cut-off as well.",
        metavar="K",
        not_on={"torch": "list_length= cuts rankings, and lists are as long as they are"},
    )
    by: tuple[str, ...] = declare_option(
        (),
        "Columns of the users table whose groups are evaluated as well, or ``activity``, "
        "``popularity`` or ``history``. The first two are terciles of the training users: by their "
        "number of distinct training items, and by the mean number of training users of these "
        "items. Their groups are ``low``, ``middle``, ``high``, and ``none`` for users without "
        "training interactions. By history users are ``warm`` or, without training interactions, "
        "``cold``. Bias disparity has no slices: its cells are groups of users already. Slices of "
        "relevant items are ``item:COLUMN``, ``item:popularity``, ``item:cold``, ``repeat`` and "
        "``truth:COLUMN``. Edges cut numbers: ``age[30,50]``, ``item:price[5,20]``.",
        metavar="COLUMN",
        type="str or list of str",
        not_compared="it adds slices, and moves no value",
        forms=(
            Form(
                'by="item:cold"',
                _has_cold_slice,
                _PIECES | {"torch": "slices of the ground truth need all lists at once"},
            ),
            Form(
                'by="item:…", "truth:…" or "repeat"',
                _has_slice_of_truth,
                _PIECES
                | {
                    "spark": "slices of the ground truth need all lists at once",
                    "torch": "slices of the ground truth need all lists at once",
                },
            ),
        ),
    )
    cross: bool = declare_option(
        False,
        "Evaluate the groups of all names in `by` together, and not those of each. With "
        '``by=["country", "item:popularity"]`` groups are pairs, ``AT × head``.',
        moves_numbers=False,
        not_compared="it adds slices, and moves no value",
        not_on=_PIECES
        | {
            "spark": "a column of the users that has both does the same",
            "torch": "a column of the users that has both does the same",
        },
    )
    min_size: int = declare_option(
        SMALL_GROUP,
        "Number of users below which a group is marked as small. Nothing is hidden: ``*`` stands "
        "beside the number.",
        metavar="USERS",
        least=1,
        moves_numbers=False,
        not_compared="it marks groups, and moves no value",
    )
    weights: str | Mapping[Any, float] | None = declare_option(
        None,
        "Weight of each user. A column of ``users``, or ``{user: weight}``. Metrics that "
        "sum over items (coverage, Gini, REO, …) are not weighted, which the notes of the result "
        "say.",
        metavar="COLUMN",
        type="str or mapping",
        hash=False,
        forms=(
            Form(
                "weights={user: weight}",
                _is_mapping,
                {"command": "it takes the name of a column of --users"},
            ),
        ),
    )
    mean_over: MeanOver = declare_option(
        "requests",
        "What means are over, where users have several requests. "
        '``"requests"``: every request counts alike, and users with many requests count more; '
        '``"users"``: the mean '
        "over the requests of each user is taken first. Without requests means are over users.",
        choices=MeanOver,
        not_on={"torch": "a row is a user", "model": "a model has one list per user"},
    )
    codes: str | Mapping[Any, Any] | None = declare_option(
        None,
        "Codes that lists have in place of items, as generative models decode them (semantic ids). "
        "A column of "
        "``items``, or a mapping of each code, text or a tuple, to its item or items. Items of one "
        "code tie. A code of "
        "no item keeps its place; such codes are counted, as are those that are cut short and "
        "those that a list "
        "repeats, of which the first counts.",
        metavar="COLUMN",
        type="str or mapping",
        moves_numbers=False,
        not_compared="it says how the lists of one system name items",
        not_on=_TENSORS
        | _MODEL
        | _RATED
        | {"spark": "lists are of items; join them with the items first"},
        forms=(Form("codes={…}", _is_mapping, _COLUMN_OF_ITEMS),),
    )
    titles: str | Mapping[Any, Any] | None = declare_option(
        None,
        "Titles that lists have in place of items, as language models write them. A column of "
        "``items``, or a mapping "
        "of each title to its item or items. Case, blanks, and quotes around a title make no "
        "difference; otherwise "
        "titles are taken as codes are.",
        metavar="COLUMN",
        type="str or mapping",
        moves_numbers=False,
        not_compared="it says how the lists of one system name items",
        not_on=_TENSORS
        | _MODEL
        | _RATED
        | {"spark": "lists are of items; join them with the items first"},
        forms=(Form("titles={…}", _is_mapping, _COLUMN_OF_ITEMS),),
    )
    same: str | Mapping[Any, Any] | None = declare_option(
        None,
        "Items that are one item under several ids, such as chunks of a document. A column of "
        "``items`` with the id that holds, or a mapping of each id to it. All tables take this "
        "id; of several ground truth rows of one item the largest relevance counts, and an item "
        "that a list has several times is left to ``duplicates``.",
        metavar="COLUMN",
        type="str or mapping",
        hash=False,
        moves_numbers=False,
        not_compared="the ids of the ground truth, which are compared, have changed",
        not_on=_TENSORS
        | _MODEL
        | _RATED
        | {"spark": "join the tables with the ids that hold first"},
        forms=(Form("same={…}", _is_mapping, _COLUMN_OF_ITEMS),),
    )
    alternatives: str | None = declare_option(
        None,
        "Column of the ground truth whose relevant items can stand for one another. Items of a user "
        "with one value of it are one piece of evidence: the first in a list counts, with the "
        "largest relevance of the group, and the others keep their places without counting.",
        metavar="COLUMN",
        not_on=_PIECES
        | _TENSORS
        | _RATED
        | _MODEL
        | {"spark": "the items of a group have to be seen together"},
    )
    jackknife: int | None = declare_option(
        None,
        "Number of jackknife groups for confidence intervals of metrics that are not "
        "per-user means. The value of coverage, Gini, entropy, metrics of groups, … is computed "
        "without each group of users, for `Result.interval` and for comparisons. 64 is plenty; "
        "memory grows with groups times items.",
        metavar="GROUPS",
        least=2,
        not_compared="it adds replicates, which are checked where they are used",
        not_on=_PIECES | {"torch": "all lists are needed at once"},
    )
    columns: Mapping[str, str | None] | None = declare_option(
        None,
        'Column of each role, where its name is not recognised. ``{"user": "uid"}``, '
        '``{"truth.relevance": "stars"}``; None leaves a role without a column.',
        type="mapping of str to str or None",
        moves_numbers=False,
        not_compared="which columns were read shows in the rows of the tables, which are compared",
    )
    threads: int | None = declare_option(
        None,
        "Number of threads. By default one per processor; the result does not depend on it.",
        moves_numbers=False,
        by_default="one per processor",
        not_compared="it moves no value",
        not_on={"torch": "PyTorch has its own threads"},
    )
    block_size: int | None = declare_option(
        None,
        "Users per block. By default it follows from the size of the data; the result does not "
        "depend on it.",
        moves_numbers=False,
        by_default="from the size of the data",
        not_compared="it moves no value",
    )
    progress: bool | None = declare_option(
        None,
        "Show a progress bar on stderr. By default on a terminal, after a second.",
        moves_numbers=False,
        by_default="on a terminal",
        not_compared="it moves no value",
        not_on={"torch": "a training loop shows its own"},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._settle_threshold()
        self._check_numbers()
        by = self._groupings()
        self._check_weights()
        self._check_columns()

        plain = {
            "by": by,
            "exclude_seen": bool(self.exclude_seen),
            "judged_only": bool(self.judged_only),
            "cross": bool(self.cross),
            "columns": None if self.columns is None else dict(self.columns),
            "relevance_threshold": _plain(float, self.relevance_threshold),
        }
        for name in ("jackknife", "threads", "block_size", "depth", "min_size"):
            plain[name] = _plain(int, getattr(self, name))
        for name, value in plain.items():  # plain values travel as JSON
            object.__setattr__(self, name, value)

    def _settle_threshold(self) -> None:
        """Set the threshold that the rule of relevance says; raise if it is no number."""
        if self.relevance_threshold != ANY_ROW:
            check_number("relevance_threshold", self.relevance_threshold)
        if self.relevance == "any" and self.relevance_threshold is None:
            object.__setattr__(self, "relevance_threshold", ANY_ROW)
        if self.relevance == "graded":
            object.__setattr__(self, "relevance_threshold", None)

    def _check_numbers(self) -> None:
        """Raise if a number is too small, or means are over nothing that has a name."""
        check_choice("mean_over", self.mean_over, MeanOver)
        check_positive(
            threads=self.threads,
            block_size=self.block_size,
            depth=self.depth,
            min_size=self.min_size,
        )
        if self.jackknife is not None:
            check_count(least=2, jackknife=self.jackknife)

    def _groupings(self) -> tuple[str, ...]:
        """Return the names of ``by``, each once; raise if these are no names, or none to cross."""
        if self.cross and len(self.by if isinstance(self.by, tuple | list) else ()) < 2:
            raise ParameterError(
                f"{parameter('cross')} takes the groups of several names together",
                found=parameter("by", self.by),
            )
        given: Any = () if self.by is None else self.by
        by = (given,) if isinstance(given, str) else given
        by = bounded("by", by, 1_000) if isinstance(by, Iterable) else by
        if not isinstance(by, list) or not all(isinstance(name, str) for name in by):
            raise ParameterError("by names columns of the users", found=parameter("by", given))
        return tuple(dict.fromkeys(by))

    def _check_weights(self) -> None:
        """Raise if weights are neither a name nor a mapping."""
        if isinstance(self.weights, Real | Sequence) and not isinstance(self.weights, str):
            raise ParameterError(
                "weights is the name of a column of the users, or a mapping of users",
                found=parameter("weights", self.weights),
                hint=f"pass {parameter('weights', {'ann': 0.5})}",
            )

    def _check_columns(self) -> None:
        """Raise if columns are no mapping of names to names."""
        named = self.columns if isinstance(self.columns, Mapping) else {}
        are_names = all(
            isinstance(key, str) and isinstance(name, str | None) for key, name in named.items()
        )
        if not isinstance(self.columns, Mapping | None) or not are_names:
            raise ParameterError(
                "columns maps roles to names of columns",
                found=parameter("columns", self.columns),
                hint=f"write {parameter('columns', {'user': 'uid'})}",
            )


def _plain(kind: type[Any], value: Any) -> Any:
    return None if value is None else kind(value)


SHORTHANDS: dict[str, NotOn] = {
    "k": {"model": "its k is the number of items to ask for"},
    "threshold": {},
}
"""Names that end up in metrics and in other options, each with the roads where they mean something else."""
TABLES: dict[str, NotOn] = {"train": {}, "items": {}, "users": {}, "reference": {}}
"""The tables beside lists and ground truth, each with the roads that refuse it."""

_FIRST = ("convention", "relevance_threshold")


def options_of(cls: type[Options]) -> dict[str, Field[Any]]:
    """Return the options among the fields of a class, by name, in the order of help texts."""
    options = [entry for entry in fields(cls) if "text" in entry.metadata]
    options.sort(key=lambda entry: (*_FIRST, entry.name).index(entry.name))
    return {entry.name: entry for entry in options}


def compared_options() -> dict[str, Field[Any]]:
    """Return the options in which two results must agree before they are compared, by name."""
    return {
        name: entry
        for name, entry in options_of(Options).items()
        if not entry.metadata["not_compared"]
    }
