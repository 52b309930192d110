"""Mutation score of a package or a module: `make mutants PACKAGE=capexplorer/steer COUNT=300 SEED=1`.

    python -m lab.mutants run PATH [--count N] [--seed N] [--tests PATH ...] [--save FILE]
    python -m lab.mutants compare OLD NEW     what a change of tests lost, and found

One process collects the tests. A fork of it runs them all once and records which test runs which line. Then a fork for each
mutant replaces the code of its function and runs the tests of its line until one fails. A fork that takes far longer than the
tests did is killed, which counts as noticed. What tests run in processes of their own counts as run by no test.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import coverage
import pytest

from lab.near import ROOT, imported_names, module_name

from .sample import Key, Mutant, sample

STORE = ROOT / ".mutants"
ELSEWHERE = ("e2e", "lab", "pages", "tui")
"""Folders of tests that reach the product by other processes, by pages, or by the whole application: run for their own package
alone."""
ABOVE = {"analysis": ["wording"], "model": ["session"], "session": ["replay"], "steer": ["run"]}
"""Folders whose tests run all of a package below by one above it, without an import of theirs."""
MOST_CPU_S = 5.0
"""Of the tests of one mutant, as measured without a fault, those of the quickest files run."""
BYTES = 4 << 30


class Measured:
    """What the tests do without a fault."""

    def __init__(self, whole: dict[str, Any]) -> None:
        self.seconds: dict[str, float] = whole["seconds"]
        self.failed: list[str] = whole["failed"]
        self.tests: dict[str, dict[int, list[str]]] = {
            path: {int(line): tests for line, tests in lines.items()} for path, lines in whole["tests"].items()
        }

    def covering(self, mutant: Mutant) -> list[str]:
        """The tests of the mutant's lines, file by file, the quickest first."""
        by_line = self.tests.get(str(mutant.path.resolve()), {})
        found = {test for line in mutant.lines for test in by_line.get(line, []) if test} - set(self.failed)
        by_file = defaultdict(list)
        for test in sorted(found, key=lambda each: (self.seconds[each], each)):
            by_file[test.partition("::")[0]].append(test)
        files = sorted(by_file.values(), key=lambda tests: (sum(self.seconds[test] for test in tests), tests))
        ordered: list[str] = []
        spent_s = 0.0
        for test in (test for tests in files for test in tests):
            spent_s += self.seconds[test]
            if spent_s > MOST_CPU_S and ordered:
                break
            ordered.append(test)
        return ordered


class Mutating:
    """A plugin of pytest that runs the collected tests in forks, one a mutant."""

    def __init__(self, mutants: Sequence[Mutant], save: Callable[[dict[str, Any]], None]) -> None:
        self.mutants, self.save = mutants, save
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} files were not collected")
        session.config.pluginmanager.unregister(name="terminalreporter")
        gc.unfreeze()
        functions: dict[tuple[str, Key], list[FunctionType]] = defaultdict(list)
        for each in gc.get_objects():
            if isinstance(each, FunctionType):
                code = each.__code__
                functions[code.co_filename, (code.co_qualname, code.co_firstlineno)].append(each)
        gc.freeze()
        items = {item.nodeid: item for item in session.items}
        began_s = time.monotonic()
        measured = self._measure(items)
        print(
            f"{len(items)} tests ran in {time.monotonic() - began_s:.0f} s; one fork for each of {len(self.mutants)} mutants",
            flush=True,
        )
        if measured.failed:
            print("left out, since they fail without a fault:", *measured.failed, sep="\n    ", flush=True)
        for at, mutant in enumerate(self.mutants, 1):
            tests = measured.covering(mutant)
            killer = self._killer(
                mutant, [items[test] for test in tests], functions, sum(measured.seconds[test] for test in tests)
            )
            self.save(line_of(mutant, killer, len(tests)))
            if at % 50 == 0:
                print(f"    {at} in {time.monotonic() - began_s:.0f} s", flush=True)
        return True

    def _measure(self, items: dict[str, pytest.Item]) -> Measured:
        with tempfile.NamedTemporaryFile(dir=STORE, suffix=".json") as file:

            def run_all() -> None:
                covered = coverage.Coverage(
                    data_file=None,
                    config_file=False,
                    include=[str(path) for path in {each.path.resolve() for each in self.mutants}],
                )
                covered.start()
                seconds = {}
                for item, following in _in_turn(list(items.values())):
                    covered.switch_context(item.nodeid)
                    began_s = time.process_time()
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                    seconds[item.nodeid] = time.process_time() - began_s
                covered.stop()
                data = covered.get_data()
                tests = {path: data.contexts_by_lineno(path) for path in data.measured_files()}
                Path(file.name).write_text(json.dumps({"seconds": seconds, "failed": sorted(set(self.failed)), "tests": tests}))

            status = _forked(run_all, cpu_s=3600.0, wall_s=7200.0)
            if status != 0:
                raise RuntimeError(f"the tests without a fault ended with {status}")
            return Measured(json.loads(Path(file.name).read_text()))

    def _killer(
        self, mutant: Mutant, items: list[pytest.Item], functions: dict[tuple[str, Key], list[FunctionType]], tests_s: float
    ) -> str | None:
        """The test that notices the mutant, or how its process ended; None: it lived."""
        if not items:
            return None
        with tempfile.NamedTemporaryFile(dir=STORE, suffix=".killer") as file:

            def run_until_one_fails() -> None:
                for key, code in mutant.changed_codes().items():
                    for function in functions[str(mutant.path.resolve()), key]:
                        function.__code__ = code
                for item, following in _in_turn(items):
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                    if self.failed:
                        Path(file.name).write_text(self.failed[0])
                        return

            status = _forked(run_until_one_fails, cpu_s=3.0 + 4.0 * tests_s, wall_s=30.0 + 20.0 * tests_s)
            name = Path(file.name).read_text()
            return name or (None if status == 0 else f"ended with {status}")


def _in_turn(items: list[pytest.Item]) -> list[tuple[pytest.Item, pytest.Item | None]]:
    return list(zip(items, [*items[1:], None], strict=True))


def _forked(work: Callable[[], None], cpu_s: float, wall_s: float) -> int:
    """How a fork of this process ended that did this work: 0, or as a wait status. All of its processes are killed."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s) + 1, int(cpu_s) + 2))
            resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
            work()
            status = 0
        finally:
            os._exit(status)
    with suppress(PermissionError, ProcessLookupError):
        os.setpgid(pid, pid)
    watched = os.pidfd_open(pid)
    try:
        select.select([watched], [], [], wall_s)
    finally:
        os.close(watched)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def line_of(mutant: Mutant, killer: str | None, tests: int) -> dict[str, Any]:
    """The mutant as a JSON line."""
    line, old, new = mutant.change
    return {
        "key": mutant.key,
        "file": str(mutant.path),
        "line": line,
        "function": mutant.function,
        "operator": mutant.operator,
        "old": old,
        "new": new,
        "tests": tests,
        "killed_by": killer,
    }


def tests_of(package: Path) -> list[Path]:
    """The folder of tests of the same name, the one above it, and other test files that import one of the package's modules."""
    tests = ROOT / "tests"
    name = package.resolve().relative_to(ROOT).parts[1].removesuffix(".py")
    whole = [folder for each in (name, *ABOVE.get(name, ())) if (folder := tests / each).is_dir()]
    wanted = {module_name(path) for path in modules_of(package)}
    others = [
        path
        for path in sorted(tests.rglob("test_*.py"))
        if path.relative_to(tests).parts[0] not in {*ELSEWHERE, *(folder.name for folder in whole)}
    ]
    return [*whole, *(path for path in others if wanted.intersection(imported_names(path)))]


def modules_of(package: Path) -> list[Path]:
    """The package's files; a module's own."""
    return [package.resolve()] if package.is_file() else sorted(package.resolve().rglob("*.py"))


def run(package: Path, count: int, seed: int, tests: list[str], save: Path | None) -> int:
    """Prints the score and what lived. Exit code: 0 if the tests could be run."""
    STORE.mkdir(exist_ok=True)
    file = save or STORE / f"{'-'.join(package.with_suffix('').parts)}-{count}-{seed}.jsonl"
    mutants = sample([path.relative_to(ROOT) for path in modules_of(package)], count, seed)
    lines: list[dict[str, Any]] = []
    chosen = tests or [str(path.relative_to(ROOT)) for path in tests_of(package)]
    print(f"{len(mutants)} mutants of {package}; tests: {' '.join(chosen)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, file.open("w", encoding="utf-8") as output:

        def keep(line: dict[str, Any]) -> None:
            lines.append(line)
            print(json.dumps(line, ensure_ascii=False), file=output, flush=True)

        arguments = ["-q", "-m", "not slow and not trial", "-p", "no:cacheprovider", "--hypothesis-profile=mutants"]
        arguments += [f"--basetemp={folder}/tests", "-o", "tmp_path_retention_policy=none"]
        code = pytest.main([*arguments, *chosen], plugins=[Mutating(mutants, keep)])
    if len(lines) < len(mutants):
        return int(code) or 1
    for line in sorted((line for line in lines if not line["killed_by"]), key=lambda line: (line["file"], line["line"])):
        _print(line, "no test runs it" if not line["tests"] else f"lived {line['tests']} tests")
    killed = sum(1 for line in lines if line["killed_by"])
    unrun = sum(1 for line in lines if not line["tests"])
    print(f"killed {killed} of {len(lines)}: {killed / len(lines):.1%}; {unrun} of them on lines that no test runs. {file}")
    return 0


def compare(old: Path, new: Path) -> int:
    """Prints what only one of two results noticed. Exit code: 1 if fewer of the mutants of both were noticed."""
    before, after = (
        {line["key"]: line for line in map(json.loads, path.read_text(encoding="utf-8").splitlines())} for path in (old, new)
    )
    both = before.keys() & after.keys()
    for title, one, other in (("no longer killed", before, after), ("killed now", after, before)):
        changed = [
            other[key]
            for key in sorted(both, key=lambda key: (after[key]["file"], after[key]["line"]))
            if one[key]["killed_by"] and not other[key]["killed_by"]
        ]
        print(f"{title}: {len(changed)}")
        for line in changed:
            _print(line, f"by {one[line['key']]['killed_by']}")
    killed = [sum(1 for key in both if each[key]["killed_by"]) for each in (before, after)]
    print(f"of {len(both)} mutants in both (of {len(before)} and {len(after)}): killed {killed[0]} before, {killed[1]} now")
    return int(killed[1] < killed[0])


def _print(line: dict[str, Any], note: str) -> None:
    print(f"{line['file']}:{line['line']} {line['function']} {line['operator']}: {note}")
    print(*(f"    - {each.strip()}" for each in line["old"]), *(f"    + {each.strip()}" for each in line["new"]), sep="\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.mutants")
    commands = parser.add_subparsers(required=True, dest="command")
    runs = commands.add_parser("run")
    runs.add_argument("package", type=Path)
    runs.add_argument("--count", type=int, default=300)
    runs.add_argument("--seed", type=int, default=1)
    runs.add_argument("--tests", nargs="*", default=[])
    runs.add_argument("--save", type=Path)
    compares = commands.add_parser("compare")
    compares.add_argument("old", type=Path)
    compares.add_argument("new", type=Path)
    given = parser.parse_args()
    if given.command == "compare":
        return compare(given.old, given.new)
    os.chdir(ROOT)
    return run(given.package, given.count, given.seed, given.tests, given.save)


if __name__ == "__main__":
    sys.exit(main())
