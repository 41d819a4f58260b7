"""What is written is read back the same, and a malformed file is refused by file and line."""

from __future__ import annotations

import sys
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titan.errors import FileError, InputError, NetworkError
from titan.network import Network

NAMES = st.text(min_size=1, max_size=6).filter(lambda s: s == s.strip() and s.isprintable())


@st.composite
def named_networks(draw: st.DrawFn) -> Network:
    names = draw(st.lists(NAMES, min_size=2, max_size=6, unique=True))
    extra = draw(st.sets(st.tuples(st.sampled_from(names), st.sampled_from(names))))
    ring = zip(names, [*names[1:], names[0]], strict=True)
    order = draw(st.permutations(names))
    return Network({*ring, *(e for e in extra if e[0] != e[1])}, parties=order)


@given(named_networks())
def test_a_network_survives_a_file(tmp_path_factory: pytest.TempPathFactory, net: Network) -> None:
    path = tmp_path_factory.getbasetemp() / "links.csv"
    net.to_csv(path)
    again = Network.from_csv(path)
    assert set(again.edges) == set(net.edges)
    assert set(again.parties) == set(net.parties)
    assert Network.from_csv(path, parties=net.parties) == net


@pytest.mark.parametrize(
    "net",
    [
        Network.cycle(5),
        Network.complete(4),
        Network.circulant(9, [1, 3]),
        Network.design(40, 3),
        Network([("a", "b"), ("c", "b"), ("d", "e"), ("e", "a")], parties=list("abcde")),
    ],
)
def test_the_order_of_the_parties_survives_where_lines_can_say_it(
    net: Network, tmp_path: Path
) -> None:
    net.to_csv(tmp_path / "links.csv")
    assert Network.from_csv(tmp_path / "links.csv") == net


def test_the_file_is_what_a_spreadsheet_expects(tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    Network([("a, inc", 'b "x"'), ('b "x"', "a, inc")]).to_csv(path)
    assert path.read_text("utf-8") == 'from,to\n"a, inc","b ""x"""\n"b ""x""","a, inc"\n'


def test_blank_lines_blanks_and_a_byte_order_mark_are_no_matter(tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_bytes("\ufefffrom, to\r\n\r\n a ,b\r\nb,\ta\r\n \r\n".encode())
    assert Network.from_csv(path).edges == (("a", "b"), ("b", "a"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "links.csv: the file is empty"),
        (b"\n\n", "links.csv: the file is empty"),
        (b"from,to\n", "links.csv: no links below the header"),
        (b"a,b\nb,a\n", "links.csv, line 1: the header is 'a,b' (it must be exactly: from,to)"),
        (b"From,To\na,b\n", "line 1: the header is 'From,To'"),
        (b"from,to,weight\na,b,1\n", "line 1: the header is 'from,to,weight'"),
        (b"from;to\na;b\n", "line 1: the header is 'from;to'"),
        (b"from,to\na,b\nb\n", "links.csv, line 3: 1 fields where two names were expected"),
        (b"from,to\na,b\nb,a,c\n", "line 3: 3 fields where two names"),
        (b"from,to\na,b\n\nb,\n", "line 4: a party has an empty name"),
        (b"from,to\na,b\n,a\n", "line 3: a party has an empty name"),
        (b"from,to\na,b\nb,b\n", 'line 3: party "b" is linked with itself'),
        (
            b"from,to\na,b\nb,a\n\na,b\n",
            'line 5: the link from "a" to "b" is there already, in line 2',
        ),
        (b"from,to\na,b\nb,\xff\n", "line 3: not UTF-8 text"),
        ("from,to\na,b\n".encode("utf-16"), "line 1: not UTF-8 text"),
        (b'from,to\na,"b\n', "not valid CSV"),
        (b'from,to\na,"b"c\n', "line 2: not valid CSV"),
        (b"from,to\na,b\nb,\x1b[2J\n", "line 3: the party name"),
    ],
)
def test_a_malformed_file_is_refused_by_line(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_bytes(content)
    with pytest.raises(FileError) as refusal:
        Network.from_csv(path)
    assert str(refusal.value).startswith(str(path))
    assert says in str(refusal.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read: no such file"):
        Network.from_csv(tmp_path / "absent.csv")
    with pytest.raises(FileError, match="directory"):
        Network.from_csv(tmp_path)


def test_parties_given_to_a_file_must_hold_all_in_it(tmp_path: Path) -> None:
    Network.cycle(3).to_csv(tmp_path / "links.csv")
    with pytest.raises(NetworkError, match='there is no party "3"'):
        Network.from_csv(tmp_path / "links.csv", parties=["1", "2"])


def test_a_party_without_links_is_not_lost_in_a_file(tmp_path: Path) -> None:
    net = Network([("a", "b"), ("b", "a")], parties=["a", "b", "c"])
    with pytest.raises(NetworkError, match='party "c" has no link'):
        net.to_csv(tmp_path / "links.csv")
    assert not (tmp_path / "links.csv").exists()


@given(named_networks())
def test_a_network_survives_networkx(net: Network) -> None:
    assert Network.from_networkx(net.to_networkx()) == net


def test_undirected_edges_become_links_both_ways() -> None:
    net = Network.from_networkx(nx.Graph([(0, 1), (1, 2)]))
    assert net.edges == (("0", "1"), ("1", "0"), ("1", "2"), ("2", "1"))


def test_what_networkx_allows_and_we_do_not_is_refused() -> None:
    with pytest.raises(NetworkError, match='party "1" is linked with itself'):
        Network.from_networkx(nx.Graph([(0, 1), (1, 1)]))
    with pytest.raises(NetworkError, match="given twice"):
        Network.from_networkx(nx.MultiDiGraph([(0, 1), (0, 1), (1, 0)]))
    with pytest.raises(NetworkError, match="cannot be called"):
        Network.from_networkx(nx.grid_2d_graph(2, 2))
    with pytest.raises(NetworkError, match="is not a networkx graph"):
        Network.from_networkx([("a", "b")])


def test_without_networkx_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(InputError, match="pip install networkx"):
        Network.cycle(3).to_networkx()
