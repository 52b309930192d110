"""The image, and the manifests of docs/kubernetes: names that agree, and commands that the program accepts. The workflow `ci`
builds the image and checks the manifests against schemas."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from capexplorer.commands.run import command as run
from capexplorer.commands.run.arguments import RunArguments
from capexplorer.commands.run.resolving import resolve
from capexplorer.commands.worker import command as worker
from capexplorer.run.options import SECRET

ROOT = Path(__file__).resolve().parents[1]
MANIFESTS = {
    (each["kind"], each["metadata"]["name"]): each
    for file in sorted((ROOT / "docs" / "kubernetes").glob("*.yaml"))
    for each in yaml.safe_load_all(file.read_text("utf-8"))
}
PODS = {name: each["spec"]["template"] for (kind, name), each in MANIFESTS.items() if kind == "Job"}


def container(name: str) -> dict[str, Any]:
    [found] = PODS[name]["spec"]["containers"]
    return dict(found)


def given(name: str) -> tuple[click.Command, dict[str, Any]]:
    """The command of a pod, and the values of its arguments as the program's own parser takes them."""
    commands = {"run": run, "worker": worker}
    first, *words = container(name)["args"]
    return commands[first], commands[first].make_context(first, words).params


def test_the_run_binds_the_port_of_the_service_and_waits_for_as_many_workers_as_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(SECRET, "x" * 64)
    command, values = given("capexplorer")
    options = resolve(RunArguments(**values))
    assert command is run and options.workers is not None and options.workers.bind is not None
    [port] = MANIFESTS["Service", "capexplorer"]["spec"]["ports"]
    assert options.workers.bind == ("0.0.0.0", port["port"])
    assert {each["containerPort"] for each in container("capexplorer")["ports"]} == {port["port"]}
    spec = MANIFESTS["Job", "capexplorer-workers"]["spec"]
    assert options.workers.expected == spec["parallelism"] == spec["completions"]


def test_workers_join_the_run_by_the_service_and_load_what_it_loads() -> None:
    command, values = given("capexplorer-workers")
    [port] = MANIFESTS["Service", "capexplorer"]["spec"]["ports"]
    assert command is worker
    assert values["join"] == f"capexplorer:{port['port']}"
    assert values["allow_hosts"] == given("capexplorer")[1]["allow_hosts"]
    labels = PODS["capexplorer"]["metadata"]["labels"]
    assert MANIFESTS["Service", "capexplorer"]["spec"]["selector"].items() <= labels.items()
    assert (
        not MANIFESTS["Service", "capexplorer"]["spec"]["selector"].items()
        <= PODS["capexplorer-workers"]["metadata"]["labels"].items()
    )


def test_the_page_waits_for_each_job_until_its_pods_run() -> None:
    """Of pods that are not made yet `kubectl wait pod -l` says that there are none, and ends."""
    page = (ROOT / "docs" / "containers.md").read_text("utf-8")
    waits = re.findall(r"kubectl wait job/(\S+) --for jsonpath='\{.status.ready\}'=(\d+) --timeout 5m", page)
    assert {name: int(pods) for name, pods in waits} == {
        name: each["spec"].get("parallelism", 1) for (kind, name), each in MANIFESTS.items() if kind == "Job"
    }
    assert page.count("kubectl wait") == len(waits)


@pytest.mark.parametrize("name", PODS)
def test_pods_are_what_the_image_is_made_for(name: str) -> None:
    dockerfile, one = (ROOT / "Dockerfile").read_text("utf-8"), container(name)
    assert PODS[name]["spec"]["securityContext"]["runAsUser"] == int(re.findall(r"^USER (\d+)$", dockerfile, re.MULTILINE)[0])
    mounts = {each["mountPath"]: each["name"] for each in one["volumeMounts"]}
    assert mounts.keys() == {*re.findall(r"^VOLUME (\S+)$", dockerfile, re.MULTILINE), "/tmp"}
    volumes = {each["name"]: each for each in PODS[name]["spec"]["volumes"]}
    assert volumes.keys() == set(mounts.values())
    claims = [each["persistentVolumeClaim"]["claimName"] for each in volumes.values() if "persistentVolumeClaim" in each]
    assert all(("PersistentVolumeClaim", claim) in MANIFESTS for claim in claims)
    assert one["image"] == container("capexplorer")["image"]
    assert [each["name"] for each in one["env"]] == [SECRET]
    assert "command" not in one, "the entry point is the program"


def test_the_image_is_built_with_extras_that_there_are() -> None:
    [extras] = re.findall(r"^ARG EXTRAS=(\S+)$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(extras.split(",")) <= known.keys()
