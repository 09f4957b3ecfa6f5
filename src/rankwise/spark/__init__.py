"""Evaluation on Spark: `rankwise.evaluate` on the executors, with bit-identical results.

Install with ``pip install "rankwise[spark]"``, on the driver and on the executors.

An evaluation has six stages:

1. Columns are recognised from the schema, and everything that a schema can show is checked.
2. Spark counts the popularity of items, the groups of users and, with ``jackknife``, the order of
   users.
3. A hash of the user id (``xxhash64``) assigns each user to a bucket. Ids are long or string;
   further types are refused, so that ``1`` and ``"1"``, or ``0.0`` and ``-0.0``, cannot be two
   users. A cogroup on the bucket joins the lists with one table of all further rows; adaptive
   execution does not split a bucket.
4. Every engine calls ``work(job, piece)``, here once per bucket. It returns a mergeable partial
   result without users, and the columns of its users, which stay in Spark.
5. A tree of tasks merges the partial results into one, which the driver receives. A repeated bucket
   raises an error; tasks that Spark retries or runs twice count once.
6. The values of all users are added up exactly and rounded once, so the mean has the same bits in
   any order.

>>> from rankwise.spark import evaluate  # doctest: +SKIP
>>> evaluate(lists, truth, ["ndcg@10", "coverage@10"])["ndcg@10"]  # doctest: +SKIP
0.3123
"""

from __future__ import annotations

from rankwise.spark.engine import SparkResult
from rankwise.spark.evaluate import bucket, compare, evaluate
from rankwise.spark.off_policy import off_policy
from rankwise.spark.splits import SparkSplit, k_core, split
from rankwise.spark.tables import session

__all__ = [
    "SparkResult",
    "SparkSplit",
    "bucket",
    "compare",
    "evaluate",
    "k_core",
    "off_policy",
    "session",
    "split",
]

try:
    from importlib.util import find_spec as _find_spec

    import pyarrow as pa  # noqa: F401
    import pyspark as _pyspark

    if _find_spec("pandas") is None:  # PySpark imports it before any function on Arrow tables
        raise ImportError("pandas is not installed")
    if int(_pyspark.__version__.split(".")[0]) < 4:  # applyInArrow came with it
        raise ImportError(f"PySpark {_pyspark.__version__} is installed")
except ImportError as _error:
    raise ImportError(
        'rankwise.spark needs PySpark 4, PyArrow and pandas: pip install "rankwise[spark]"'
    ) from _error
