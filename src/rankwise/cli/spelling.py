"""Messages of the library in the spelling of the command line.

The library says ``duplicates="first"``; who typed a command needs ``--duplicates first``. What an
option is called here follows from the options of the command, so that no message is written twice.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

import click

from rankwise.errors import RankwiseError

__all__ = ["flag_of", "in_options", "respelled"]

_FUNCTION = re.compile(
    r"(?:\b(?P<module>rw|rankwise)\.)?\b(?P<name>[a-z]+)"
    r"(?:\((?:…, )?(?P<given>\w+=[^()]*)\)|(?(module)\b(?!\()|(?!)))"
)
_KEYWORD = re.compile(
    r"""(?<![\w.('",-])(?P<name>[a-z_]+)
        (?:=(?P<value>\{[^}]*\}|\[[^\]]*\]|"[^"]*"|'[^']*'|-?[\w…]+(?:\.\d+)?)?
          |(?![\w.(=-]))""",
    re.VERBOSE,
)
_PAIR = re.compile(r"""["']([^"']*)["']: *(?:["']([^"']*)["']|None|(…))""")


def respelled(error: RankwiseError, command: click.Command, group: click.Group) -> RankwiseError:
    """Return an error that names options as the command line does; what it found stays as it is."""
    hint = None if error.hint is None else in_options(error.hint, command, group)
    what = in_options(error.what, command, group)
    return type(error)(what, where=error.where, found=error.found, hint=hint)


def in_options(text: str, command: click.Command, group: click.Group) -> str:
    """Return text with parameters of Python as options of a command, or else of ``evaluate``.

    Results are compared, split and audited for the sake of `evaluate`, so that messages of the
    other commands speak of its options too.
    """
    context = click.Context(group)
    evaluate = group.get_command(context, "evaluate")
    assert evaluate is not None
    options = _options(evaluate) | _options(command)
    commands = group.list_commands(context)

    def called(match: re.Match[str]) -> str:
        if match["name"] not in commands:
            return match[0]
        given = f" … {match['given']}" if match["given"] else ""
        return f"rankwise {match['name']}{given}"

    text = _FUNCTION.sub(called, text)
    return _KEYWORD.sub(lambda match: _spelled(match, options), text)


def flag_of(option: click.Parameter) -> str:
    """Return the long flag of an option."""
    return max(option.opts, key=len)


def _options(command: click.Command) -> dict[str, click.Option]:
    """Return options by the names that the library may use: the parameter's and the flag's."""
    options = [option for option in command.params if isinstance(option, click.Option)]
    by_flag = {flag_of(option).lstrip("-").replace("-", "_"): option for option in options}
    return by_flag | {option.name: option for option in options if option.name}


def _spelled(match: re.Match[str], options: Mapping[str, click.Option]) -> str:
    """Return a parameter as an option; a name alone only if no English word looks like it."""
    name, value = match["name"], match["value"]
    is_parameter = match[0] != name or "_" in name
    if name not in options or not is_parameter:
        return match[0]
    option, flag = options[name], flag_of(options[name])
    if match[0] == name or option.is_flag:
        return option.secondary_opts[-1] if value == "False" and option.secondary_opts else flag
    if value is None:
        choices = getattr(option.type, "choices", ())
        return f"{flag} {option.metavar or '|'.join(choices) or option.type.name.upper()}"
    return " ".join(f"{flag} {text}" for text in _values(value))


def _values(value: str) -> list[str]:
    """Return a value of Python as words of the command line: a mapping or a list as several."""
    if value.startswith("{"):
        return [f"{key}={text or rest}" for key, text, rest in _PAIR.findall(value)]
    words = value.strip("[]").split(",") if value.startswith("[") else [value]
    bare = [word.strip().strip("\"'") for word in words]
    return [word if re.fullmatch(r"[\w.…@-]*", word) else shlex.quote(word) for word in bare]
