"""The app waits for the build of a target until it ends or exceeds its own time limit."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from capexplorer.errors import TargetError
from capexplorer.target.place import free_port
from capexplorer.target.ready import wait_until_built
from capexplorer.target.spec import Build

from .target_rig import PRINTS_AND_SLEEPS, TIMEOUT_S, Rig, below, pause

Built = Callable[..., int]


@pytest.fixture
def built(rig: Rig) -> Built:
    """Runs a program as the build of a target; returns the number of its run."""

    def build(program: str, timeout_s: float = TIMEOUT_S) -> int:
        build = Build(command=("{python}", "-c", program), timeout_s=timeout_s)
        spec = msgspec.structs.replace(rig.target("never started"), build=build)
        assert spec.build_step is not None
        run = rig.supervisor.start(spec.build_step, {}, free_port())
        wait_until_built(rig.supervisor, run, spec, sleep=pause)
        return run

    return build


def test_the_build_has_ended_when_the_target_is_started(rig: Rig, built: Built) -> None:
    end = rig.exited(built("print('compiled')"))
    assert (end.code, end.output) == (0, ("compiled",))


def test_a_build_that_fails_shows_its_last_line(built: Built) -> None:
    with pytest.raises(TargetError, match=r"^small: the build failed \(exit code 3\): undefined: x$") as raised:
        built("import sys; print('undefined: x'); sys.exit(3)")
    assert raised.value.output == ("undefined: x",)


def test_a_build_that_cannot_be_run_shows_why(rig: Rig) -> None:
    spec = msgspec.structs.replace(rig.target(""), build=Build(command=("/nowhere/make",)))
    assert spec.build is not None and spec.build_step is not None
    run = rig.supervisor.start(spec.build_step, {}, free_port())
    with pytest.raises(TargetError, match="the build failed .*cannot run /nowhere/make: No such file or directory"):
        wait_until_built(rig.supervisor, run, spec, sleep=pause)


def test_a_build_that_takes_too_long_is_ended_with_its_children(rig: Rig, built: Built) -> None:
    with pytest.raises(TargetError, match=r"^small: not built after 0.5 s \(build.timeout_s in .*target.toml\)$"):
        built(PRINTS_AND_SLEEPS, timeout_s=0.5)
    assert rig.exited(1).stopped
    assert not below(rig.supervisor_pid)
