"""Models to evaluate: adapters for models of other libraries, and baselines."""

from rankwise.models.adapters import Cornac, Implicit, LensKit, LightFM, RecTools, Surprise

__all__ = ["Cornac", "Implicit", "LensKit", "LightFM", "RecTools", "Surprise"]
