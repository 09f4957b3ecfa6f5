"""Evaluation on Spark: `rankwise.evaluate` on the executors, with bit-identical results.

Install with ``pip install "rankwise[spark]"``, on the driver and on the executors.

>>> from rankwise.spark import evaluate  # doctest: +SKIP
>>> evaluate(lists, truth, ["ndcg@10", "coverage@10"])["ndcg@10"]  # doctest: +SKIP
0.3123
"""

from __future__ import annotations

try:
    import pyarrow as pa  # noqa: F401
    import pyspark as _pyspark

    if int(_pyspark.__version__.split(".")[0]) < 4:  # applyInArrow came with it
        raise ImportError(f"PySpark {_pyspark.__version__} is installed")
except ImportError as _error:
    raise ImportError('rankwise.spark needs PySpark 4 and PyArrow: pip install "rankwise[spark]"') from _error

from rankwise.spark.bucket import bucket
from rankwise.spark.compare import compare
from rankwise.spark.evaluate import evaluate
from rankwise.spark.spark_result import SparkResult
from rankwise.spark.splits import SparkSplit, k_core, split
from rankwise.spark.tables import session

__all__ = ["SparkResult", "SparkSplit", "bucket", "compare", "evaluate", "k_core", "session", "split"]
