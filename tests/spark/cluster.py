"""Evaluations on two worker processes, some of which are killed: run by test_spark_cluster.py.

Prints one line of JSON. Executors are JVMs of their own, with Python workers of their own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

from pyspark.sql import SparkSession  # noqa: E402
from spark_worlds import frames, on_spark  # noqa: E402

import rankwise as rw  # noqa: E402
import rankwise.spark as rs  # noqa: E402

METRICS = ["ndcg@5", "recall@5", "gini@5", "novelty@5", "group_gap(metric=recall)@5"]


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def distance(vectors):
    return abs(vectors[:, :1] - vectors[:, :1].T)


def first_time(what):
    """Return whether nobody has been killed for this reason before."""
    try:
        os.close(os.open(Path(os.environ["KILLED"]) / what, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def kills_its_worker(vectors):
    """Distances of items; the process dies that first asks for them."""
    if first_time("worker"):
        os.kill(os.getpid(), signal.SIGKILL)
    return distance(vectors)


def kills_its_executor(vectors):
    """Distances of items; the JVM dies above the daemon that starts Python workers."""
    if first_time("executor"):
        os.kill(parent(parent(os.getpid())), signal.SIGKILL)
        signal.pause()
    return distance(vectors)


def evaluated(spark, tables, metrics):
    sent = on_spark(spark, tables)
    around = {
        role: table for role, table in sent.items() if role not in ("recommendations", "truth")
    }
    result = rs.evaluate(
        sent["recommendations"],
        sent["truth"],
        metrics,
        **around,
        by="group",
        spark=spark,
        buckets=6,
        collect=False,
    )
    return result, result.per_user


def same(one, there, per_user):
    return (
        list(one.values.items()) == list(there.values.items())
        and one.counts == there.counts
        and one.per_user.equals(per_user)
    )


def wide(spark):
    """A catalogue of a million items, of which every user has a few."""
    import polars as pl

    n = 1_000_000
    lists = pl.DataFrame({"user": range(2_000), "item": range(0, n, 500)}).with_columns(
        rank=pl.lit(1)
    )
    truth = lists.select("user", item=pl.col("item") + pl.col("user") % 2)
    items = pl.DataFrame({"item": range(n)})
    metrics = ["gini@5", "item_coverage@5", "auc(seen=included)"]
    one = rw.evaluate(lists, truth, metrics, items=items)
    sent = on_spark(spark, {"recommendations": lists, "truth": truth})
    there = rs.evaluate(sent["recommendations"], sent["truth"], metrics, items=items, spark=spark)
    return one.values == there.values


def main(folder):
    os.environ["KILLED"] = folder
    spark = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        .config("spark.executorEnv.KILLED", folder)
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    tables = frames(7)
    out = {}
    one = rw.evaluate(
        tables["recommendations"],
        tables["truth"],
        METRICS,
        by="group",
        **{r: t for r, t in tables.items() if r not in ("recommendations", "truth")},
    )
    there, per_user = evaluated(spark, tables, METRICS)
    out["two executors"] = same(one, there, per_user)
    out["executors"] = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    for what, deadly in (("worker", kills_its_worker), ("executor", kills_its_executor)):
        there, per_user = evaluated(spark, tables, [*METRICS, rw.ILD(distance=deadly) @ 5])
        del there.values[next(cell for cell in there.values if cell.startswith("intra_list"))]
        kept = per_user.select(one.per_user.columns)
        out[f"{what} killed"] = (Path(folder) / what).exists() and same(one, there, kept)
    out["wide"] = wide(spark)
    sys.stdout.write(json.dumps(out) + "\n")
    sys.stdout.flush()
    os._exit(0)  # stopping the workers prints stack traces


if __name__ == "__main__":
    main(sys.argv[1])
