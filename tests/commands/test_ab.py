"""`capexplorer ab`: what A and B name, input that it refuses, and how it steps two runs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import pytest
from kit.scenario import Scenario

from capexplorer import cli
from capexplorer.commands.ab.arguments import AbArguments
from capexplorer.commands.ab.child import ChildError, ChildRun
from capexplorer.commands.ab.measuring import Measuring, Orders, counted_s_of, loads_around_knee
from capexplorer.commands.ab.sides import kind_of, sides
from capexplorer.model.controls import Control, RestartTarget, StepTo, Zero
from capexplorer.model.events import Verdict
from capexplorer.model.load import Load, Users
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict
from capexplorer.report.ab.result import Figures, Result, Side

PROFILE = 'title = "t"\ncommand = "./serve {port}"\n[[users.task]]\nname = "/"\n'


def git(*words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(["git", *identity, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a repository with two commits, tagged `old` and `new`, and the profiles `shop` and `new`."""
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet")
    for tag in ("old", "new"):
        Path("shop.toml").write_text(PROFILE, encoding="utf-8")
        Path("served.txt").write_text(tag, encoding="utf-8")
        git("add", "--all")
        git("commit", "--quiet", "--message", tag)
        git("tag", tag)
    Path("new.toml").write_text(PROFILE, encoding="utf-8")
    Path("ends.toml").write_text(f"{PROFILE}[guards]\nunattended_s = 0\n", encoding="utf-8")
    return tmp_path


# -- what they name


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("http://127.0.0.1:8000", "url"),
        ("shop", "profile"),
        ("./shop.toml", "profile"),
        ("mixed", "profile"),
        ("new", "profile"),
        ("git:new", "ref"),
        ("old", "ref"),
        ("HEAD~1", "ref"),
        ("./serve {port}", "command"),
        ("python -m http.server", "command"),
    ],
)
def test_a_build_is_a_url_a_profile_a_ref_or_a_command_in_this_order(given: str, kind: str, repository: Path) -> None:
    assert kind_of("--a", given) == kind


def test_a_ref_is_run_in_a_worktree_that_is_removed_afterwards(repository: Path) -> None:
    with sides(AbArguments(a="old", b="git:new", profile="shop")) as both:
        assert [(each.folder / "served.txt").read_text() for each in both] == ["old", "new"]
        assert (
            [each.run.label for each in both]
            == [each.commit for each in both]
            == [git("rev-parse", "--short", tag) for tag in ("old", "new")]
        )
        folders = [each.folder for each in both]
    assert not any(folder.exists() for folder in folders)
    assert len(git("worktree", "list").splitlines()) == 1


def test_a_command_is_run_at_each_ref_with_users_of_one_profile(repository: Path) -> None:
    with sides(AbArguments(a="old", b="HEAD", profile="new", target_cmd="./serve {port}")) as both:
        assert [(each.run.target_cmd, each.run.profile) for each in both] == [
            ("./serve {port}", str(repository / "new.toml"))
        ] * 2


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("http://127.0.0.1:1", {"profile": "shop", "host": "http://127.0.0.1:1"}),
        ("./serve2 {port}", {"profile": "shop", "target_cmd": "./serve2 {port}"}),
        ("new", {"profile": "new"}),
    ],
)
def test_users_come_from_the_side_that_is_a_profile(other: str, expected: Mapping[str, str], repository: Path) -> None:
    with sides(AbArguments(a="shop", b=other)) as (_, b):
        assert {name: getattr(b.run, name) for name in expected} == expected


def test_two_parameters_of_one_profile_are_two_builds(repository: Path) -> None:
    with sides(AbArguments(a="shop", b="shop", settings=("x=1",), settings_b=("pool=4",))) as (a, b):
        assert (a.run.settings, b.run.settings) == (("x=1",), ("x=1", "pool=4"))
        assert b.understood == f"{a.understood}, pool=4"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--a", "shop", "--b", "shp"], "--b: expected a URL, a profile, a git ref or a command with {port}, got 'shp'"),
        (["--a", "shop", "--b", "git:gone"], "--b: the repository of this folder has no ref 'gone'"),
        (["--a", "old", "--b", "HEAD"], "--a: 'old': which requests do users make? Add --profile PROFILE or --request /PATH"),
        (["--a", "old", "--b", "HEAD", "--request", "/"], "--a: what starts the target at old? Add --target-cmd COMMAND"),
        (["--a", "old", "--b", "HEAD", "--profile", "new"], "--a: profile new is not in the repository at old: add --target-cmd"),
        (["--a", "old", "--b", "HEAD", "--profile", "mixed"], "--a: profile mixed is not in the repository at old"),
        (["--a", "shop", "--b", "new", "--request", "/"], "--request: --a and --b are profiles, which have users of their own"),
        (["--a", "shop", "--b", "new", "--target-cmd", "x {port}"], "--target-cmd: neither --a nor --b is a git ref"),
        (["--a", "shop", "--b", "new", "--ready", "/"], "--ready: neither --a nor --b is a command"),
        (["--a", "shop", "--b", "ends"], "--b: its profile has [guards] unattended_s = 0"),
        (["--a", "shop", "--b", "new", "--until", "0"], "--until: expected a change above 0% and at most 50%, such as"),
        (["--a", "shop", "--b", "new", "--within", "soon"], "--within: expected a duration"),
        (["--a", "shop", "--b", "new", "--users", "0"], "--users: expected numbers of users such as 10,40, got '0'"),
        (["--a", "shop", "--b", "new", "--users", "9999"], "--users: expected at most guards.max_users ("),
        (["--a", "shop", "--b", "new", "--users", "1", "--rates", "1"], "--rates: cannot be combined with --users"),
        (["--a", "shop", "--b", "new", "--rates", "1,x"], "--rates: expected rates a second such as 50,200, got '1,x'"),
        (["--a", "shop", "--b", "new", "--repeats", "3"], "--repeats: expected 1, or 5 or more, got 3"),
        (["--a", "shop", "--b", "http://127.0.0.1:1", "--repeats", "5"], "--repeats: --b is a running service"),
        (["--a", "shop", "--b", "http://example.com"], "--b: load to example.com is not allowed"),
        (["--a", "shop", "--b", "new", "--set-b", "x"], "--b: --set: expected KEY=VALUE, got 'x'"),
        (["--a", "shop", "--b", "new", "--json", "served.txt"], "served.txt: exists already; --force overwrites it"),
        (
            ["--a", "x --port 80", "--b", "y --port 80", "--ready", "http://127.0.0.1:80/", "--request", "/"],
            "--b: listens on port 80, as A",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(args: list[str], message: str, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["ab", *args]) == 2
    *understood, error = capsys.readouterr().err.splitlines()
    assert error.startswith(f"capexplorer: {message}")
    assert all(line.startswith(("A: ", "B: ")) for line in understood)


# -- how it steps two runs

Service = Callable[[Load], Mapping[str, float]]
"""What a second under a load is like: arguments of `kit.scenario.second`."""


class Machine:
    """Its clock moves a second at each pause. `loads`: (run, load) of each level, in order."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.loads: list[tuple[str, Load]] = []

    def pause(self) -> None:
        self.now_s += 1.0


class FakeRun(ChildRun):
    """A run whose levels settle after two seconds."""

    def __init__(self, name: str, machine: Machine, service: Service) -> None:
        self.name, self._machine, self._service = name, machine, service
        self._scenario, self._since = Scenario().ready().open(0), 0
        self.timeline: Timeline = self._scenario.timeline

    def do(self, control: Control) -> None:
        match control:
            case StepTo(load):
                self._machine.loads.append((self.name, load))
                self._scenario.close().open(load.users)
            case Zero():
                self._scenario.close().open(0)
            case RestartTarget():
                self._scenario.ready()
        self._since = 0

    def follow(self) -> None:
        level = self.timeline.levels[-1]
        if level.has_load:
            self._since += 1
            self._scenario.seconds(1, settled=self._since > 2, **self._service(level.load))

    @property
    def max_users(self) -> int:
        return 100


def steady(capacity: int, p99_ms: float = 40.0, failed: int = 0) -> Service:
    return lambda load: {"rps": min(2 * load.users, capacity), "p99_ms": p99_ms, "failed": failed}


def slow(per_s: int) -> Service:
    return lambda load: {"rps": per_s, "p99_ms": 40.0}


LOW, HIGH = Users(20), Users(60)
UNNAMED = Side(given="", understood="")


def measured(a: Service, b: Service, **changes: object) -> tuple[Measuring, Machine, list[str]]:
    machine, lines = Machine(), list[str]()
    asked = {"loads": (LOW, HIGH), "beyond_knee": True, "until": 0.05, "within_s": 900.0, "repeats": 1, "seed": 3} | changes
    measuring = Measuring(
        [FakeRun("A", machine, a), FakeRun("B", machine, b)],
        Result(a=UNNAMED, b=UNNAMED, **asked),  # type: ignore[arg-type]
        machine.pause,
        lambda passed_s, line: lines.append(line),
        lambda: machine.now_s,
    )
    measuring.carry_out()
    return measuring, machine, lines


def test_equal_builds_are_found_to_be_equal_and_the_run_ends_early() -> None:
    measuring, machine, lines = measured(steady(100), steady(100))
    assert (measuring.result.ended, measuring.result.exit_code) == ("decided", 0)
    assert measuring.result.took_s < 300
    assert len(lines) == 1 + measuring.result.pairs
    assert machine.loads[:2] == [("A", HIGH), ("B", HIGH)], "a warm-up of both"


def test_only_one_of_both_has_load_and_each_two_pairs_have_both_orders() -> None:
    _, machine, _ = measured(steady(100), steady(90))
    blocks = [name for name, load in machine.loads[2:] if load == HIGH]
    orders = ["".join(blocks[at : at + 2]) for at in range(0, len(blocks), 2)]
    assert all({*orders[at : at + 2]} == {"AB", "BA"} for at in range(0, len(orders) - 1, 2))


def test_what_is_decided_at_one_load_is_no_longer_measured_there() -> None:
    noise = Random(1)

    def b(load: Load) -> Mapping[str, float]:
        return {"rps": min(2 * load.users, 80), "p99_ms": 40.0 * (noise.choice([0.5, 1.0, 1.5]) if load == LOW else 1.0)}

    measuring, _, _ = measured(steady(100), b)
    pairs = {load: sum(each.load == load for each in measuring.result.blocks) // 2 for load in (LOW, HIGH)}
    assert pairs[HIGH] == 4 < pairs[LOW]
    assert measuring.result.exit_code == 3


def test_the_run_ends_undecided_once_the_next_pair_would_end_too_late() -> None:
    within_s = 80.0  # the second pair at 20 users takes 40 s or more, since p95 needs blocks of 20 s
    measuring, machine, _ = measured(slow(10), slow(10), within_s=within_s)
    assert (measuring.result.ended, measuring.result.exit_code) == ("budget", 5)
    assert machine.now_s <= within_s
    assert measuring.result.pairs == 2


def test_each_repeat_starts_both_targets_and_is_one_difference() -> None:
    measuring, machine, lines = measured(steady(100), steady(90), repeats=5)
    result = measuring.result
    assert {each.repeat for each in result.blocks} == {1, 2, 3, 4}, "decided after four"
    assert sum("start again" in line for line in lines) == 3
    assert result.exit_code == 3


def test_a_service_that_answers_nothing_ends_the_run_and_what_is_known_is_kept() -> None:
    dead_after = iter([0] * 60 + [1] * 1_000)

    def b(load: Load) -> Mapping[str, float]:
        return {"rps": 40, "p99_ms": 40.0, "failed": 40 * next(dead_after)}

    with pytest.raises(ChildError, match="B: no request succeeded at"):
        measured(steady(100), b)


def test_p95_gets_blocks_of_two_hundred_requests_where_that_takes_less_than_20_s() -> None:
    def of(per_s: float) -> Figures:
        return Figures(level=0, seconds=6.0, goodput_per_s=per_s, mean_ms=1.0, p95_ms=1.0, requests=100, failures=0)

    assert [counted_s_of([of(per_s), of(1_000.0)]) for per_s in (1.0, 16.0, 500.0)] == [20, 13, 6]


def test_orders_are_those_of_the_seed() -> None:
    def drawn(seed: int) -> list[str]:
        orders = Orders(seed)
        return ["".join(orders.draw(HIGH)) for _ in range(40)]

    assert drawn(1) == drawn(1) != drawn(2)


# -- the loads


def explored(*users: int, knee: KneeVerdict | None = None) -> Timeline:
    scenario = Scenario().ready()
    for each in users:
        scenario.level(users=each)
    return scenario.add(Verdict(t_s=scenario.t_s, capacity=CapacityVerdict(knee=knee))).timeline


@pytest.mark.parametrize(
    ("timeline", "max_users", "loads", "beyond_knee"),
    [
        (explored(10, 40, 80, knee=KneeVerdict(kind="knee", users=40.4)), 500, (20, 61), True),
        (explored(10, 40, 80, knee=KneeVerdict(kind="knee", users=40.4)), 50, (20, 50), False),
        (explored(10, 40, 80, knee=KneeVerdict(kind="no_knee", users=80.0)), 500, (40, 80), False),
        (explored(10), 500, (5, 10), False),
        (explored(1), 500, (1,), False),
        (explored(), 500, (), False),
    ],
)  # fmt: skip
def test_loads_are_chosen_around_the_knee_or_from_the_greatest_that_settled(
    timeline: Timeline, max_users: int, loads: tuple[int, ...], beyond_knee: bool
) -> None:
    assert loads_around_knee(timeline, max_users) == (tuple(map(Users, loads)), beyond_knee)
