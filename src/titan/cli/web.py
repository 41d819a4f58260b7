"""titan web: pages for one party, on its own machine and in its own browser."""

from __future__ import annotations

import signal
import socket
import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from titan.errors import FileError, InputError

_HOST = "127.0.0.1"


def command(
    folder: Annotated[
        Path, Argument(metavar="FOLDER", help="This party's keys, cards, studies, rows and runs.")
    ] = Path(),
    port: Annotated[
        int, Option(help="The port to listen on, at 127.0.0.1 only.", min=0, max=65535)
    ] = 8047,
    no_browser: Annotated[
        bool, Option("--no-browser", help="Do not open a browser; only show the address.")
    ] = False,
) -> None:
    """Open pages in a browser for one party: study, check, join, results.

    Only this machine can reach them. The terminal shows a code, which the first page asks for.
    If you leave a page, the run goes on. Ctrl-C stops it, and you can continue later.

    \b
    Example:
      titan web north
    """
    try:
        import python_multipart  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as missing:
        raise InputError(
            f"titan web needs {missing.name}, which is not installed",
            hint='pip install "titan-consensus[web]"',
        ) from None
    from titan.web.app import application
    from titan.web.guard import Sessions
    from titan.web.place import Place
    from titan.web.running import Runs

    if not folder.is_dir():
        raise FileError(f"there is no folder {folder}", hint="make it, or name another")
    listening = _listen(port)
    address = f"http://{_HOST}:{listening.getsockname()[1]}/"
    _tell(f"pages for the party in {folder.resolve()}: {address}")
    runs = Runs()
    sessions = Sessions(lambda code: _tell(f"the code to sign in, which works once: {code}"))
    app = application(Place(folder), listening.getsockname()[1], sessions, runs)
    if not no_browser:
        import webbrowser

        webbrowser.open(address)
    config = uvicorn.Config(
        app, lifespan="off", log_level="error", access_log=False, server_header=False, ws="none"
    )
    for end in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C
        signal.signal(end, signal.default_int_handler)
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        for name in runs.stop_all():
            _tell(f"{name} is stopped; join again to continue it")


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((_HOST, port))
    except OSError as error:
        raise InputError(
            f"port {port} of {_HOST} cannot be used: {(error.strerror or '').lower()}",
            hint="--port with another number; 0 takes any that is free",
        ) from None


def _tell(text: str) -> None:
    print(f"titan: {text}", file=sys.stderr, flush=True)
