"""What property tests draw: networks, rings, inputs."""

from __future__ import annotations

from hypothesis import strategies as st

from titan import Network
from titan.errors import NotStronglyConnectedError


@st.composite
def networks(draw: st.DrawFn, most: int = 8) -> Network:
    """Any strongly connected digraph of 2 to `most` parties.

    Any set of links may be drawn; one that is not strongly connected is given the links it lacks.
    """
    names = draw(st.permutations([f"p{i}" for i in range(draw(st.integers(2, most)))]))
    pairs = [(a, b) for a in names for b in names if a != b]
    links = draw(st.sets(st.sampled_from(pairs)))
    while True:
        network = Network(sorted(links), parties=names)
        try:
            network.check_strongly_connected()
        except NotStronglyConnectedError as error:
            links = links | {(error.source, error.target)}
        else:
            return network


bits = st.one_of(st.integers(1, 8), st.integers(1, 600), st.sampled_from([64, 128, 192, 512]))
