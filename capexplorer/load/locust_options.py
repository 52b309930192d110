"""A locustfile's own options as Locust reads them: from arguments, variables of the environment and locust.conf."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from locust.argument_parser import get_empty_argument_parser, get_parser, setup_parser_arguments

from ..errors import InputError

USED = ("host", "tags", "exclude_tags", "user_classes")
"""Locust's own options that have an effect here; the others concern its web interface, its files and its way to step users."""
HOW = "give it after `--`, in locust.conf, or as the environment variable that it names"


class _Refused(Exception):
    """What the parser has to say in place of ending the program."""


def default_options() -> Namespace:
    """Locust's options with their defaults, for users that are not of a locustfile."""
    parser = get_empty_argument_parser(default_config_files=[])
    setup_parser_arguments(parser)  # type: ignore[no-untyped-call]
    options: Namespace = parser.parse_args([], env_vars={})
    return options


def parse(arguments: Sequence[str], where: str) -> Namespace:
    """The options of a locustfile that has been imported, and so has added its own; `where` names it in messages.

    Raises InputError: an unknown option, a missing one, a value that is not allowed, or an option of Locust without effect here.
    """
    try:
        parser = get_parser()
        parser.exit = _refuse
        _check_effect(parser, arguments)
        options: Namespace = parser.parse_args(list(arguments))
    except _Refused as refused:
        raise InputError(f"{where}: {refused}") from None
    except SystemExit as ended:
        raise InputError(f"{where}: SystemExit in a listener of init_command_line_parser: {ended}") from None
    return options


def _refuse(status: int = 0, message: str | None = None) -> None:
    text = (message or "the option is of Locust and has no effect here").strip().partition("error: ")
    said = (text[2] or text[0]).replace("\nDid you", "; did you")
    raise _Refused(f"{said} ({HOW})" if "required" in said else said)


def _check_effect(parser: Any, arguments: Sequence[str]) -> None:
    """Raises _Refused: one of these is an option of Locust that has no effect here."""
    own = {*vars(default_options()), "help", "version"}
    for argument in arguments:
        action = parser._option_string_actions.get(argument.partition("=")[0])
        if action is not None and action.dest in own and action.dest not in USED:
            known = sorted(option for option, each in parser._option_string_actions.items() if each.dest not in own)
            own_options = f"; the locustfile's own options: {', '.join(known)}" if known else ""
            raise _Refused(f"{argument}: an option of Locust that has no effect here{own_options}")
