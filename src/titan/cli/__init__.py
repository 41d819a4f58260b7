"""The command line. One file per command; a command imports what it needs when it runs."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from titan.cli import (
    average,
    cox,
    fit,
    join,
    kept_runs,
    keys,
    ledger,
    moments,
    network,
    prepare,
    rehearse,
    report,
    runs,
    solve,
    status,
    study,
    survival,
    web,
)
from titan.cli.added_commands import Commands
from titan.cli.help import App
from titan.cli.next_steps import what_next
from titan.cli.output import fail, speak_plainly
from titan.cli.stopping import end_soon
from titan.cli.terminal import outlive_terminal
from titan.engines.mpi.ranks import launched
from titan.party.core_dumps import no_core_dumps

app = App(
    name="titan",
    cls=Commands,
    help="Organisations that will not pool their data compute one answer together: "
    "exactly, privately, without a server.",
    context_settings={"auto_envvar_prefix": "TITAN"},
    no_args_is_help=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("audit")(runs.audit)
app.command("average")(average.command)
app.command("cox")(cox.command)
app.command("fit")(fit.command)
app.command("join")(join.command)
app.command("moments")(moments.command)
app.command("prepare")(prepare.command)
app.command("rehearse")(rehearse.command)
app.command("report")(report.command)
app.command("show")(runs.show)
app.command("solve")(solve.command)
app.command("status")(status.command)
app.command("survival")(survival.command)
app.command("verify")(runs.verify)
app.command("web")(web.command)
app.add_typer(keys.app, name="keys")
app.add_typer(ledger.app, name="ledger")
app.add_typer(network.app, name="network")
app.add_typer(kept_runs.app, name="runs")
app.add_typer(study.app, name="study")


@app.callback(invoke_without_command=True)
def _options(
    ctx: typer.Context,
    version: bool = typer.Option(
        False, "--version", help="Print the version and leave.", allow_from_autoenv=False
    ),
) -> None:
    if version:
        from titan import __version__

        typer.echo(f"titan {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        print(what_next(Path()))


def main() -> None:
    """Run a command; what goes wrong becomes two lines on stderr and its exit status."""
    from titan.errors import FileError, InputError, TitanError
    from titan.files import advice

    speak_plainly()
    if not launched():  # ranks on one machine may read each other's memory
        no_core_dumps()  # most commands have rows, keys or passphrases
    try:
        try:
            app(prog_name="titan")
        finally:
            end_soon()
            sys.stdout.flush()  # while there is somebody to say that it fails
    except TitanError as error:
        fail(error)
    except BrokenPipeError:  # the reader went away; nobody is left to tell
        outlive_terminal()
        sys.exit(1)
    except OSError as error:
        outlive_terminal()
        place = f"{error.filename}: " if error.filename else ""
        reason = (error.strerror or "cannot be used").lower()
        fail(FileError(f"{place}{reason}", hint=advice(error)))
    except MemoryError:
        fail(InputError("this needs more memory than there is", hint="ask for something smaller"))
