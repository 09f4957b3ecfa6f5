"""What can be evaluated: baselines, and models of other libraries."""

from rankwise.models.adapters import Cornac, Implicit, LensKit, LightFM, RecTools, Surprise

__all__ = ["Cornac", "Implicit", "LensKit", "LightFM", "RecTools", "Surprise"]
