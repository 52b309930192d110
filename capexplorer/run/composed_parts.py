"""From the containers of a Compose file to the parts that are watched. Pure.

The processes of a local daemon are in this machine's /proc: they are read from here, at no cost inside the container, which then
needs neither a shell nor Python. Those of a daemon elsewhere are read by `docker exec`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ..model.watched import NAME_MOST, PartSpec
from ..target.compose.reported import ReportedContainer


def composed_parts(containers: Sequence[ReportedContainer], of_profile: Sequence[PartSpec]) -> Iterator[PartSpec]:
    """A part for each container, then the profile's other parts.

    A part of the profile that has the name of a service and gives no place describes that service: its URLs are read in addition
    to the container.
    """
    given = {part.name: part for part in of_profile}
    several = Counter(each.service for each in containers)
    seen = Counter[str]()
    for each in containers:
        seen[each.service] += 1
        name = _named(each.service, seen[each.service] if several[each.service] > 1 else None)
        own = given.pop(name, PartSpec(name=name))
        yield _placed(own, each) if not _has_place(own) else own
    yield from given.values()


def _named(service: str, number: int | None) -> str:
    """`web`, or `web2`: parts whose names differ by a number are judged as peers."""
    suffix = "" if number is None else str(number)
    plain = re.sub(r"[^\w-]", "-", service, flags=re.ASCII).lstrip("-_") or "service"
    return plain[: NAME_MOST - len(suffix)] + suffix


def _has_place(part: PartSpec) -> bool:
    return bool(part.at.strip()) or part.selected is not None


def _placed(part: PartSpec, container: ReportedContainer) -> PartSpec:
    if container.is_here:
        return replace(part, container=container.name)
    return replace(part, at=f"docker exec -i {container.name}")
