"""Settings as plain values, which travel as JSON, and back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from rankwise.convention.convention import Convention
from rankwise.core.choices import ANY_ROW
from rankwise.core.user_rules import UserRule
from rankwise.evaluation.settings import Settings
from rankwise.measures.read import parse_all

__all__ = ["plain_settings", "settings_of"]


def plain_settings(settings: Settings) -> dict[str, Any]:
    """Return every field of settings as plain values; weights stay as they were given."""
    options = {f.name: getattr(settings, f.name) for f in fields(Settings)}
    options["measures"] = [str(measure) for measure in settings.measures]
    if settings.convention is not None:
        options["convention"] = settings.convention.to_dict()
    if options["relevance"] == "any" and options["relevance_threshold"] == ANY_ROW:
        options["relevance_threshold"] = None  # no number of JSON
    options["exceptions"] = [[name, vars(rule)] for name, rule in settings.exceptions]
    return options


def settings_of(options: dict[str, Any]) -> Settings:
    """Return the settings that `plain_settings` described."""
    if options["convention"] is not None:
        options["convention"] = Convention.of(options["convention"])
    options["measures"] = parse_all(options["measures"])
    options["exceptions"] = tuple((name, UserRule(**rule)) for name, rule in options["exceptions"])
    return Settings(**options)
