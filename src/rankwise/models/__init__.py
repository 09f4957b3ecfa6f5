"""Adapters for models of other libraries, for `rankwise.evaluate_model`.

Each adapter has ``recommend(user_ids, n)``, which returns up to n items per user with their scores,
``{user: [(item, score), …]}``, best first. Users unknown to the model get no list; padding and
masked items in the lists of a library are removed.
"""

from rankwise.models.recommenders import (
    Cornac,
    Implicit,
    ItemNeighbours,
    LensKit,
    LightFM,
    Popularity,
    Random,
    RecTools,
    Surprise,
    Transitions,
)

__all__ = [
    "Cornac",
    "Implicit",
    "ItemNeighbours",
    "LensKit",
    "LightFM",
    "Popularity",
    "Random",
    "RecTools",
    "Surprise",
    "Transitions",
]
