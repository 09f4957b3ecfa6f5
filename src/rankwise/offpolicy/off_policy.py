"""The public function: tables in, values and differences of policies out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeAlias

from rankwise.core.arguments import check_count
from rankwise.core.kernels import default_threads, map_threads
from rankwise.core.terminal import progress_bar
from rankwise.findings.margins import Margin
from rankwise.offpolicy.exposures import Log, OnMissing
from rankwise.offpolicy.job import Job
from rankwise.offpolicy.merge import finish
from rankwise.offpolicy.options import Options, Slates
from rankwise.offpolicy.pieces import Partial, work
from rankwise.offpolicy.policies import Kind, item_series
from rankwise.offpolicy.result import LOGGED, OffPolicy
from rankwise.offpolicy.values import Estimator
from rankwise.stats.many_systems import Correction
from rankwise.tables.columns import Columns, check_columns
from rankwise.tables.files import table_hash
from rankwise.tables.read import Chunks
from rankwise.tables.table import TableRole

Target: TypeAlias = Any
"""A column of the exposures, a table, a dict of lists, or a policy of `rankwise.policies`."""


_ROWS_OF_A_THREAD = 200_000


def off_policy(
    exposures: Any,
    outcomes: Any = None,
    *,
    targets: Mapping[str, Target],
    baseline: str = LOGGED,
    propensity: Any = None,
    within: Sequence[str] = (),
    propensities: Kind | None = None,
    slates: Slates = "auto",
    estimator: Estimator = "auto",
    predictions: Any = None,
    items: Any = None,
    reward: Mapping[str, float] | None = None,
    reward_range: tuple[float, float] | None = None,
    window: Any = None,
    by: str | None = None,
    alpha: float = 0.05,
    correction: Correction = "holm",
    margin: Margin = None,
    missing: OnMissing = "error",
    columns: Columns | None = None,
    threads: int | None = None,
    chunk_rows: int | None = None,
    progress: bool | None = None,
) -> OffPolicy:
    """Estimate the values of target policies from logged requests, where the log supports them.

    Values are self-normalised, differences are paired by user, and intervals hold for few and for
    rare rewards. Where the log cannot carry an estimate no number is returned: ``support`` is then
    "none", and ``reasons`` say why.

    Parameters
    ----------
    exposures : table or path
        One row per item that was shown: the item, and if they exist the request, user, position,
        propensity, reward and any columns of the context.
    outcomes : table or path, optional
        One row per outcome: request (or user and timestamp), item and reward. Without a reward each
        row counts 1.
    targets : mapping of str to target
        Policies by name: a column of the exposures with the probability of each row; a table of
        probabilities, or of recommendation lists; a dict of lists; or one of `rankwise.policies`.
    baseline : str, default="logged"
        The policy that the others are compared with.
    propensity : str, table or policy, optional
        The probability of what was shown: by default the column of the exposures. Another column,
        ``"uniform"``, a table or policy as for targets, or ``"shares"`` to estimate it from the
        log.
    within : sequence of str, default=()
        The columns on which the logging policy depended, besides the position. Propensities are
        checked within them: those of another request may fit on average alone. For ``"shares"``
        they are needed; a regressor has them as features.
    propensities : {"conditional", "prefix", "list", "marginal"}, optional
        For requests with several rows, what a row's propensity is of: its item after those above
        it, the list up to it, the full list, or its item at this position alone.
    slates : {"auto", "interaction", "independent", "cascade_dr"}, default="auto"
        The weight of a row: of the list up to it; of its item alone; or the first with predictions.
        By default the most reliable that the propensities allow.
    estimator : {"auto", "snips", "ips", "beta_ips", "sndr", "dr"}, default="auto"
        By default snips, or sndr with predictions.
    predictions : table, path or regressor, optional
        Predicted rewards by request (or context) and item, for sndr and dr, from other data or
        cross-fitted by user. A regressor with ``fit`` and ``predict``, as scikit-learn has them, is
        cross-fitted by user here, on the item and the numeric columns that join a target or stand
        in ``within``.
    items : iterable, optional
        All items that can be shown; by default those of the log.
    reward : mapping of str to float, optional
        The reward of each kind of outcome, ``{"click": 1, "buy": 10}``.
    reward_range : tuple of float, optional
        The smallest and the largest possible reward; by default 0 and 1 for clicks, else that of
        the log.
    window : str or timedelta, optional
        For outcomes without a request: how long after an exposure they count. By default one day.
    by : str, optional
        A column of the exposures: all values and differences also within its groups.
    alpha : float, default=0.05
        The significance level.
    correction : str, default="holm"
        The correction over the pairs with the baseline; other pairs are exploratory (bh).
    margin : float or str, optional
        The largest difference that does not matter: a number, or a share of the baseline such as
        ``"1%"``.
    missing : {"error", "drop", "logged"}, default="error"
        If over 1 % of the outcomes belong to no exposure, or a target says nothing about over 1 %
        of the rows: an error, leave them out, or let the target do as the log.
    columns : mapping of str to str or None, optional
        Names of columns that are not recognised: ``{"exposures.propensity": "p"}``.
    threads : int, optional
        Threads to use, by default one per processor; the result does not depend on it.
    chunk_rows : int, optional
        Read a Parquet file of exposures, or a folder or list of them, in chunks of about this many
        rows, so that it need not fit in memory. Its rows must be grouped by user; the result does
        not depend on it.
    progress : bool, optional
        Whether to show a progress bar for chunks; by default on a terminal, after a second.

    Returns
    -------
    OffPolicy

    Raises
    ------
    InputError
        If propensities or probabilities are none, or tables do not fit each other.
    ParameterError
        If the log has no propensities and no policy is declared, or an option is not possible.

    Examples
    --------
    >>> import rankwise as rw
    >>> log = rw.datasets.logged(users=300, seed=1)
    >>> result = rw.off_policy(log.exposures, targets={"new": "p_new"})
    >>> result.table["support"].to_list(), result.differences["verdict"].to_list()
    (['observed', 'sound'], ['better'])
    """
    options = Options(
        baseline=baseline,
        within=within,
        propensities=propensities,
        slates=slates,
        estimator=estimator,
        alpha=alpha,
        correction=correction,
        margin=margin,
        missing=missing,
        reward_range=reward_range,
        by=by,
    )
    read: dict[TableRole, Any] = {"outcomes": outcomes, "predictions": predictions, "items": items}
    given = [role for role, source in read.items() if source is not None]
    check_columns(columns, ["exposures", "targets", *given], read)
    job = Job.of(options, targets, propensity, predictions, outcomes, columns, reward, window)
    if threads is not None:
        check_count(threads=threads)
    if chunk_rows is not None:
        return _in_chunks(job, exposures, items, chunk_rows, progress)
    job, log = job.knowing(job.read(exposures), items)
    threads = threads or default_threads()
    pieces = log.pieces(min(threads, max(log.rows // _ROWS_OF_A_THREAD, 1)))
    return finish(job, map_threads(partial(work, job), pieces, threads))


def _in_chunks(job: Job, exposures: Any, items: Any, rows: int, progress: bool | None) -> OffPolicy:
    """Evaluate a Parquet file chunk by chunk, and hash the file meanwhile."""
    job.check_pieces()
    chunks = Chunks(exposures, rows, job.columns, "exposures")
    partials: list[Partial] = []
    with ThreadPoolExecutor(1) as pool, progress_bar(chunks.total, "rows", shown=progress) as bar:
        digest = pool.submit(table_hash, chunks.path)
        first = 1
        for table in chunks:
            log = job.read(table, first)
            if not partials:
                job = _ahead(job, chunks, log, items)
            partials.append(work(job, log))
            first += log.rows
            bar.update(log.rows)
        card = {**partials[0].source, "rows": chunks.total, "sha256": digest.result()}
    return finish(job, (partials.pop(0) for _ in range(len(partials))), card)


def _ahead(job: Job, chunks: Chunks, log: Log, items: Any) -> Job:
    """Return the job with the items, row count and first position of the whole log."""
    catalogue = None
    if items is not None:
        catalogue = item_series(items, log.table)
    elif job.needs_items:
        distinct = chunks.aggregate("item", lambda item: item.unique())
        assert distinct is not None  # exposures have items
        catalogue = distinct.sort().cast(log.frame.schema["item"])
    first = chunks.aggregate("position", lambda position: position.min())
    return job.knowing_ahead(catalogue, chunks.total, 0 if first is None else int(first[0]))
