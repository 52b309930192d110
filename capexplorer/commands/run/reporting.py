"""What a headless run leaves for the CI system that started it: files of results, annotations, and a baseline for later runs."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from ...errors import CapexplorerError, ExitCode, InputError
from ...extras import require
from ...report.annotations import annotated
from ...report.checks import NO_BASELINE, Baseline, of_session, outcome, unfit
from ...report.compare import Session, compare, sentences
from ...report.compare.fail_if import Condition, parse
from ...report.formats import ci_summary, junit
from ...report.writing import write_file, write_files
from ...session.baseline_store import BaselineStore
from ..compare import read
from ..terminal import print_error, print_line, printable
from .arguments import RunArguments

JOB_SUMMARY = "GITHUB_STEP_SUMMARY"
"""Variable of GitHub Actions: a file to which a job appends Markdown."""

_CODES = {"failed": ExitCode.NOT_MET, "undecided": ExitCode.UNDECIDED}
"""Of conditions that hold, and of those that cannot be judged."""


class Reporting(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted after a run."""

    junit: Path | None = None
    summary: Path | None = None
    picture_url: str | None = None
    store: BaselineStore | None = None
    conditions: tuple[Condition, ...] = ()
    updates: bool = False
    """Whether the session becomes the latest baseline if the exit code is 0."""
    job_summary: Path | None = None
    annotates: bool = False
    """Whether GitHub Actions shows what is printed as annotations."""

    def of_run(self, log: Path, code: int) -> int:
        """Write everything for the run that ended with this exit code. Returns the exit code with the conditions' results. What
        cannot be written is one line on stderr, and exit code 2 if there was no other.
        """
        if self == Reporting():
            return code
        try:
            session, _ = read(log)
            baseline = self._baseline(session)
            if code in (ExitCode.DONE, ExitCode.UNDECIDED):
                code = _CODES.get(outcome(baseline.checks), code)
            if self.annotates:
                for line in annotated(session.timeline, of_session(session.timeline, baseline)):
                    print_line(line)
            self._write(session, baseline)
            if self.updates and self.store is not None and code == ExitCode.DONE:
                why_not = unfit(session.timeline)
                print_line(f"baseline: not kept, {why_not}" if why_not else f"baseline: kept as {self.store.keep(log)}")
        except CapexplorerError as error:
            print_error(str(error))
            return code or error.exit_code
        return code

    def _baseline(self, session: Session) -> Baseline:
        """Compare with the latest baseline, and print the result."""
        header = session.timeline.header
        if self.store is None or header is None:
            return NO_BASELINE
        if foreign := self.store.left_alone(header):
            print_error(f"baseline store: {foreign}")
        path = self.store.latest(header)
        if path is None:
            found = Baseline(conditions=self.conditions, why_none=self.store.why_none(header))
            print_line(f"{printable(found.why_none)}; --update-baseline keeps a session as one")
            return found
        comparison = compare([read(path)[0], session])
        print_line(f"baseline: {path}")
        found = Baseline(conditions=self.conditions, comparison=comparison)
        for line in (f"{sentences.verdict(comparison)}", *(each.sentence for each in found.checks)):
            print_line(f"baseline: {printable(line)}")
        return found

    def _write(self, session: Session, baseline: Baseline) -> None:
        """The job's page, which nobody asked for, changes no exit code. Raises InputError if a file cannot be written."""
        timeline, url = session.timeline, self.picture_url
        if self.job_summary is not None:
            try:
                with self.job_summary.open("ab") as file:
                    file.write(ci_summary.render(timeline, baseline, url))
            except OSError as error:
                print_error(f"{JOB_SUMMARY}: {self.job_summary} cannot be written: {error.strerror or error}")
        if self.junit is not None:
            write_file(self.junit, junit.of_timeline(timeline, baseline), force=True)
        if self.summary is not None:
            write_files(self.summary, ci_summary.files(timeline, self.summary.name, url, baseline), force=True)


def reporting_of(asked: RunArguments) -> Reporting:
    """What the options and the environment ask a headless run for. Raises InputError, before anything starts."""
    given = asked.of_results
    for name, needed in (
        ("--picture-url", "--summary"),
        ("--fail-if", "--baseline-store"),
        ("--update-baseline", "--baseline-store"),
    ):
        if name in given and needed not in given:
            raise InputError(f"{name}: needs {needed}")
    for name, path in (("--junit", asked.junit), ("--summary", asked.summary)):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise InputError(f"{name}: expected a file in a folder that exists, got {path}")
    if asked.baseline_store is not None and asked.baseline_store.exists() and not asked.baseline_store.is_dir():
        raise InputError(f"--baseline-store: expected a folder, got the file {asked.baseline_store}")
    if asked.junit is not None:
        require("JUnit", junit.LIBRARY)
    job_summary = os.environ.get(JOB_SUMMARY)
    return Reporting(
        junit=asked.junit,
        summary=asked.summary,
        picture_url=asked.picture_url,
        store=BaselineStore(asked.baseline_store) if asked.baseline_store is not None else None,
        conditions=tuple(map(parse, asked.fail_if)),
        updates=asked.update_baseline,
        job_summary=Path(job_summary) if job_summary else None,
        annotates=os.environ.get("GITHUB_ACTIONS") == "true",
    )
