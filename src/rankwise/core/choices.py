"""The named choices that functions and the command line share; they load no other module."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = [
    "TRAIN_GROUP_NAMES", "Claim", "Cold", "Duplicates", "Family", "FileFormat", "FilterOn",
    "Missing", "Population", "Ranks", "SeedDesign", "Seen", "Test", "Ties", "TimeUnit",
    "TrainGroup", "Undefined", "WithoutList",
]  # fmt: skip

Duplicates: TypeAlias = Literal["error", "first"]
Population: TypeAlias = Literal["truth", "both", "recommended", "judged", "all"]
Ranks: TypeAlias = Literal["close", "keep"]
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
Seen: TypeAlias = Literal["keep", "drop"]
TimeUnit: TypeAlias = Literal["s", "ms", "us", "ns"]
