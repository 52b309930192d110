"""What is wrong with an answer that was typed, as a sentence; None when it will do."""

from __future__ import annotations


def users_wrong(answer: str, max_users: int) -> str | None:
    """What is wrong with a number of users."""
    if not (answer.isascii() and answer.isdigit()):
        return f"expected a whole number, 0 to {max_users:,}"
    return f"the guard allows at most {max_users:,} users" if int(answer) > max_users else None


def rate_wrong(answer: str) -> str | None:
    """What is wrong with a spawn rate."""
    try:
        right = not answer or 0 < float(answer) < float("inf")
    except ValueError:
        right = False
    return None if right else "expected users a second, above 0 (for example 10 or 0.5), or nothing for automatic"


def note_wrong(answer: str) -> str | None:
    """What is wrong with a note."""
    return None if answer else "nothing written yet"
