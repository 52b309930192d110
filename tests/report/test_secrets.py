"""No secret is in any export: neither of a session as it is recorded, nor with `--redact` of an older log that holds them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from session.secrets import COMMANDS, SECRETS

from capexplorer import cli
from capexplorer.model.events import Command, Event, Header, Log, Note, Sample, Target
from capexplorer.report.formats import FORMATS
from capexplorer.session.codec import encode
from capexplorer.session.writer import SessionWriter

from .material import HEADER, session

TEXTS = [text for text, _ in SECRETS.values()]
GONE = sorted({secret for _, secrets in (*SECRETS.values(), *COMMANDS.values()) for secret in secrets})


def telling() -> list[Event]:
    """Every secret in every place that carries text."""
    sentence = " | ".join(TEXTS)
    profile = {
        **HEADER.profile,
        "title": sentence,
        "plans": {f"p{index}": text for index, text in enumerate(TEXTS)},
        "users": {"task": [{"headers": {"Cookie": GONE[0]}}]},
    }
    header = msgspec.structs.replace(HEADER, label=sentence, source=sentence, profile=profile)
    header = msgspec.structs.replace(header, target=msgspec.structs.replace(HEADER.target, name=sentence, url=TEXTS[-5]))
    for command, _ in COMMANDS.values():
        whole = (*header.target.command, *command)
        header = msgspec.structs.replace(header, target=msgspec.structs.replace(header.target, command=whole))
    _, *rest = session(header=HEADER, text="/x?" + sentence.replace("\n", " "))
    died = Target(t_s=3.0, state="died", reason=sentence, output=tuple(TEXTS), params={"password": GONE[0]})
    logged: list[Event] = [Log(t_s=3.0, source="target", text=text) for text in TEXTS]
    plan = Command(t_s=3.0, name="plan", args={"plan": sentence, "token": GONE[0]})
    return [header, *rest[:-1], died, Note(t_s=3.0, text=sentence), plan, *logged, rest[-1]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As this version records it."""
    path = tmp_path_factory.mktemp("recorded") / f"{HEADER.id}.jsonl"
    writer = SessionWriter(path)
    for event in telling():
        writer.write(event)
    writer.close()
    return path


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a version that knew of no secret would have."""
    path = tmp_path_factory.mktemp("older") / f"{HEADER.id}.jsonl"
    events = [msgspec.structs.replace(event, schema=1) if isinstance(event, Header) else event for event in telling()]
    path.write_bytes(b"".join(encode(event) + b"\n" for event in events))
    assert left_in(path.read_text()) == GONE
    return path


def left_in(text: str) -> list[str]:
    return [secret for secret in GONE if secret in text]


def exported(session_path: Path, folder: Path, *args: str) -> str:
    """All that an export writes, names of files included."""
    assert cli.run(["export", str(session_path), *args, "-o", str(folder / "out")]) == 0
    return "\n".join(f"{path.name}\n{path.read_text()}" for path in folder.rglob("*") if path.is_file())


def test_the_log_has_no_secret(recorded: Path) -> None:
    assert left_in(recorded.read_text()) == []
    kinds = {type(event) for event in telling()}
    assert {Header, Sample, Target, Note, Log, Command} <= kinds


@pytest.mark.parametrize("form", FORMATS)
def test_no_export_has_a_secret(form: str, recorded: Path, tmp_path: Path) -> None:
    content = exported(recorded, tmp_path, "--format", form)
    assert left_in(content) == [] and len(content) > 500


@pytest.mark.parametrize("form", FORMATS)
def test_redaction_removes_the_secrets_of_an_older_log(form: str, older: Path, tmp_path: Path) -> None:
    content = exported(older, tmp_path, "--format", form, "--redact")
    assert left_in(content) == [] and len(content) > 500
