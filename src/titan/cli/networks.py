"""Networks named on the command line: a CSV file, or a family such as cycle or complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from titan.errors import InputError

if TYPE_CHECKING:
    from titan.network import Network

FAMILIES = ("cycle", "complete")
HELP = "cycle, complete, or a CSV file of links with the columns from,to."
HELP_SIZED = "A CSV file of links with the columns from,to; or cycle:5, complete:5."


def among(name: str, parties: Sequence[str]) -> Network:
    """The network called `name` among these parties."""
    from titan.network import Network

    if name in FAMILIES:
        network: Network = getattr(Network, name)(parties)
        return network
    network = Network.from_csv(name)
    unknown = sorted(set(network.parties) - set(parties))
    absent = sorted(set(parties) - set(network.parties))
    if unknown or absent:
        raise InputError(
            f"{name} and the inputs name different parties: "
            + "; ".join(
                text
                for text in (
                    unknown and f"no input for {', '.join(unknown)}",
                    absent and f"no link of {', '.join(absent)}",
                )
                if text
            ),
            hint="a party is called like its file, without the ending",
        )
    return network


def sized(name: str) -> Network:
    """A CSV file, or a family with its size: cycle:5."""
    from titan.network import Network

    family, colon, size = name.partition(":")
    if family in FAMILIES and colon and size.isdecimal():
        network: Network = getattr(Network, family)(int(size))
        return network
    if family in FAMILIES:
        raise InputError(f"{name!r} has no size", hint=f"for example {family}:5")
    return Network.from_csv(name)
