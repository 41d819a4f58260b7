"""A network: named parties and who can send to whom.

Three things are asked of it. That everybody can reach everybody (*strongly connected*), or there is
no recovery. How many steps that takes (the *diameter*). And how many parties may collude before the
others' links fall apart (*weak vertex-connectivity*, κ of the undirected version): masking hides
all but the pooled sum from any τ parties if κ ≥ τ + 1, and from one given coalition exactly if the
other parties, at least two, stay connected without it.
"""

# Rule 1: a Network never changes; what is costly is computed once, when first asked for.
# Rule 2: names at the border, numbers inside: algorithms see `Links`, never a name.
# Rule 3: links have one order, by (sender, receiver) in the order of `parties`.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Self, SupportsIndex

import numpy as np
import numpy.typing as npt

from titan.errors import InputError, NetworkError, about
from titan.files import attempt
from titan.network import circle, connectivity, design, edge_list, families, paths, refusals
from titan.network.links import Distances, Indices, Links
from titan.network.names import Names, Party
from titan.network.passing_on import Brought, Told, by_shortest_ways, in_few_messages

Parties = SupportsIndex | Sequence[Party]
"""How many parties (called "1", "2", …, as in the paper), or their names."""


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Network:
    """An immutable directed graph of named parties; an edge (a, b) means "a can send to b"."""

    _names: Names
    _links: Links
    _cuts: dict[int, tuple[int, ...] | None]

    def __init__(
        self, edges: Iterable[tuple[Party, Party]], parties: Parties | None = None
    ) -> None:
        names, *ends = edge_list.numbered(edges, None if parties is None else Names.of(parties))
        self._set(names, edge_list.distinct(names, *ends))

    def _set(self, names: Names, links: Links) -> Self:
        object.__setattr__(self, "_names", names)
        object.__setattr__(self, "_links", links)
        object.__setattr__(self, "_cuts", {})
        return self

    @classmethod
    def from_arrays(
        cls, parties: Parties, senders: npt.ArrayLike, receivers: npt.ArrayLike
    ) -> Self:
        """From the parties' numbers, counted from 0: senders[e] can send to receivers[e]."""
        names = Names.of(parties)
        s, r = (edge_list.party_numbers(ends, len(names)) for ends in (senders, receivers))
        if s.size != r.size:
            raise NetworkError(
                f"{s.size} senders and {r.size} receivers", hint="give one of each per link"
            )
        return cls.__new__(cls)._set(names, edge_list.distinct(names, s, r))

    # -- parties and links --------------------------------------------------------------------

    @property
    def parties(self) -> tuple[str, ...]:
        return self._names.all

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        names = self._names
        pairs = zip(self.senders.tolist(), self.receivers.tolist(), strict=True)
        return tuple((names[s], names[r]) for s, r in pairs)

    def index(self, party: Party) -> int:
        """The number of a party, counted from 0 in the order of `parties`."""
        return self._names.index(party)

    def __len__(self) -> int:
        """The number of parties."""
        return self._links.parties

    def __repr__(self) -> str:
        return f"<Network: {len(self)} parties, {len(self._links)} links>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return (
            self._names == other._names
            and np.array_equal(self.senders, other.senders)
            and np.array_equal(self.receivers, other.receivers)
        )

    def __hash__(self) -> int:
        return hash((len(self), self.senders.tobytes(), self.receivers.tobytes()))

    @property
    def senders(self) -> Indices:
        """The sender's number for each link, in canonical order; read-only."""
        return self._links.senders

    @property
    def receivers(self) -> Indices:
        """The receiver's number for each link, in canonical order; read-only."""
        return self._links.receivers

    @property
    def out_degree(self) -> Indices:
        return self._links.out_degree

    @property
    def in_degree(self) -> Indices:
        return self._links.reversed.out_degree

    def out_neighbours(self, i: int) -> tuple[int, ...]:
        """The numbers of those whom party number i can send to, ascending."""
        return self._links.out_neighbours(i)

    def in_neighbours(self, i: int) -> tuple[int, ...]:
        """The numbers of those who can send to party number i, ascending."""
        return self._links.reversed.out_neighbours(i)

    # -- reaching everybody -------------------------------------------------------------------

    @property
    def strongly_connected(self) -> bool:
        """Whether every party can reach every other."""
        return self._gap is None

    @cached_property
    def _gap(self) -> paths.Gap | None:
        return paths.find_gap(self._links)

    def check_strongly_connected(self) -> None:
        """Raise an error that names two parties, one of which cannot reach the other."""
        if self._gap is not None:
            raise refusals.not_strongly_connected(self._names, self._gap)

    @cached_property
    def diameter(self) -> int:
        """The largest number of steps that one party needs to reach another, exactly."""
        self.check_strongly_connected()
        return paths.diameter(self._links)

    @cached_property
    def diameter_bound(self) -> int:
        """At least the diameter and at most twice it, quick also for a million parties."""
        self.check_strongly_connected()
        return paths.diameter_bound(self._links)

    def distances_from(self, i: int) -> Distances:
        """Steps from party number i to each party, shape (m,); -1 where there is no way."""
        return paths.distances_from(self._links, self._links.check(i))

    def distances_to(self, i: int) -> Distances:
        """Steps from each party to party number i, shape (m,); -1 where there is no way."""
        return paths.distances_from(self._links.reversed, self._links.check(i))

    def new_from(self, sender: int, receiver: int, *, once: bool) -> Told:
        """Of what all tell all, what one party brings another in which round.

        As soon as it can be there: in round r, of parties that are r steps from the receiver and
        r - 1 from the sender. With `once`, one neighbour brings each party's, where possible in
        few messages.
        """
        if once and self._in_few_messages is not None:
            return self._in_few_messages.get((sender, receiver), {})
        if (sender, receiver, once) not in self._new:
            ways = {each: self._steps_to(each) for each in self.in_neighbours(receiver)}
            found = by_shortest_ways(self._steps_to(receiver), ways, once=once)
            self._new.update(((each, receiver, once), told) for each, told in found.items())
        return self._new[sender, receiver, once]

    @cached_property
    def _new(self) -> dict[tuple[int, int, bool], Told]:
        return {}

    @cached_property
    def _in_few_messages(self) -> Brought | None:
        return in_few_messages(self._links, self.diameter)

    def _steps_to(self, i: int) -> Distances:
        if i not in self._steps:
            self._steps[i] = self.distances_to(i)
        return self._steps[i]

    @cached_property
    def _steps(self) -> dict[int, Distances]:
        return {}

    def distances(self, block: int = 256) -> Iterator[Distances]:
        """Steps from party 0, 1, 2, … to each, in matrices of at most `block` rows; -1: no way."""
        for first in range(0, len(self), block):
            last = min(first + block, len(self))
            yield np.stack([self.distances_from(i) for i in range(first, last)])

    # -- hiding from coalitions ---------------------------------------------------------------

    @cached_property
    def weak_connectivity(self) -> int:
        """κ: the fewest parties without whom the others' undirected links fall apart.

        m - 1 where everybody is linked with everybody.
        """
        return connectivity.weak_connectivity(self._links)

    def tolerates(self, tau: int) -> bool:
        """Whether any τ parties learn no more than the pooled sum: κ ≥ τ + 1.

        Decided without computing κ. False for τ ≥ m - 1: nothing hides a single honest party.
        """
        tau = refusals.checked_tau(tau)
        return tau < len(self) - 1 and self._cut(tau) is None

    def check_tolerates(self, tau: int) -> None:
        """Raise an error that names at most τ parties who separate others."""
        tau = refusals.checked_tau(tau)
        if tau >= len(self) - 1:
            raise refusals.nobody_hidden(self._names, tau)
        cut = self._cut(tau)
        if cut is not None:
            groups = self._components_without(cut)
            raise refusals.not_private(self._names, tau, cut, groups)

    def _cut(self, tau: int) -> tuple[int, ...] | None:
        """At most τ parties who separate others, or None; remembered."""
        if tau not in self._cuts:
            self._cuts[tau] = connectivity.cut_below(self._links, tau + 1)
        return self._cuts[tau]

    @cached_property
    def smallest_cut(self) -> tuple[str, ...]:
        """κ parties without whom the others' links fall apart; none where everybody is linked."""
        kappa = self.weak_connectivity
        cut = self._cut(kappa) if kappa < len(self) - 1 else None
        return tuple(self._names[i] for i in cut or ())

    def circle_order(self) -> tuple[str, ...]:
        """The parties clockwise, for a picture with short links: a ring is drawn as a ring."""
        return tuple(self._names[i] for i in circle.circle_order(self._links))

    def honest_components(self, coalition: Iterable[Party]) -> list[tuple[str, ...]]:
        """The parties outside the coalition, grouped by whether undirected links join them.

        The coalition learns the sum over each group, and no more.
        """
        if isinstance(coalition, str):
            raise NetworkError(
                f"the coalition is the text {coalition!r}", hint="give a list of parties' names"
            )
        members = {self.index(party) for party in coalition}
        if len(members) == len(self):
            raise NetworkError(
                "the coalition is everybody: no honest party is left", hint="leave some out"
            )
        return [tuple(self._names[i] for i in group) for group in self._components_without(members)]

    def hides_from(self, coalition: Iterable[Party]) -> bool:
        """Whether this coalition learns the pooled sum only.

        Exactly if at least two parties are outside it and stay weakly connected.
        """
        groups = self.honest_components(coalition)
        return len(groups) == 1 and len(groups[0]) > 1

    def _components_without(self, members: Iterable[int]) -> list[tuple[int, ...]]:
        keep = np.ones(len(self), np.bool_)
        keep[list(members)] = False
        return paths.weak_components(self._links, keep)

    # -- families -----------------------------------------------------------------------------

    @classmethod
    def _family(cls, parties: Parties, links: Callable[[int], Links]) -> Self:
        names = Names.of(parties)
        net = cls.__new__(cls)._set(names, links(len(names)))
        net.check_strongly_connected()
        return net

    @classmethod
    def cycle(cls, parties: Parties) -> Self:
        """Each party sends to the next: κ = 2 (for three or more), diameter m - 1."""
        return cls.circulant(parties, [1])

    @classmethod
    def complete(cls, parties: Parties) -> Self:
        """Everybody sends to everybody: κ = m - 1, diameter 1."""
        return cls._family(parties, lambda m: families.circulant(m, range(1, m)))

    @classmethod
    def circulant(cls, parties: Parties, offsets: Iterable[int]) -> Self:
        """Party number i sends to i + o (mod m) for each offset o."""
        return cls._family(parties, lambda m: families.circulant(m, offsets))

    @classmethod
    def random(cls, parties: Parties, out_degree: int = 2, seed: int | None = None) -> Self:
        """A random cycle through everybody, with random links up to the out-degree.

        The graph is public: the seed need not be secret, and a seed gives the same graph again.
        """
        return cls._family(parties, lambda m: families.random(m, out_degree, seed))

    @classmethod
    def de_bruijn(cls, parties: Parties, degree: int = 2) -> Self:
        """Generalised de Bruijn graph: i -> degree·i + a (mod m), a = 0..degree-1."""
        return cls._family(parties, lambda m: families.de_bruijn(m, degree))

    @classmethod
    def kautz(cls, parties: Parties, degree: int = 2) -> Self:
        """Generalised Kautz graph (Imase-Itoh): i -> -(degree·i + a) (mod m), a = 1..degree."""
        return cls._family(parties, lambda m: families.kautz(m, degree))

    @classmethod
    def design(
        cls,
        parties: Parties,
        tau: int,
        *,
        degree: int | None = None,
        max_diameter: int | None = None,
        dials_only: Collection[Party] = (),
    ) -> Self:
        """Few links and a small diameter, verified to tolerate τ.

        The smallest out-degree for which a network with a diameter of at most 2⌈log₂ m⌉ (or
        `max_diameter`) was found; `degree` fixes the out-degree instead. The rule and the
        candidates: `titan.network.design`. No two of `dials_only`, which nobody can dial, are
        neighbours.
        """
        tau = refusals.checked_tau(tau)
        with about("dials_only"):
            apart = sorted({Names.of(parties).index(party) for party in dials_only})
        return cls._family(parties, lambda m: design.design(m, tau, degree, max_diameter, apart))

    # -- in and out ---------------------------------------------------------------------------

    @classmethod
    def from_csv(cls, path: str | PathLike[str], parties: Sequence[Party] | None = None) -> Self:
        """Read lines `from,to` under that header; parties in order of first appearance, or given.

        An error names the file and the line.
        """
        with (
            attempt("read", path),
            Path(path).open(encoding="utf-8-sig", errors="surrogateescape", newline="") as lines,
        ):
            return cls(edge_list.read(lines, str(path)), parties)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write what `from_csv` reads.

        Reading gives the same network back, the order of the parties included where some order of
        the lines says it; where none does, hand `parties` to `from_csv`.
        """
        import csv

        rows = edge_list.write(self._names, self._links)
        header = next(rows)
        with (
            attempt("written", path),
            Path(path).open("w", encoding="utf-8", newline="") as lines,
        ):
            writer = csv.writer(lines, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:
        """The nodes and edges of a networkx graph; undirected edges become links both ways."""
        if not hasattr(graph, "is_directed"):
            raise NetworkError(f"{type(graph).__name__} is not a networkx graph")
        edges = list(graph.edges())
        if not graph.is_directed():
            edges += [(b, a) for a, b in edges if a != b]
        return cls(edges, parties=list(graph.nodes()))

    def to_networkx(self) -> Any:
        """A networkx.DiGraph with the parties' names as nodes, in order."""
        try:
            import networkx as nx
        except ImportError:
            raise InputError(
                "networkx is not installed", hint="install it: python -m pip install networkx"
            ) from None
        graph = nx.DiGraph()
        graph.add_nodes_from(self.parties)
        graph.add_edges_from(self.edges)
        return graph
