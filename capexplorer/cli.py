"""The command group and its exit codes. Each command's module is imported only when the command is used."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import keyword
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from . import configuration
from .commands import version
from .commands.configured_preferences import check_keys, use_units
from .commands.terminal import plain_characters, print_error, with_whole_commands
from .errors import CapexplorerError, InputError, TargetError

# -- stdout --------------------------------------------------------------------------------------------------------------------
# stdout of a command: if it cannot be written (a full disk, a closed descriptor), the command ends with one line and an exit
# code.


class ReaderGoneError(CapexplorerError):
    """The reader of stdout closed it (`| head`); this is not reported."""

    exit_code = 128 + getattr(signal, "SIGPIPE", 13)


class StdoutError(InputError):
    """stdout cannot be written."""


class _Stdout(io.FileIO):
    """Descriptor 1. Its errors are not OSErrors: those of stdout alone may end a command in one line."""

    def write(self, data: Any, /) -> int:
        """Raises ReaderGoneError, StdoutError."""
        try:
            return super().write(data)
        except BrokenPipeError:
            raise ReaderGoneError("stdout: the reader has closed it") from None
        except OSError as error:
            raise StdoutError(f"stdout: cannot be written: {error.strerror or error}") from None


def install() -> None:
    """Make it `sys.stdout`. Closed descriptors among 0 to 2 are opened first: no log may get one of these numbers."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if descriptor == 1 else os.O_RDWR)  # gets the lowest that is free; 1 takes no writes
    before = sys.stdout
    buffered = io.BufferedWriter(_Stdout(1, "wb", closefd=False))
    encoding, errors = (before.encoding, before.errors) if before is not None else ("utf-8", "strict")
    sys.stdout = io.TextIOWrapper(buffered, encoding, errors, line_buffering=os.isatty(1))
    if sys.stderr is None:  # Python found 2 closed
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def give_up() -> None:
    """Discard all further and buffered output, since the interpreter flushes once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


COMMANDS = {
    "init": "Write a profile for your own service.",
    "run": "Explore a service on the live screen, or headless by a plan or the autopilot.",
    "sweep": "Find the capacity with each setting of the target's parameters.",
    "attach": "Show the live screen of a run that another process started, and control it.",
    "stop": "End a run; its session is saved.",
    "worker": "Generate load for a run, from another process or machine.",
    "replay": "Replay a saved session on the live screen.",
    "sessions": "List saved sessions, delete and rename them.",
    "profiles": "List profiles.",
    "targets": "List targets and their parameters.",
    "export": "Write a saved session in another format.",
    "metrics": "Export a session to Prometheus, OpenTelemetry and Grafana.",
    "import": "Create a session from Locust's history files or from a table of levels.",
    "compare": "Compare two or more sessions.",
    "ab": "Tell which of two builds is better, by blocks of load in turn.",
    "mcp": "Serve the tools of capexplorer to an agent (Model Context Protocol).",
    "schema": "Print the JSON Schema of the export, the comparison, the log or the profile.",
    "completion": "Print the script that completes commands in bash, zsh or fish.",
    "doctor": "Show which limits of this machine will stop an exploration, and how to raise them.",
}
"""Commands with one line of help each, so that `--help` imports no command module."""

OF_ALL_FOLDERS = ("attach", "stop")
"""Commands that find runs, whatever the folder of the configuration file."""


class HelpFormatter(click.HelpFormatter):
    """Breaks no line within a command in backquotes."""

    def write_text(self, text: str) -> None:
        """Write a paragraph."""
        super().write_text(with_whole_commands(text))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a list of words with their meanings."""
        super().write_dl([(word, with_whole_commands(meaning)) for word, meaning in rows], col_max, col_spacing)

    def getvalue(self) -> str:
        """The whole text."""
        return plain_characters(super().getvalue())


click.Context.formatter_class = HelpFormatter


class Lazy(click.Group):
    """A group whose commands live in `commands/NAME.py` as `command` (`import`, a keyword, in `import_.py`)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and return the command."""
        if cmd_name not in COMMANDS:
            return None
        module = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        found: click.Command = importlib.import_module(f"capexplorer.commands.{module}").command
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """For an unknown command, name the most similar one."""
        if args[0] not in COMMANDS:
            from .toml import nearest

            raise click.UsageError(f"no command `{args[0]}`; {nearest(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Lazy, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=version.show, help="Show versions and the platform."
)
@click.option("--sessions-dir", type=click.Path(path_type=Path), help="Folder in which all commands save and look up sessions.")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration file (docs/configuration.md).")
@click.option(
    "--mouse", is_flag=True, help="Without a command: keys and the list can be clicked; selecting text then needs Shift."
)
@click.pass_context
def group(ctx: click.Context, sessions_dir: Path | None, config: Path | None, mouse: bool) -> None:
    """Explore the capacity of a service by hand, from a terminal.

    Without a command it shows a list of profiles and saved sessions.
    """
    if config is not None:
        os.environ[configuration.VARIABLE] = str(config.resolve())  # also for the processes that a command becomes or starts
    own, asked_dir = configuration.load(), sessions_dir
    check_keys(own)
    use_units(own)
    sessions_dir = sessions_dir or own.sessions_folder
    if ctx.invoked_subcommand is None:
        from .commands.pick import pick

        pick(sessions_dir, mouse=mouse)
    ctx.default_map = {name: {"sessions_dir": asked_dir if name in OF_ALL_FOLDERS else sessions_dir} for name in COMMANDS}


def main() -> None:
    """The entry point: errors become one line and an exit code; only a defect of capexplorer gives a traceback."""
    gc.set_threshold(50_000)  # a start makes a million objects that stay: collecting at each 700 takes a tenth of its time
    install()
    exit_code = run(sys.argv[1:])
    native = sys.modules.get("capexplorer.load.native")  # only a run imports it
    if native is not None:
        native.leave(exit_code)
    sys.exit(exit_code)


def run(args: list[str]) -> int:
    """Run one command line; returns the exit code."""
    try:
        result: Any = group.main(args=args, prog_name="capexplorer", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.Abort:
        return 128 + signal.SIGINT
    except click.ClickException as error:
        with contextlib.suppress(OSError):  # stderr may be full, or its reader gone
            error.show()
        return 2
    except ReaderGoneError as gone:
        give_up()
        return gone.exit_code
    except CapexplorerError as error:
        if isinstance(error, StdoutError):
            give_up()
        print_error(str(error), error.output if isinstance(error, TargetError) else ())
        return error.exit_code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    main()
