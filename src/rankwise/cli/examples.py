"""The ends of help texts; apart from the options, which load what the help of the whole program does without."""

__all__ = ["examples"]


def examples(*commands: str) -> str:
    """Return the end of a help text: commands that run as they stand after ``rankwise demo``."""
    head = "Examples, in the folder that `rankwise demo` writes:"
    return "\n".join(["\b", head, *(f"  {command}" for command in commands)])
