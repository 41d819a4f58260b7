"""titan average: the private average of one number or vector per party."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titan.cli import inputs, networks, options
from titan.cli.output import give, progress_bar
from titan.decimals import decimal
from titan.errors import FileError, InputError

if TYPE_CHECKING:
    from titan.joint.averaged import Average
    from titan.network import Network

_CHECKED_UP_TO = 1000

_EXAMPLE = """\b
Example:
  echo 12.5 > north.txt; echo 7 > east.txt; echo 9.25 > south.txt
  titan average north.txt east.txt south.txt --network cycle --tau 1
"""


def command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            readable=False,
            help="One file per party: a number, numbers with commas, or one number a line.",
        ),
    ],
    network: options.NetworkName = None,
    tau: options.Tau = None,
    recovery: options.Recovery = None,
    k: options.K = None,
    rounds: options.Rounds = None,
    bits: options.Bits = None,
    bound: Annotated[
        str | None, typer.Option(help="A public bound on the numbers' magnitude.")
    ] = None,
    masks: options.Masks = None,
    engine: options.Engine = None,
    json: options.Json = False,
) -> None:
    """Average one number or vector per FILE, as if each file were held by another party."""
    from titan.joint.average import average

    values = {party: _read(file) for party, file in inputs.by_party(files).items()}
    _refuse_different_lengths(values)
    net = networks.among(network or "cycle", list(values))
    sums = options.given(
        tau=tau, recovery=recovery, k=k, rounds=rounds, bits=bits, masks=masks, engine=engine,
        bound=None if bound is None else _number(bound, "--bound"),
    )  # fmt: skip
    with progress_bar("rounds") as progress:
        out = average(values, net, progress=progress, **sums)
    give(out.to_dict(), lambda: _print(out, net, tau), json=json)


command.__doc__ = f"{command.__doc__}\n\n{_EXAMPLE}"


def _read(file: Path) -> Any:
    """One number, or a vector in one line with commas or with one number a line. Read exactly."""
    import numpy as np

    numbers = [_number(text, where) for text, where in _cells(file)]
    if len(numbers) == 1:
        return numbers[0]
    vector = np.empty(len(numbers), object)
    vector[:] = numbers
    return vector


def _cells(file: Path) -> list[tuple[str, str]]:
    """Every field of the file and where it stands."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"{file}: not UTF-8 text", hint="save it as UTF-8") from None
    lines = [(at, line) for at, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise FileError(f"{file} holds no number", hint="one number, or numbers with commas")
    if len(lines) > 1:
        for at, line in lines:
            if "," in line:
                raise FileError(
                    f"{file}, line {at}: a comma, and the file has several lines",
                    hint="a vector is one line with commas or one number a line; "
                    "decimals have a point",
                )
    return [
        (cell, f"{file}, line {at}, field {field}")
        for at, line in lines
        for field, cell in enumerate(line.split(","), 1)
    ]


def _number(text: str, where: str) -> Fraction:
    """Decimal text as the number it is: 0.1 is 1/10."""
    try:
        return decimal(text.strip())
    except ValueError as error:
        raise FileError(f"{where}: {error}", hint="such as 12.5 or 1e-3") from None


def _refuse_different_lengths(values: dict[str, Any]) -> None:
    import numpy as np

    lengths = {party: int(np.size(value)) for party, value in values.items()}
    first, *others = lengths
    for party in others:
        if lengths[party] != lengths[first]:
            raise InputError(
                f"{party!r} has {lengths[party]} numbers and {first!r} has {lengths[first]}",
                hint="all parties need vectors of one length; decimals have a point, not a comma",
            )


def _print(out: Average, net: Network, tau: int | None) -> None:
    print(out.summary())
    if tau is not None:
        print(f"parties who pool what they saw, up to {tau}, learned nothing but this average")
    elif len(net) <= _CHECKED_UP_TO:
        print(
            f"this network hides each party's numbers from up to {net.weak_connectivity - 1} "
            "others who pool what they saw"
        )
