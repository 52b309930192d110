"""The requests of a new profile: asked for or given, each sent once and shown with its answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec

from ...addresses import is_same_service
from ...drafting import reading, request_tasks
from ...errors import InputError
from ...load import variables
from ...load.guard import HostGuard
from ...load.single_request import HttpAnswer, send
from ...load.variables import expanded
from ...profile import Param, Task, Users
from ...session import redact
from ...wording.quantities import latency
from ..terminal import ask, print_error, printable

_SHOWN_CHARACTERS = 160
"""Characters of a body that are shown."""
LEFT_OUT_SHOWN = 10


class Requests(msgspec.Struct):
    """Tasks, each with the line about its answer; or a locustfile in their place."""

    url: str
    """URL at which the service is reached now."""
    origin: str | None
    """The service's own URL, as HAR files have it; None: it was just started, so its port is another one there."""
    guard: HostGuard
    sends: bool = True
    keeps_failing: bool = False
    asks: bool = False
    secrets: request_tasks.Secrets = msgspec.field(default_factory=request_tasks.Secrets)
    tasks: list[tuple[Task, str]] = msgspec.field(default_factory=list)
    locustfile: Path | None = None
    values: dict[str, tuple[Param, ...] | str] = msgspec.field(default_factory=dict)
    """What `{{NAME}}` in the requests stands for."""

    def add(self, text: str, where: str) -> None:
        """A path, a curl command or a file. Raises InputError."""
        described = reading.read(text, where, self.origin)
        for found in described.requests:
            if found.origin is not None and not is_same_service(found.origin, self.url):
                click.echo(f"{found.method} {found.path}: sent to {self.url} instead of {found.origin}")
            self._try(request_tasks.task(found, self.secrets))
        if described.left_out:
            names = ", ".join(described.left_out[:LEFT_OUT_SHOWN])
            more = f" and {len(described.left_out) - LEFT_OUT_SHOWN} more" if len(described.left_out) > LEFT_OUT_SHOWN else ""
            click.echo(f"left out: {names}{more} (to have one, give it with its body, or as a curl command)")

    def _try(self, task: Task) -> None:
        self._find_values(task)
        if not self.sends:
            self.tasks.append((task, "not sent yet"))
            return
        groups = variables.read(Users(values=self.values), Path(), "--values")
        answer = show(variables.drawn(expanded(task, self.secrets.values), groups), self.url, self.guard)
        line = line_of(task, answer)
        if not succeeded(answer):
            click.echo(_advice(task, answer), nl=False)
        if succeeded(answer) or self.keeps_failing:
            self.tasks.append((task, line))
        elif self.asks and ask("keep it, although users would count it as a failure? y/n", "n").lower().startswith("y"):
            self.tasks.append((task, line))
        else:
            click.echo("left out: expected 2xx or 3xx (--keep-failing keeps such requests)")

    def _find_values(self, task: Task) -> None:
        """Ask for what its placeholders stand for. Raises InputError where there is nobody to ask."""
        for name in sorted(task.placeholders - set(self.values)):
            if not self.asks:
                raise InputError(f"--request: {{{{{name}}}}} needs --values {name}=A,B,C or {name}=FILE.csv[:COLUMN]")
            given = ask(f"values of {{{{{name}}}}}: A,B,C or FILE.csv[:COLUMN]")
            self.values |= reading.values([f"{name}={given}"], "values")


def ask_for(requests: Requests) -> None:
    """Ask until an empty line, and at least one request or a locustfile."""
    click.echo("Which requests do users make? One a line, an empty line ends the list:")
    click.echo("  /items?page=2    POST /orders    a curl command, pasted as it is")
    click.echo("  or the name of a HAR file, an OpenAPI file or a locustfile")
    while True:
        answer = ask("request", "" if requests.tasks else "/")
        if not answer:
            return
        if answer.endswith(".py") and Path(answer).is_file() and not requests.tasks:
            requests.locustfile = Path(answer)
            return
        try:
            requests.add(answer, "request")
        except InputError as error:
            print_error(str(error))


def show(task: Task, url: str, guard: HostGuard) -> HttpAnswer | str:
    """Send a request and print the answer, without secrets and control characters."""
    answer = send(task, url, guard)
    click.echo("\n".join(_lines(task, answer)))
    return answer


def succeeded(answer: HttpAnswer | str) -> bool:
    """Whether users would count it as a success."""
    return isinstance(answer, HttpAnswer) and 200 <= answer.status < 400


def _advice(task: Task, answer: HttpAnswer | str) -> str:
    """What may be missing from a request that was refused, as a line; empty where the status does not say."""
    if isinstance(answer, str) or not 400 <= answer.status < 500:
        return ""
    method = task.method.upper()
    if answer.status in (401, 403):
        return (
            "  it needs a header: give it as a curl command, with -H 'Authorization: Bearer ...', -b COOKIE or -u USER:PASSWORD\n"
        )
    if answer.status == 405:
        return f"  another method is needed: such as POST {task.name}\n"
    has_body = task.body is not None or task.json is not None
    if not has_body and method in ("POST", "PUT", "PATCH"):
        example = f'{method} {task.name} {{"item": 1}}'
        return f"  it may need a body: {example}, a form such as item=1 in its place, or a curl command with -d\n"
    if has_body and answer.status in (409, 422):
        return "  each request may need values of its own: {{NAME}} in the body, and --values NAME=A,B,C or NAME=FILE.csv\n"
    return ""


def line_of(task: Task, answer: HttpAnswer | str) -> str:
    """`GET /items: 200 in 3.1 ms, 1,234 bytes of application/json`."""
    asked = f"{task.method} {task.name}"
    if isinstance(answer, str):
        return f"{asked}: {answer}"
    size = f"{'' if answer.is_whole else 'more than '}{len(answer.body):,} bytes"
    kind = f" of {printable(answer.kind)}" if answer.kind else ""
    return f"{asked}: {answer.status} in {latency(1000 * answer.seconds)}, {size}{kind}"


def _lines(task: Task, answer: HttpAnswer | str) -> Iterator[str]:
    yield f"  {line_of(task, answer)}"
    if isinstance(answer, HttpAnswer) and answer.body:
        text = " ".join(redact.text(answer.body[: 8 * _SHOWN_CHARACTERS].decode("utf-8", "replace")).split())
        yield f"    {printable(text[:_SHOWN_CHARACTERS])}{'…' if len(text) > _SHOWN_CHARACTERS else ''}"


def variables_line(names: Sequence[str]) -> str:
    """Which secrets were taken out, and what to do about it."""
    exports = " ".join(f"{name}=..." for name in names)
    return f"The profile holds no secrets. Before a run: export {exports}"
