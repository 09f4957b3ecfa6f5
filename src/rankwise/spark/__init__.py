"""Evaluation on Spark: `rankwise.evaluate` on the executors, with bit-identical results.

Install with ``pip install "rankwise[spark]"``, on the driver and on the executors.

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
