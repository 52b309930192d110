"""What a command loads: offline commands never load Locust, gevent or Textual; the screen never loads the load generator."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from session.samples import HEADER

from capexplorer.model.events import Ended
from capexplorer.session.writer import SessionWriter

ROOT = Path(__file__).resolve().parent.parent
GENERATOR = ("locust", "gevent", "geventhttpclient", "requests")
SCREEN = ("textual",)
HTTP = ("httpx", "httpcore")
"""0.1 s of a start; what asks a target by HTTP imports them while the target starts."""

WEB = ("flask", "jinja2", "werkzeug")
"""A quarter of what Locust takes to start."""


def loaded_after(program: str) -> set[str]:
    """Top-level modules of a fresh process that ran `program`."""
    tell = "import json as _json, sys as _sys; _names = {name.partition('.')[0] for name in _sys.modules}\n"
    tell += "_sys.stderr.write('\\n' + _json.dumps(sorted(_names)))"
    done = subprocess.run([sys.executable, "-c", f"{program}\n{tell}"], cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    writer = SessionWriter(tmp_path / f"{HEADER.id}.jsonl")
    writer.write(HEADER)
    writer.write(Ended(t_s=1.0, reason="quit"))
    writer.close()
    return tmp_path


OFFLINE = (
    ["--help"], ["run", "--help"], ["export", "last", "--sessions-dir", "HERE"], ["sessions", "--sessions-dir", "HERE"],
    ["sessions", "--json", "--sessions-dir", "HERE"], ["profiles"], ["targets"], ["doctor"],
    ["compare", "sample", "sample-4-threads", "--format", "md"], ["export", "sample", "--format", "md"], ["import", "--help"],
)  # fmt: skip


def test_an_offline_command_loads_no_generator_and_no_screen(sessions: Path) -> None:
    commands = [[str(sessions) if arg == "HERE" else arg for arg in args] for args in OFFLINE]
    loaded_after(
        "import sys\n"
        "from capexplorer import cli\n"
        f"for command in {commands!r}:\n"
        "    assert cli.run(command) == 0, command\n"
        f"    wrong = set({GENERATOR + SCREEN + HTTP!r}) & {{name.partition('.')[0] for name in sys.modules}}\n"
        "    assert not wrong, (command, wrong)\n"
    )


PATCHED = "from capexplorer.load import native; native.patch()\nimport capexplorer.run.live, locust.env\n"


@pytest.mark.parametrize("given", [None, "2"])
def test_numpy_gets_one_blas_thread_unless_the_user_says_otherwise_and_services_do_not_inherit_it(given: str | None) -> None:
    """A second one spins at each start. `services`: what a run starts has the run's environment."""
    program = (
        "import os, capexplorer.commands.headless\n"
        f"assert os.environ.get('OPENBLAS_NUM_THREADS') == {given!r}\n"
        f"assert {given!r} or len(os.listdir('/proc/self/task')) == 1, 'threads'"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment |= {"OPENBLAS_NUM_THREADS": given} if given else {}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=240, env=environment)
    assert done.returncode == 0, done.stderr


def limits_threads(module: Path) -> bool:
    """Whether a file does so above its own import of numpy, if it has one."""
    return "import one_blas_thread" in module.read_text(encoding="utf-8").partition("\nimport numpy")[0]


def test_whatever_imports_numpy_limits_its_threads_first() -> None:
    """A module by itself, or one of the packages that hold it. A run once loaded `analysis` first, with a thread a core."""
    package = ROOT / "capexplorer"
    modules = [
        path for path in package.rglob("*.py") if re.search(r"^(import|from) numpy", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(modules) > 20
    for path in modules:
        holding = [folder / "__init__.py" for folder in path.parents if folder.is_relative_to(package)]
        assert any(limits_threads(each) for each in [path, *holding]), path


def test_a_run_does_not_load_locusts_web_interface() -> None:
    assert loaded_after(PATCHED).isdisjoint(WEB)


def test_a_locustfile_that_asks_for_locusts_web_interface_gets_it() -> None:
    opened = "assert type(locust.env.Environment().create_web_ui('127.0.0.1', 0)).__module__ == 'locust.web'"
    statement = "from locust.web import WebUI, logger\nassert logger.name == 'locust.web'"
    assert loaded_after(f"{PATCHED}{statement}\n{opened}") >= set(WEB)


@pytest.mark.parametrize(
    "module", ["capexplorer.target.supervisor_process", "capexplorer.target.ready", "capexplorer.probe.probes"]
)
def test_a_start_does_not_wait_for_the_http_client(module: str) -> None:
    assert loaded_after(f"import {module}").isdisjoint(HTTP)


def test_no_form_but_html_loads_the_template_engine() -> None:
    assert "jinja2" not in loaded_after(
        "from capexplorer import cli; assert cli.run(['export', 'sample', '--format', 'md']) == 0"
    )
    assert "jinja2" not in loaded_after("import capexplorer.commands.pick, capexplorer.commands.session_folder")


def test_the_screen_loads_no_generator() -> None:
    assert loaded_after("import capexplorer.tui.app").isdisjoint(GENERATOR)


def test_the_model_loads_no_screen_no_generator_and_no_command_line() -> None:
    loaded = loaded_after("import capexplorer.model.timeline, capexplorer.model.controls, capexplorer.analysis.epoch.levels")
    assert loaded.isdisjoint((*GENERATOR, *SCREEN, "click", "psutil", "rich"))


def test_patching_is_complete_before_users_come_and_shortens_the_switch_interval() -> None:
    loaded_after(
        "import sys, resource\n"
        "from capexplorer.load import native; native.patch()\n"
        "from gevent import monkey\n"
        "for name in ('socket', 'ssl', 'threading', 'time', 'select', 'subprocess'):\n"
        "    assert monkey.is_module_patched(name), name\n"
        "assert sys.getswitchinterval() <= 1.1e-4\n"
        "soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "assert soft == hard\n"
    )


def test_a_native_thread_is_native_although_everything_is_patched() -> None:
    loaded_after(
        "from capexplorer.load import native; native.patch()\n"
        "from _queue import SimpleQueue\n"
        "from _thread import get_native_id\n"
        "answer = SimpleQueue()\n"
        "native.start_thread(lambda: (native.sleep(0.01), answer.put(get_native_id())))\n"
        "assert answer.get(timeout=20) != get_native_id()\n"
    )
