"""`capexplorer completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_CAPEXPLORER_COMPLETE"
"""Environment variable by which a shell requests completions: Click's name for a program called capexplorer."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands, options, profiles and sessions in a shell.

    \b
    bash (4.4 or later), in ~/.bashrc:     eval "$(capexplorer completion bash)"
    zsh, in ~/.zshrc, after compinit:      eval "$(capexplorer completion zsh)"
    fish:  capexplorer completion fish > ~/.config/fish/completions/capexplorer.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None, "Click knows all of SHELLS"
    click.echo(kind(ctx.find_root().command, {}, "capexplorer", VARIABLE).source())
