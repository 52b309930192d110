"""The class of each failure signature, and the full text of its first failure. Both are remembered, since failures repeat."""

from __future__ import annotations

from ...model.events import FailureSignature, FailureTick
from .catalogue import ENTRIES
from .classify import classify
from .resolve import needs_readings

SIGNATURES_MOST = 10_000
"""Greatest number of signatures that are remembered; sessions have far fewer."""


class FailureClasses:
    """Remembers at most SIGNATURES_MOST signatures."""

    def __init__(self) -> None:
        self._classes: dict[FailureSignature, tuple[str, bool]] = {}
        self._examples: dict[FailureSignature, str] = {}
        """Full text of the first failure of each signature."""

    def add_example(self, failure: FailureTick) -> None:
        """Remember the text of this failure if it is the first one of its signature."""
        if failure.example and len(self._examples) < SIGNATURES_MOST:
            self._examples.setdefault(failure.signature, failure.example)

    def example(self, signature: FailureSignature) -> str:
        """The text of the first failure of this signature."""
        return self._examples.get(signature) or signature.text or " ".join(signature.types)

    def class_of(self, signature: FailureSignature, system: str | None) -> tuple[str, bool]:
        """(id of a cause or symptom, whether readings decide on its cause). `system`: of the generator; None: not known."""
        found = self._classes.get(signature)
        if found is None:
            if len(self._classes) >= SIGNATURES_MOST:
                self._classes.clear()
            named = classify(signature, system)
            named = named if named in ENTRIES else "unknown"
            found = self._classes[signature] = named, needs_readings(named, signature)
        return found
