"""The named choices that functions and the command line share; they load no other module."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = [
    "ANY_ROW",
    "TRAIN_GROUP_NAMES",
    "CatalogueRule",
    "Claim",
    "Cold",
    "Duplicates",
    "Family",
    "FileFormat",
    "FilterOn",
    "IdType",
    "Missing",
    "OrderBy",
    "Population",
    "Ranks",
    "Relevance",
    "ScorePrecision",
    "SeedDesign",
    "Seen",
    "Test",
    "Ties",
    "TimeUnit",
    "TrainGroup",
    "Undefined",
    "WithoutList",
]

Duplicates: TypeAlias = Literal["error", "first"]
IdType: TypeAlias = Literal["typed", "text"]
OrderBy: TypeAlias = Literal["rank", "score"]
Population: TypeAlias = Literal["truth", "both", "recommended", "judged", "judged_both", "all"]
CatalogueRule: TypeAlias = Literal["items", "train"]
Ranks: TypeAlias = Literal["close", "keep"]
Relevance: TypeAlias = Literal["positive", "any"]
ANY_ROW = float("-inf")
"""The threshold of relevance that every row of the ground truth reaches."""
ScorePrecision: TypeAlias = Literal["float64", "float32"]
Ties: TypeAlias = Literal["input", "expected", "item", "item_desc", "optimistic", "pessimistic"]
TrainGroup: TypeAlias = Literal["activity", "popularity"]
"""Groups of users that training interactions define, as `by` names them."""
TRAIN_GROUP_NAMES = ("low", "middle", "high", "none")
Undefined: TypeAlias = Literal["skip", "zero", "nan"]
WithoutList: TypeAlias = Literal["skip", "zero"]

Family: TypeAlias = Literal["none", "bonferroni", "holm", "hochberg", "bh", "by", "max_t", "tukey"]
Missing: TypeAlias = Literal["error", "zero", "common"]
SeedDesign: TypeAlias = Literal["auto", "independent", "paired"]
Test: TypeAlias = Literal["auto", "t", "sign_flip", "bootstrap", "wilcoxon", "sign"]

Claim: TypeAlias = Literal["time", "users", "none"]
Cold: TypeAlias = Literal["keep", "drop", "only"]
FileFormat: TypeAlias = Literal["parquet", "csv", "recbole", "elliot", "warprec"]
FilterOn: TypeAlias = Literal["train", "all"]
Predicted: TypeAlias = Literal["test", "validation"]
Seen: TypeAlias = Literal["keep", "drop"]
TimeUnit: TypeAlias = Literal["s", "ms", "us", "ns"]
