"""How much a finding matters and how sure it is: the two scales that every room shares."""

from __future__ import annotations

from typing import Literal

Severity = Literal["critical", "error", "warning", "info"]
"""Gravest first. critical, unless the target is named: the run says nothing about the target."""

Confidence = Literal["high", "medium", "low"]
"""Surest first."""

SEVERITIES: tuple[Severity, ...] = ("critical", "error", "warning", "info")
CONFIDENCES: tuple[Confidence, ...] = ("high", "medium", "low")
