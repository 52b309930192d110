"""No secret is in the log of a session, nor in a redacted export of an older log that contains secrets."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from kit.stacks import OF_STACKS
from session.secrets import COMMANDS, SECRETS

from capexplorer import cli
from capexplorer.model.events import Command, Event, Header, Log, Note, Sample, Target
from capexplorer.report.formats import FORMATS
from capexplorer.session.codec import encode, sealed
from capexplorer.session.writer import SessionWriter

from .exported_sessions import HEADER, session

TEXTS = [text for text, _ in SECRETS.values()]
ALL_SECRETS = sorted({secret for _, secrets in (*SECRETS.values(), *COMMANDS.values()) for secret in secrets})


def session_with_secrets() -> list[Event]:
    """A session with every secret in every place that can have text."""
    sentence = " | ".join(TEXTS)
    profile = {
        **HEADER.profile,
        "title": sentence,
        "plans": {f"p{index}": text for index, text in enumerate(TEXTS)},
        "users": {"task": [{"headers": {"Cookie": ALL_SECRETS[0]}}]},
    }
    header = msgspec.structs.replace(HEADER, label=sentence, source=sentence, profile=profile)
    header = msgspec.structs.replace(header, target=msgspec.structs.replace(HEADER.target, name=sentence, url=TEXTS[-5]))
    for command, _ in COMMANDS.values():
        whole = (*header.target.command, *command)
        header = msgspec.structs.replace(header, target=msgspec.structs.replace(header.target, command=whole))
    _, *rest = session(header=HEADER, text="/x?" + sentence.replace("\n", " "))
    died = Target(t_s=3.0, state="died", reason=sentence, output=tuple(TEXTS), params={"password": ALL_SECRETS[0]})
    logged: list[Event] = [Log(t_s=3.0, source="target", text=text) for text in TEXTS]
    plan = Command(t_s=3.0, name="plan", args={"plan": sentence, "token": ALL_SECRETS[0]})
    return [header, *rest[:-1], died, Note(t_s=3.0, text=sentence), plan, *logged, rest[-1]]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of `session_with_secrets` as this version records it."""
    path = tmp_path_factory.mktemp("log") / f"{HEADER.id}.jsonl"
    writer = SessionWriter(path)
    for event in session_with_secrets():
        writer.write(event)
    writer.close()
    return path


@pytest.fixture(scope="module")
def older_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of `session_with_secrets` of a version that removed no secrets."""
    path = tmp_path_factory.mktemp("older") / f"{HEADER.id}.jsonl"
    lines = (encode(event) for event in session_with_secrets())
    path.write_bytes(b"".join(sealed(line, number) + b"\n" for number, line in enumerate(lines, start=1)))
    assert secrets_in(path.read_text()) == ALL_SECRETS
    return path


def secrets_in(text: str) -> list[str]:
    """The secrets that this text contains."""
    return [secret for secret in ALL_SECRETS if secret in text]


def exported(session_path: Path, folder: Path, *args: str) -> str:
    """The names and the contents of all files of an export."""
    assert cli.run(["export", str(session_path), *args, "-o", str(folder / "out")]) == 0
    return "\n".join(f"{path.name}\n{path.read_text()}" for path in folder.rglob("*") if path.is_file())


def test_the_log_contains_no_secret(log: Path) -> None:
    assert secrets_in(log.read_text()) == []
    kinds = {type(event) for event in session_with_secrets()}
    assert {Header, Sample, Target, Note, Log, Command} <= kinds, "the events that can have secrets"


@pytest.mark.parametrize("form", [form for form in FORMATS if form not in OF_STACKS])
def test_redaction_removes_the_secrets_of_an_older_log(form: str, older_log: Path, tmp_path: Path) -> None:
    content = exported(older_log, tmp_path, "--format", form, "--redact")
    assert secrets_in(content) == []
    assert len(content.splitlines()) > 1, "the export is not empty"
