"""`export --format junit`: checks as test cases (JUnit XML), for the test reports of CI systems.

What is not met is a failure, what is undecided an error: neither may pass a gate that reads this file alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from ... import wording
from ...extras import require
from ...model.timeline import Timeline, version_of
from ..checks import NO_BASELINE, Baseline, Check, of_session
from ..escaping import visible
from . import Format

LIBRARY = "junitparser"


def render(name: str, checks: Sequence[Check], properties: Mapping[str, str], started_at: str = "") -> bytes:
    """The file, with a test suite for each group of checks. `name`: of the profile. `started_at`: ISO 8601 with offset. Raises
    InputError where junitparser is missing.
    """
    require("JUnit", LIBRARY)
    import junitparser as junit

    results = {"failed": junit.Failure, "undecided": junit.Error, "skipped": junit.Skipped}
    document = junit.JUnitXml("capexplorer")  # without counts: the schema of Jenkins has no `skipped` there
    for group, checks_of_group in groupby(checks, key=lambda each: each.group):
        suite = junit.TestSuite(visible(f"{name}: {group}"))
        if began := wording.wall_time_at(started_at, 0.0):
            suite.timestamp = began.removesuffix("Z")  # schemas know no offset
        for key, value in properties.items():
            suite.add_property(key, visible(value))
        for each in checks_of_group:
            case = junit.TestCase(visible(each.name), visible(f"capexplorer.{name}.{group}"), round(each.seconds, 3))
            if each.state in results:
                case.result = results[each.state](visible(each.sentence), each.result)
            else:
                case.system_out = visible(each.words)
            suite.append(case)
        suite.update_statistics()
        document.append(suite)
    text: bytes = document.tostring()
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + text + b"\n"


def of_timeline(timeline: Timeline, baseline: Baseline = NO_BASELINE) -> bytes:
    """The checks of a session, and those against its baseline. Raises InputError as `render` does."""
    header, checks = timeline.header, of_session(timeline, baseline)
    if header is None:
        return render("session", checks, {})
    known = {"session": header.id, "label": header.label, "target": header.target.name, "version": version_of(timeline)}
    properties = {name: value for name, value in known.items() if value} | {"verdict": wording.verdict(timeline)}
    return render(header.profile_name, checks, properties, header.started_at)


FORMAT = Format(name="junit", place=7, description="test results (JUnit XML) for a CI system", suffix=".xml", text=of_timeline)
