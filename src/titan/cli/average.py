"""titan average: the private average of one number or vector per party."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titan.cli import inputs, networks
from titan.cli.output import progress_bar, show_json, show_rows
from titan.errors import FileError

if TYPE_CHECKING:
    from titan.averaging import Average
    from titan.network import Network

_EXAMPLE = """\b
Example:
  echo 12.5 > north.txt; echo 7 > east.txt; echo 9.25 > south.txt
  titan average north.txt east.txt south.txt --network cycle --tau 1
"""


def command(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="One file per party: a number, or a CSV vector."),
    ],
    network: Annotated[str, typer.Option(help=networks.HELP)] = "cycle",
    tau: Annotated[
        int | None, typer.Option(help="Refuse unless this many curious parties learn nothing.")
    ] = None,
    recovery: Annotated[str, typer.Option(help="auto, topk, flood or tree.")] = "auto",
    k: Annotated[int | None, typer.Option("-k", "--k", help="List length of topk.")] = None,
    rounds: Annotated[
        int | None, typer.Option(help="An upper bound on the network's diameter.")
    ] = None,
    bits: Annotated[int, typer.Option(help="Sums are taken modulo 2^bits.")] = 128,
    bound: Annotated[
        str | None, typer.Option(help="A public bound on the numbers' magnitude.")
    ] = None,
    masks: Annotated[str, typer.Option(help="sent or seeded.")] = "sent",
    engine: Annotated[str, typer.Option(help="local or vectorised.")] = "local",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Average one number or vector per FILE, as if each file were held by another party."""
    from titan import averaging

    values = {party: _read(file) for party, file in inputs.by_party(files).items()}
    net = networks.among(network, list(values))
    with progress_bar("rounds") as progress:
        out = averaging.average(
            values,
            net,
            recovery=recovery,  # type: ignore[arg-type]  # checked where it is used
            k=k,
            rounds=rounds,
            bits=bits,
            bound=None if bound is None else _number(bound, "--bound"),
            engine=engine,  # type: ignore[arg-type]
            tau=tau,
            masks=masks,  # type: ignore[arg-type]
            progress=progress,
        )
    if json:
        show_json(_as_dict(out, net))
    else:
        _print(out, net, tau)


command.__doc__ = f"{command.__doc__}\n\n{_EXAMPLE}"


def _read(file: Path) -> Any:
    """One number, or a vector: comma-separated, one or more numbers a line. Read exactly."""
    import numpy as np

    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise FileError(f"{file}: {error.strerror or 'cannot be read'}") from None
    except UnicodeDecodeError:
        raise FileError(f"{file}: not UTF-8 text") from None
    numbers = [
        _number(cell, f"{file}, line {at}, field {field}")
        for at, line in enumerate(lines, 1)
        if line.strip()
        for field, cell in enumerate(line.rstrip().removesuffix(",").split(","), 1)
    ]
    if not numbers:
        raise FileError(f"{file}: no number in it", hint="one number, or numbers with commas")
    if len(numbers) == 1:
        return numbers[0]
    vector = np.empty(len(numbers), object)
    vector[:] = numbers
    return vector


def _number(text: str, where: str) -> Fraction:
    """Decimal text as the number it is: 0.1 is 1/10."""
    try:
        if len(text) > 400 or "/" in text or "_" in text:
            raise ValueError
        mantissa, _, exponent = text.strip().lower().partition("e")
        if exponent and abs(int(exponent)) > 400:
            raise ValueError
        del mantissa
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise FileError(f"{where}: not a decimal number", hint="such as 12.5 or 1e-3") from None


def _as_dict(out: Average, net: Network) -> dict[str, Any]:
    import numpy as np

    return {
        "value": np.asarray(out.value).tolist(),
        "total": np.asarray(out.total).tolist(),
        "error_bound": np.asarray(out.error_bound).tolist(),
        "parties": list(net.parties),
        "recovery": out.recovery,
        "bits": out.bits,
        "cost": out.cost.as_dict(),
    }


def _print(out: Average, net: Network, tau: int | None) -> None:
    import numpy as np

    value, bound = np.atleast_1d(out.value), np.atleast_1d(out.error_bound)
    rows = [("average", "proven within")]
    rows += [(f"{v:.17g}", f"{b:.1e}") for v, b in zip(value, bound, strict=True)]
    show_rows(rows)
    cost = out.cost
    private = "" if tau is None else f", nothing else shown to any {tau} of them"
    print(
        f"{len(net)} parties{private}; {out.recovery}, {cost.rounds} rounds, "
        f"{cost.messages} messages, at most {cost.bytes_sent.largest} bytes sent by a party"
    )
