"""All built-in conventions."""

from __future__ import annotations

from rankwise.convention.convention import Convention
from rankwise.convention.evaluation_toolkits import TOOLKITS
from rankwise.convention.frameworks import FRAMEWORKS
from rankwise.convention.model_libraries import MODEL_LIBRARIES
from rankwise.convention.retrieval_libraries import RETRIEVAL_LIBRARIES

__all__ = ["SHIPPED"]

SHIPPED = (Convention("default", library="rankwise"), *FRAMEWORKS, *TOOLKITS, *MODEL_LIBRARIES, *RETRIEVAL_LIBRARIES)
