"""From `--watch` and a profile's `[[watch]]` to the parts that a run watches."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InputError
from ..model.watched import PartSpec, mistakes, parsed_part
from ..parts.servers import missing_client


def watches_of(asked: Sequence[str], of_profile: Sequence[PartSpec]) -> tuple[PartSpec, ...]:
    """The profile's parts, then those of the command line; one of the same name replaces the profile's. Raises InputError."""
    given = [_parsed(text) for text in asked]
    names = {watch.name for watch in given}
    found = (*(watch for watch in of_profile if watch.name not in names), *given)
    for _, expected in mistakes(found):
        raise InputError(f"--watch: {expected}")
    for missing in filter(None, map(missing_client, found)):
        raise InputError(f"watch: {missing}")
    return found


def _parsed(text: str) -> PartSpec:
    try:
        return parsed_part(text)
    except ValueError as error:
        raise InputError(f"--watch: {error}") from None
