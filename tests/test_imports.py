"""Which modules a process loads: offline commands neither Locust, gevent nor Textual; the screen no load generator."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from fresh_process import modules_loaded_by, run_in_fresh_process
from kit.package import PACKAGE, modules
from kit.scenario import HEADER

from capexplorer.model.events import Ended
from capexplorer.session.writer import SessionWriter

GENERATOR = ("locust", "gevent", "geventhttpclient", "requests")
SCREEN = ("textual",)
HTTP = ("httpx", "httpcore")
"""Importing these takes 0.1 s, which modules that ask a target by HTTP do only while the target starts."""

WEB = ("flask", "jinja2", "werkzeug")
"""Of Locust's web interface; importing these takes a quarter of the time of importing Locust."""


@pytest.fixture
def sessions_folder(tmp_path: Path) -> Path:
    """A folder with one saved session."""
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
"""Arguments of commands that need no load and no screen. HERE stands for a folder with one saved session."""


def test_an_offline_command_loads_no_generator_and_no_screen(sessions_folder: Path) -> None:
    commands = [[str(sessions_folder) if arg == "HERE" else arg for arg in args] for args in OFFLINE]
    run_in_fresh_process(
        "import sys\n"
        "from capexplorer import cli\n"
        f"for command in {commands!r}:\n"
        "    assert cli.run(command) == 0, command\n"
        f"    wrong = set({GENERATOR + SCREEN + HTTP!r}) & {{name.partition('.')[0] for name in sys.modules}}\n"
        "    assert not wrong, (command, wrong)\n"
    )


def test_a_run_needs_no_folder_for_temporary_files() -> None:
    """A container with a read-only root has none."""
    run_in_fresh_process(
        "import tempfile\n"
        "def none_is_usable(): raise FileNotFoundError\n"
        "tempfile.gettempdir = tempfile._get_default_tempdir = none_is_usable\n"
        "from capexplorer.commands.run import assembly\n"
    )


def test_a_configuration_with_a_theme_and_keys_is_checked_without_the_screen(sessions_folder: Path) -> None:
    (file := sessions_folder / "config.toml").write_text('theme = "nord"\n[keys]\nautopilot = "+"\nmore_users = "k"\n')
    run_in_fresh_process(
        "import sys\n"
        "from capexplorer import cli\n"
        f"assert cli.run(['--config', {str(file)!r}, 'targets']) == 0\n"
        f"assert not {{*{SCREEN!r}, 'ssl', 'asyncio'}} & {{name.partition('.')[0] for name in sys.modules}}\n"
    )


PATCH_AND_IMPORT_LOCUST = "from capexplorer.load import native; native.patch()\nimport capexplorer.run.session_run, locust.env\n"


BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def test_a_run_loads_numpy_with_one_blas_thread_and_without_a_change_of_its_environment() -> None:
    """Each further thread of BLAS uses CPU at each start. Services that a run starts inherit its environment."""
    program = (
        "import os, capexplorer.commands.run.exploring\n"
        f"assert {BLAS_THREADS!r} not in os.environ\n"
        "assert len(os.listdir('/proc/self/task')) == 1, 'threads'"
    )
    run_in_fresh_process(program, {name: value for name, value in os.environ.items() if name != BLAS_THREADS})


def test_a_number_of_blas_threads_that_the_user_has_set_is_not_changed() -> None:
    program = f"import os, capexplorer.commands.run.exploring; assert os.environ[{BLAS_THREADS!r}] == '2'"
    run_in_fresh_process(program, {**os.environ, BLAS_THREADS: "2"})


def limits_blas_threads(file: Path) -> bool:
    """Whether a file imports `one_blas_thread` above its import of numpy, if it has one."""
    return "import one_blas_thread" in file.read_text(encoding="utf-8").partition("\nimport numpy")[0]


def test_every_module_that_imports_numpy_limits_blas_threads_first() -> None:
    """The module itself, or one of the packages that contain it. The first import of numpy decides for the whole process."""
    importing = [path for path in modules() if re.search(r"^(import|from) numpy", path.read_text("utf-8"), re.MULTILINE)]
    assert len(importing) > 20, "the search does not find the modules"
    unlimited = []
    for path in importing:
        packages = [folder / "__init__.py" for folder in path.parents if folder.is_relative_to(PACKAGE)]
        if not any(limits_blas_threads(each) for each in [path, *packages]):
            unlimited.append(str(path.relative_to(PACKAGE)))
    assert unlimited == []


def test_a_run_does_not_load_locusts_web_interface() -> None:
    assert modules_loaded_by(PATCH_AND_IMPORT_LOCUST).isdisjoint(WEB)


def test_a_locustfile_can_still_open_locusts_web_interface() -> None:
    opens_web_interface = (
        "web = locust.env.Environment().create_web_ui('127.0.0.1', 0)\nassert type(web).__module__ == 'locust.web'\n"
        "web.greenlet.kill()"  # from Python 3.12 on it fails aloud at the end of the interpreter
    )
    imports_web_interface = "from locust.web import WebUI, logger\nassert logger.name == 'locust.web'"
    assert modules_loaded_by(f"{PATCH_AND_IMPORT_LOCUST}{imports_web_interface}\n{opens_web_interface}") >= set(WEB)


@pytest.mark.parametrize(
    "module", ["capexplorer.target.supervisor_process", "capexplorer.target.ready", "capexplorer.read.probes"]
)
def test_modules_that_a_run_imports_before_its_target_starts_do_not_import_httpx(module: str) -> None:
    assert modules_loaded_by(f"import {module}").isdisjoint(HTTP)


def test_only_html_exports_load_the_template_engine() -> None:
    assert "jinja2" not in modules_loaded_by(
        "from capexplorer import cli; assert cli.run(['export', 'sample', '--format', 'md']) == 0"
    )
    assert "jinja2" not in modules_loaded_by("import capexplorer.commands.pick, capexplorer.commands.pick")


def test_the_screen_loads_no_generator() -> None:
    assert modules_loaded_by("import capexplorer.tui.app").isdisjoint(GENERATOR)


def test_the_model_loads_no_screen_no_generator_and_no_command_line() -> None:
    loaded = modules_loaded_by(
        "import capexplorer.model.timeline, capexplorer.model.controls, capexplorer.analysis.epoch.level_clock"
    )
    assert loaded.isdisjoint((*GENERATOR, *SCREEN, "click", "psutil", "rich"))


def test_patching_covers_all_modules_shortens_the_switch_interval_and_raises_the_limit_of_descriptors() -> None:
    run_in_fresh_process(
        "import sys, resource\n"
        "from capexplorer.load import native; native.patch()\n"
        "from gevent import monkey\n"
        "for name in ('socket', 'ssl', 'threading', 'time', 'select', 'subprocess'):\n"
        "    assert monkey.is_module_patched(name), name\n"
        "assert sys.getswitchinterval() <= 1.1e-4\n"
        "soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "assert soft == hard\n"
    )


def test_native_start_thread_starts_an_operating_system_thread_in_a_patched_process() -> None:
    run_in_fresh_process(
        "from capexplorer.load import native; native.patch()\n"
        "from _queue import SimpleQueue\n"
        "from _thread import get_native_id\n"
        "answer = SimpleQueue()\n"
        "native.start_thread(lambda: (native.sleep(0.01), answer.put(get_native_id())))\n"
        "assert answer.get(timeout=20) != get_native_id()\n"
    )
