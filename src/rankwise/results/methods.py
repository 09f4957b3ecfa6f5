"""Methods of results and comparisons that draw, report and log them.

`Result` and `Comparison` hold data; the presenters of `rankwise.core.presenters` stand above them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankwise.core.presenters import present

if TYPE_CHECKING:
    from rankwise.comparison.comparison import Comparison
    from rankwise.offpolicy.result import OffPolicy
    from rankwise.reporting.logged import LoggedPlots
    from rankwise.reporting.plots import ComparisonPlots, ResultPlots
    from rankwise.reporting.report import Report
    from rankwise.results.result import Result
    from rankwise.tables.columns import Columns


def result_plots(result: Result) -> ResultPlots:
    """Charts: ``result.plot.curve("ndcg")``, ``.per_user("ndcg@10")``, ``.slices("ndcg@10")``.

    Install with ``pip install "rankwise[plot]"`` (Altair).
    """
    plots: ResultPlots = present("ResultPlots", result)
    return plots


def comparison_plots(comparison: Comparison) -> ComparisonPlots:
    """Charts in ``comparison.plot``: ``differences``, ``slices``, ``overview``, ``decision``, ….

    Install with ``pip install "rankwise[plot]"`` (Altair).
    """
    plots: ComparisonPlots = present(
        "ComparisonPlots", comparison.table, comparison.design, comparison.results
    )
    return plots


def logged_plots(result: OffPolicy) -> LoggedPlots:
    """Charts: ``result.plot.values()``, ``.differences()``, ``.sensitivity()``, ``.overlap()``.

    Install with ``pip install "rankwise[plot]"`` (Altair).
    """
    plots: LoggedPlots = present("LoggedPlots", result)
    return plots


def report_result(
    result: Result,
    *,
    title: str | None = None,
    recommendations: Any = None,
    truth: Any = None,
    train: Any = None,
    items: Any = None,
    columns: Columns | None = None,
    audit: Any = None,
    show_users: bool = True,
) -> Report:
    """Return a page about this result alone; `rankwise.report` compares several.

    Parameters
    ----------
    title : str, optional
        The title of the page.
    recommendations, truth, train, items : table or path, optional
        The tables that the result was evaluated from, where these were passed as tables.
    columns : mapping of str to str or None, optional
        The columns of tables that are passed here, where their names are not recognised:
        ``{"truth.relevance": "stars"}``, as for `rankwise.evaluate`.
    audit : Audit or bool, optional
        What `rankwise.audit` found in the split. By default training interactions and ground truth
        are audited, if both can be read; False leaves the audit out.
    show_users : bool, default=True
        Whether users are named, with their lists and histories.

    Returns
    -------
    Report
    """
    runs = {} if recommendations is None else {"result": recommendations}
    tables = {"truth": truth, "train": train, "items": items}
    report: Report = present(
        "make_report",
        {"result": result},
        None,
        title=title,
        runs=runs,
        tables=tables,
        columns=columns,
        audit=audit,
        show_users=show_users,
    )
    return report


def report_comparison(
    comparison: Comparison,
    *,
    title: str | None = None,
    recommendations: Mapping[str, Any] | None = None,
    truth: Any = None,
    train: Any = None,
    items: Any = None,
    columns: Columns | None = None,
    audit: Any = None,
    show_users: bool = True,
) -> Report:
    """Make an HTML report of this comparison; parameters as in `rankwise.report`."""
    tables = {"truth": truth, "train": train, "items": items}
    compared = (comparison.table, comparison.design)
    report: Report = present(
        "make_report",
        comparison.results,
        compared,
        title=title,
        runs=recommendations,
        tables=tables,
        columns=columns,
        audit=audit,
        show_users=show_users,
    )
    return report


def log_mlflow(result: Result, *, prefix: str = "", artifacts: bool = True) -> None:
    """Log the result to MLflow: to the active run, or to a run that is started and ended.

    - Metrics: every finite value, ``ndcg@10`` as ``ndcg_at_10``, ``map(normaliser=k)@10`` as
      ``map normaliser:k_at_10`` and the cell ``reo@10[item_group=a]`` as
      ``reo_at_10.item_group:a``; and every count as ``counts/users``. In a name with other
      characters these are replaced, and a hash of the whole name is appended.
    - Parameters: the metrics and all other settings as ``rankwise.metrics``, ``rankwise.ties``
      and so on; text as it is, other values as JSON.
    - Tags: ``rankwise.version``; ``rankwise.label`` and ``rankwise.split`` if the result has them;
      and ``rankwise.not_logged``, which counts and names the values that are NaN or infinite and
      the settings that are too long for MLflow (6,000 characters).
    - Artifacts: the folder ``rankwise`` as `Result.save` writes it: ``result.json`` with all
      values and provenance, and the per-user values as Parquet; `rankwise.load` reads it. The
      values of the groups of ``by`` are only in this folder.

    Parameters
    ----------
    prefix : str, default=""
        The prefix of all keys and of the folder, such as ``"test/"``; up to 40 characters. MLflow
        parameters cannot be changed: a second result in the same run needs another prefix if its
        settings differ.
    artifacts : bool, default=True
        Whether to log the saved result, whose per-user values contain the user ids.

    Raises
    ------
    UsageError
        If MLflow is not installed, or two values would have one key.

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 3]}, {"ann": {3}}, "ndcg@2")
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     result.log_mlflow(prefix="test/")
    """
    from rankwise.results import trackers

    trackers.log_mlflow(result, prefix, artifacts)


def log_wandb(result: Result, *, prefix: str = "", artifacts: bool = True) -> None:
    """Log the result to Weights & Biases: to the active run, or one that is started and ended.

    - Summary: every finite value and count, under the keys of `log_mlflow`: ``ndcg_at_10``,
      ``reo_at_10.item_group:a``, ``counts/users``. No step is added to the run's history.
    - Config: under ``rankwise``, the metrics and all other settings as ``settings``; ``version``,
      and ``label`` and ``split`` if the result has them; and ``not_logged``, a list of the values
      that are NaN or infinite.
    - Artifact: ``rankwise-<id of the run>``, of type ``rankwise-result``, whose folder ``rankwise``
      is as `Result.save` writes it; `rankwise.load` reads it. The values of the groups of ``by``
      are only in this folder.

    Parameters
    ----------
    prefix : str, default=""
        The prefix of all keys, of ``rankwise`` in the config and of the artifact, such as
        ``"test/"``; up to 40 characters. W&B configs cannot be changed: a second result in the same
        run needs another prefix.
    artifacts : bool, default=True
        Whether to log the saved result, whose per-user values contain the user ids.

    Raises
    ------
    UsageError
        If wandb is not installed, or two values would have one key.

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 3]}, {"ann": {3}}, "ndcg@2")
    >>> with wandb.init(project="films"):  # doctest: +SKIP
    ...     result.log_wandb()
    """
    from rankwise.results import trackers

    trackers.log_wandb(result, prefix, artifacts)
