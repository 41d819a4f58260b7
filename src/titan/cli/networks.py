"""Networks named on the command line: a CSV file, or a family such as cycle or complete."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from titan.errors import FileError, InputError, UsageError, about

if TYPE_CHECKING:
    from titan.network import Network

FAMILIES = ("cycle", "complete")
HELP = "cycle, complete, or a CSV file of links with the columns from,to."
HELP_STUDY = "cycle, complete, design, or a CSV file of links with the columns from,to."
HELP_SIZED = "A CSV file of links with the columns from,to; or cycle:5, complete:5."


def among(name: str, parties: Sequence[str]) -> Network:
    """The network called `name` among these parties."""
    from titan.network import Network

    family, _, size = name.partition(":")
    if family in FAMILIES and size in ("", str(len(parties))):
        network: Network = getattr(Network, family)(parties)
        return network
    if family in FAMILIES and not Path(name).is_file():
        raise UsageError(
            f"{name!r} is not a network of the {len(parties)} parties here",
            hint=f"{family}, or {family}:{len(parties)}",
            choice="network",
        )
    network = _from_file(name)
    unknown = sorted(set(network.parties) - set(parties))
    absent = sorted(set(parties) - set(network.parties))
    differences = {"no input for": unknown, "no link of": absent}
    said = [f"{what} {', '.join(names)}" for what, names in differences.items() if names]
    if said:
        raise InputError(
            f"{name} and the inputs name different parties: {'; '.join(said)}",
            hint="a party is called like its file, without the ending",
        )
    return network


def for_study(
    name: str, parties: Sequence[str], tau: int, dials_only: Collection[str] = ()
) -> Network:
    """The network of a study: a family, a design for τ, or a file of links among its parties.

    In a design no two of `dials_only` are neighbours.
    """
    from titan.network import Network

    if name == "design":
        return Network.design(parties, tau, dials_only=dials_only)
    if name in FAMILIES:
        return among(name, parties)
    if Path(name).suffix:
        return Network.from_csv(name, parties=parties)
    return _from_file(name, parties, ("design", *FAMILIES))


def sized(name: str) -> Network:
    """A CSV file, or a family with its size: cycle:5."""
    from titan.network import Network

    family, _, size = name.partition(":")
    if family not in FAMILIES:
        return _from_file(name)
    if not (size.isascii() and size.isdecimal()):
        said = f"{name!r} does not say how many parties"
        raise UsageError(said, hint=f"for example {family}:5", choice="network")
    with about("network"):
        network: Network = getattr(Network, family)(int(size))
    return network


def _from_file(
    name: str, parties: Sequence[str] | None = None, families: Sequence[str] = FAMILIES
) -> Network:
    from titan.network import Network

    if not Path(name).is_file():
        error = FileError if Path(name).suffix or Path(name).name != name else UsageError
        raise error(
            f"{name!r} is neither a file nor a family of networks",
            hint=f"a CSV file of links, or one of {', '.join(families)}",
            choice="network" if error is UsageError else "",
        )
    return Network.from_csv(name, parties=parties)
