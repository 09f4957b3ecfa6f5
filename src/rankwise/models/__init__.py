"""Models to evaluate: adapters for models of other libraries, and baselines."""

from rankwise.models.adapters import Cornac, Implicit, LensKit, LightFM, RecTools, Surprise
from rankwise.models.baselines import ItemNeighbours, Popularity, Random

__all__ = [
    "Cornac", "Implicit", "ItemNeighbours", "LensKit", "LightFM", "Popularity", "Random",
    "RecTools", "Surprise",
]  # fmt: skip
