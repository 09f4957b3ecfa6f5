"""Text files read by Spark have the ids and the values that they have in memory."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

import rankwise as rw
from rankwise.errors import FileError, IdError, InputError
from rankwise.spark.evaluate import evaluate
from rankwise.spark.splits import split
from rankwise.splits import LeaveOut

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

LISTS = "user,item,score\n05,x,.9\n5,y,.8\n6,x,.9\n"
TRUTH = "user,item\n05,x\n5,z\n6,x\n"


def write(path, text):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text)
    return str(path)


def both(spark, lists, truth, metrics="mrr"):
    """Return the values in memory and on Spark."""
    return rw.evaluate(lists, truth, metrics).values, evaluate(
        lists, truth, metrics, spark=spark
    ).values


def test_ids_of_text_files_are_what_is_written(spark, tmp_path):
    memory, on_spark = both(
        spark, write(tmp_path / "l.csv", LISTS), write(tmp_path / "t.csv", TRUTH)
    )
    assert dict(on_spark) == dict(memory) == {"mrr": pytest.approx(2 / 3)}


def test_whole_numbers_match_text_of_another_file(spark, tmp_path):
    lists = write(tmp_path / "l.tsv", "user\titem\tscore\n 8 \t007\t1e1\n9\t7\t-3\n")
    truth = write(tmp_path / "t.csv", "user,item\n8,007\n9,x\n")
    memory, on_spark = both(spark, lists, truth)
    assert dict(on_spark) == dict(memory) == {"mrr": 0.5}
    result = evaluate(lists, truth, "mrr", spark=spark)
    assert result.provenance["inputs"]["recommendations"]["ids_trimmed"] == 1


def test_a_folder_of_text_files_is_read(spark, tmp_path):
    for number, row in enumerate(LISTS.splitlines()[1:]):
        write(tmp_path / "lists" / f"part-{number}.csv", f"user,item,score\n{row}\n")
    write(tmp_path / "lists" / "_SUCCESS", "")
    truth = write(tmp_path / "t.csv", TRUTH)
    assert evaluate(str(tmp_path / "lists"), truth, "mrr", spark=spark)["mrr"] == pytest.approx(
        2 / 3
    )


def test_folders_that_are_named_for_users_are_text(spark, tmp_path):
    import polars as pl

    for user, items in {"05": ["x"], "5": ["y"], "6": ["x"]}.items():
        folder = tmp_path / "lists" / f"user={user}"
        folder.mkdir(parents=True)
        pl.DataFrame({"item": items, "rank": [1]}).write_parquet(folder / "a.parquet")
    memory, on_spark = both(spark, str(tmp_path / "lists"), write(tmp_path / "t.csv", TRUTH))
    assert dict(on_spark) == dict(memory) == {"mrr": pytest.approx(2 / 3)}


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("user,item,rank\nuser,item,rank\n1,5,1\n", FileError, "a line repeats the header"),
        ("K1,P2,4\nK2,P3,5\n", FileError, "seems to have no header"),
        ("user,item,score\n1,5,high\n", FileError, "column 'score' is not a number"),
        ("user,item,score\n a,5,1\na,6,2\n", IdError, "two ids differ only by blanks"),
        ("user,item,score\n1,5,1,9\n", FileError, "Spark cannot read this"),
        ("user,item,score\n,5,1\n", FileError, "column 'user' is empty"),
    ],
)
def test_what_is_refused_in_memory_is_refused_on_spark(spark, tmp_path, text, error, said):
    lists = write(tmp_path / "l.csv", text)
    with pytest.raises(InputError):
        rw.evaluate(lists, {1: {5}}, "mrr")
    with pytest.raises(error, match=said):
        evaluate(lists, {1: {5}}, "mrr", spark=spark)


@pytest.mark.parametrize("odd", ["0", "99999999"])
def test_dates_as_numbers_with_one_other_number_are_refused(spark, tmp_path, odd):
    days = ["20180305", "20180601", "20190212", odd]
    rows = "".join(f"{user},{item},{day}\n" for user in (1, 2) for item, day in enumerate(days))
    table = spark.read.option("header", True).option("inferSchema", True)
    frame = table.csv(write(tmp_path / "a.csv", f"user,item,timestamp\n{rows}"))
    with pytest.raises(InputError, match="most of these timestamps read as dates"):
        split(frame, LeaveOut(1))


def test_a_time_that_stands_for_an_unknown_one_is_refused(spark):
    seconds = [1_500_000_000, 1_510_000_000, 1_520_000_000, -1]
    frame = spark.createDataFrame(
        [(1, item, time) for item, time in enumerate(seconds)], "user int, item int, ts long"
    )
    with pytest.raises(InputError, match="stands for an unknown time"):
        split(frame, LeaveOut(1))
    assert split(frame, LeaveOut(1), time_unit="s").test.count() == 1


def test_items_that_no_table_has_are_refused(spark, tmp_path):
    lists = write(tmp_path / "l.csv", "user,item,rank\n1,sku-4,1\n2,sku-5,1\n")
    with pytest.raises(IdError, match="no recommended item is in the ground truth") as error:
        evaluate(lists, write(tmp_path / "t.csv", "user,item\n1,4\n2,5\n"), "mrr", spark=spark)
    assert "without their prefix, such as 'sku-" in str(error.value)


def test_recommended_items_of_the_training_are_counted(spark, tmp_path):
    lists = {1: [3, 4], 2: [5, 6]}
    truth, train = {1: {4}, 2: {7}}, {1: [3, 9], 2: [6, 5]}
    one, there = (
        rw.evaluate(lists, truth, "mrr", train=train),
        evaluate(lists, truth, "mrr", train=train, spark=spark),
    )
    assert one.counts["recommendations_seen_in_training"] == 3
    assert there.counts == one.counts
    assert there.provenance["doubts"] == one.provenance["doubts"]
