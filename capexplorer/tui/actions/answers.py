"""Checks of typed answers: why an answer is invalid, as a sentence; None if it is valid."""

from __future__ import annotations

from ...model.controls import SPAWN_RATE_LEAST, SPAWN_RATE_MOST
from ...model.offered import RATE_LEAST_PER_S, RATE_MOST_PER_S
from ...model.watched import parsed_part


def users_error(answer: str, max_users: int) -> str | None:
    """What is wrong with a number of users."""
    if answer.endswith("/s"):
        return "expected users, not a rate; Esc, then u changes the unit to an offered rate"
    if not (answer.isascii() and answer.isdigit()):
        return f"expected a whole number, 0 to {max_users:,}"
    return f"the limit is {max_users:,} users (guards.max_users)" if int(answer) > max_users else None


def spawn_rate_error(answer: str) -> str | None:
    """What is wrong with a spawn rate."""
    try:
        right = not answer or SPAWN_RATE_LEAST <= float(answer) <= SPAWN_RATE_MOST
    except ValueError:
        right = False
    bounds = f"{SPAWN_RATE_LEAST:g} to {SPAWN_RATE_MOST:,.0f}"
    return None if right else f"expected users a second, {bounds} (for example 10 or 0.5), or nothing for automatic"


def load_of(answer: str) -> float:
    """The number of users or the rate in an answer: `60`, `60/s`. Raises ValueError if it is neither."""
    return float(answer.removesuffix("/s"))


def offered_rate_error(answer: str) -> str | None:
    """What is wrong with an offered rate: `60` or, as the screen writes it, `60/s`."""
    try:
        right = load_of(answer) == 0 or RATE_LEAST_PER_S <= load_of(answer) <= RATE_MOST_PER_S
    except ValueError:
        right = False
    bounds = f"{RATE_LEAST_PER_S:g} to {RATE_MOST_PER_S:,.0f}"
    return None if right else f"expected iterations a second, {bounds} (for example 200 or 0.5), or 0"


def part_error(answer: str) -> str | None:
    """What is wrong with a part to watch."""
    try:
        parsed_part(answer)
    except ValueError as error:
        return str(error)
    return None


def note_error(answer: str) -> str | None:
    """What is wrong with a note."""
    return None if answer else "the note is empty"
