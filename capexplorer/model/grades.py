"""The severity and the confidence of a finding."""

from __future__ import annotations

from typing import Literal

Severity = Literal["critical", "error", "warning", "info"]
"""Highest first. A critical finding outside of the target means that the run does not describe the target."""

Confidence = Literal["high", "medium", "low"]
"""Highest first."""

SEVERITIES: tuple[Severity, ...] = ("critical", "error", "warning", "info")
CONFIDENCES: tuple[Confidence, ...] = ("high", "medium", "low")
