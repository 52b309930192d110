"""Several locustfiles, folders of them, test functions of pytest, and what Locust's options change in their classes.

The same in whole runs, beside Locust: `python -m lab.trials conformance`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import locust
import pytest
from locust.env import Environment
from locust.event import Events

from capexplorer import paths
from capexplorer.errors import InputError
from capexplorer.load import workload
from capexplorer.load.workers.messages import Job, check_locustfile, digest_of
from capexplorer.load.workload import Workload
from capexplorer.profile import beside, locustfiles, names_of

URL = "http://127.0.0.1:9"

SHOP = """
from locust import FastHttpUser, LoadTestShape, task
class Shop(FastHttpUser):
    weight = 5
    @task(3)
    def browse(self): pass
    @task
    def buy(self): pass
class Wave(LoadTestShape):
    use_common_options = True
    def tick(self): return None
class Step(LoadTestShape):
    def tick(self): return None
"""
FILES = {
    "shop.py": SHOP,
    "admin.py": "from locust import FastHttpUser\nfrom shop import Shop\nclass Admin(FastHttpUser):\n    tasks = [print]\n",
    "rival.py": "from locust import FastHttpUser\nclass Shop(FastHttpUser):\n    tasks = [print]\n",
    "below/test_pages.py": "def test_page(session): session.get('/')\ndef helper(session): pass\n",
    "below/_private.py": "1 / 0\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture(autouse=True)
def _no_listeners() -> None:
    locust.events.init_command_line_parser._handlers.clear()


def made(folder: Path, given: str, *arguments: str) -> Workload:
    return workload.from_locustfile(beside(folder, given), URL, arguments)


def names(found: Workload) -> list[str]:
    return [kind.__name__ for kind in found.classes]


def test_classes_of_several_files_are_those_of_each_and_one_that_imports_another_adds_none(folder: Path) -> None:
    found = made(folder, "shop.py, admin.py")
    assert names(found) == ["Shop", "Admin"]
    assert type(found.shape).__name__ == "Wave"
    assert [Path(each).name for each in found.available["parsed_locustfiles"]] == ["shop.py", "admin.py"]


def test_two_classes_of_one_name_are_refused(folder: Path) -> None:
    with pytest.raises(InputError, match=r"rival.py: Shop is also in .*shop.py: expected another name"):
        made(folder, "shop.py,rival.py")


def test_a_folder_has_all_files_below_it_but_those_that_begin_with_an_underscore(folder: Path) -> None:
    assert [path.name for path in locustfiles(folder)] == ["admin.py", "test_pages.py", "rival.py", "shop.py"]
    for nothing in (folder / "gone.py", folder / "gone", beside(folder, "shop.py,gone.py")):
        with pytest.raises(InputError, match="no such locustfile"):
            locustfiles(nothing)
    assert names_of(beside(folder, "shop.py,below/test_pages.py")) == "shop.py, test_pages.py"


def test_test_functions_of_pytest_are_users_where_there_are_no_others(folder: Path) -> None:
    found = made(folder, "below/test_pages.py")
    assert (names(found), found.clients) == (["test_page"], ("PytestUser",))


def test_a_shape_is_chosen_by_its_name_beside_the_classes(folder: Path) -> None:
    found = made(folder, "shop.py,admin.py", "Admin", "Step")
    assert (names(found), type(found.shape).__name__) == (["Admin"], "Step")


def test_options_that_a_shape_reads_are_accepted_with_such_a_shape_alone(folder: Path) -> None:
    found = made(folder, "shop.py", "--users", "7", "--run-time", "1m")
    assert (found.options.num_users, found.options.run_time) == (7, 60)
    with pytest.raises(InputError, match="--users: an option of Locust that has no effect here"):
        made(folder, "admin.py", "--users", "7")


def configured(found: Workload) -> Environment:
    environment = Environment(
        user_classes=list(found.classes),
        events=Events(),  # type: ignore[no-untyped-call]
        parsed_options=found.options,
        **found.available,
    )
    workload.configure(environment)
    return environment


def test_configured_users_and_equal_weights_change_the_classes(folder: Path) -> None:
    given = '[{"user_class_name": "Shop", "fixed_count": 2, "tasks": ["buy"]}]'
    configured(found := made(folder, "shop.py", "--config-users", given))
    shop: Any
    [shop] = found.classes
    assert (shop.fixed_count, [task.__name__ for task in shop.tasks]) == (2, ["buy"])
    configured(found := made(folder, "shop.py", "--equal-weights"))
    [shop] = found.classes
    assert (shop.weight, sorted(task.__name__ for task in shop.tasks)) == (1, ["browse", "buy"])
    with pytest.raises(InputError, match="--config-users: .*Shops"):
        configured(made(folder, "shop.py", "--config-users", '{"user_class_name": "Shops"}'))


def test_a_worker_compares_all_of_the_files(folder: Path) -> None:
    given = beside(folder, "shop.py,admin.py")
    job = Job(locustfile=str(given), digest=digest_of(given))
    check_locustfile(job, given)
    (folder / "admin.py").write_text("")
    with pytest.raises(InputError, match="differs from the run's"):
        check_locustfile(job, given)


@pytest.mark.parametrize(
    ("name", "module"), [("grpc", "grpc"), ("postgres", "psycopg"), ("redis", "redis"), ("mqtt", "paho"), ("dns", "dns")]
)
def test_a_sample_whose_library_is_missing_names_the_extra(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in [each for each in sys.modules if each.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, each)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=rf"needs {module}[\w.]*: pip install 'capexplorer\[{name}\]'"):
        made(paths.sample_profiles(), f"{name}_users.py")
