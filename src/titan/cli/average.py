"""titan average: the private average of one number or vector per party."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from titan.cli import inputs, networks, options
from titan.cli.output import give, waiting
from titan.decimals import decimal
from titan.errors import FileError, InputError, UsageError

if TYPE_CHECKING:
    from titan.joint.averaged import Average
    from titan.network import Network

_CHECKED_UP_TO = 1000


@options.grouped
def command(
    files: Annotated[
        list[Path],
        Argument(
            metavar="FILE",
            readable=False,
            help="One file per party: a number, numbers with commas, or one number a line.",
        ),
    ],
    *,
    network: options.NetworkName = None,
    tau: options.Tau = None,
    sums: options.SumChoices,
    bound: Annotated[str | None, Option(help="A public bound on the numbers' magnitude.")] = None,
    engine: options.Engine = None,
    json: options.Json = False,
) -> None:
    """Average one number or vector per FILE, as if each file were held by another party.

    \b
    Example:
      echo 12.5 > north.txt; echo 7 > east.txt; echo 9.25 > south.txt
      titan average north.txt east.txt south.txt --network cycle --tau 1
    """
    from titan.joint.average import average

    if len(files) < 2:
        raise UsageError("one FILE is given", hint="at least two parties are needed")
    read = {party: _read(file) for party, file in inputs.by_party(files).items()}
    _refuse_different_lengths(read)
    net = networks.among(network or "cycle", list(read))
    values = {party: x[0] if len(x) == 1 else x for party, x in read.items()}
    most = None if bound is None else _bound(bound)
    choices = sums.given(tau=tau, engine=engine, bound=most)
    with waiting("rounds") as wait:
        out = average(values, net, progress=wait.rounds, **choices)
    give(out.to_dict(), lambda: _print(out, net, tau), json=json)


def _read(file: Path) -> list[Fraction]:
    """One number, or a vector in one line with commas or with one number a line. Read exactly."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"{file}: not UTF-8 text", hint="save it as UTF-8") from None
    lines = [(at, line) for at, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise FileError(f"{file} holds no number", hint="one number, or numbers with commas")
    for at, line in lines:
        if "," in line and len(lines) > 1:
            raise FileError(
                f"{file}, line {at}: a comma, and the file has several lines",
                hint="a vector is one line with commas or one number a line; decimals have a point",
            )
    return [
        _number(cell, f"{file}, line {at}, field {field}")
        for at, line in lines
        for field, cell in enumerate(line.split(","), 1)
    ]


def _number(text: str, where: str, wrong: type[InputError] = FileError) -> Fraction:
    """Decimal text as the number it is: 0.1 is 1/10."""
    try:
        return decimal(text.strip())
    except ValueError as error:
        raise wrong(f"{where}: {error}", hint="such as 12.5 or 1e-3") from None


def _bound(text: str) -> Fraction:
    return _number(text, "--bound", UsageError)


def _refuse_different_lengths(read: dict[str, list[Fraction]]) -> None:
    first = next(iter(read))
    for party, numbers in read.items():
        if len(numbers) != len(read[first]):
            raise InputError(
                f"{party!r} has {len(numbers)} numbers and {first!r} has {len(read[first])}",
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
