"""titan average: the private average of one number or vector per party."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titan.cli import inputs, networks
from titan.cli.output import progress_bar, show_json, show_rows
from titan.errors import FileError, InputError

if TYPE_CHECKING:
    from titan.averaging import Average
    from titan.network import Network

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,9}))?")
_MOST_DIGITS = 400
_SHOWN = 20
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
    network: Annotated[str, typer.Option(help=networks.HELP)] = "cycle",
    tau: Annotated[
        int | None, typer.Option(help="Refuse unless this many curious parties learn nothing.")
    ] = None,
    recovery: Annotated[
        str, typer.Option(help="auto, topk (the paper's), flood or tree: same answer.")
    ] = "auto",
    k: Annotated[int | None, typer.Option("-k", "--k", help="List length of topk.")] = None,
    rounds: Annotated[
        int | None,
        typer.Option(help="topk: rounds of a run; flood: most hops. At least the diameter."),
    ] = None,
    bits: Annotated[int, typer.Option(help="Sums are taken modulo 2^bits.")] = 128,
    bound: Annotated[
        str | None, typer.Option(help="A public bound on the numbers' magnitude.")
    ] = None,
    masks: Annotated[
        str, typer.Option(help="sent, or seeded: 32 bytes instead of a vector.")
    ] = "sent",
    engine: Annotated[
        str, typer.Option(help="local: real agents; vectorised: arrays, for scale.")
    ] = "local",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Average one number or vector per FILE, as if each file were held by another party."""
    from titan import averaging

    values = {party: _read(file) for party, file in inputs.by_party(files).items()}
    _refuse_different_lengths(values)
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
        raise FileError(f"{file}: no number in it", hint="one number, or numbers with commas")
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
    found = _DECIMAL.fullmatch(text.strip())
    if found is None:
        raise FileError(f"{where}: not a decimal number", hint="such as 12.5 or 1e-3")
    if len(text) > _MOST_DIGITS or abs(int(found[1] or 0)) > _MOST_DIGITS:
        raise FileError(f"{where}: a number of more than {_MOST_DIGITS} digits", hint="round it")
    return Fraction(text.strip())


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

    value, bound = np.atleast_1d(out.value).tolist(), np.atleast_1d(out.error_bound).tolist()
    rows = [("average", "proven within")]
    rows += [(repr(v), f"{b:.1e}") for v, b in zip(value[:_SHOWN], bound, strict=False)]
    show_rows(rows)
    if len(value) > _SHOWN:
        print(f"  and {len(value) - _SHOWN} more entries (--json prints all)")
    cost = out.cost
    print(
        f"{len(net)} parties; {out.recovery}, {cost.rounds} rounds, {cost.messages} messages, "
        f"at most {cost.bytes_sent.largest} bytes sent by a party"
    )
    if tau is not None:
        print(f"parties who pool what they saw, up to {tau}, learned nothing but this average")
    elif len(net) <= _CHECKED_UP_TO:
        print(
            f"this network hides each party's numbers from up to {net.weak_connectivity - 1} "
            "others who pool what they saw"
        )
