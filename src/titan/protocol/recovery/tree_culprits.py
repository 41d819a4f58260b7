"""Who falsified a sum on its way through the trees, from what everybody signed.

Everybody's vector is known now, so it is known what each partial sum should have been. Who was sent
right ones and signed a wrong one is named. Of a wrong one that was made of wrong ones nothing can
be said, since whoever made it may have added rightly: somebody below is named instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from titan.protocol.messages import Kind
from titan.protocol.recovery.interface import Culprit, Streams
from titan.ring import Residues

if TYPE_CHECKING:
    from titan.protocol.recovery.tree import Tree

_PARTIAL = "sent a partial sum that is not that of what it was sent and its own vector"
_TOTAL = "passed on another total than it was sent"
_ROOT = "told a total that is not that of what it was sent and its own vector"


def culprits(tree: Tree, vectors: Sequence[Residues], streams: Streams) -> list[Culprit]:
    """Each is judged by the very inputs that stand in what it signed."""
    right = _right_partials(tree, vectors)
    found = []
    for (sender, _, kind), (digest, inputs) in streams.items():
        if kind is Kind.TOTAL and sender != tree.root:
            if inputs != (digest,):
                found.append(Culprit(sender, _TOTAL))
            continue
        made_of = tuple(right[child] for child, _ in tree.inputs(kind, sender))
        if inputs == made_of and digest != right[sender]:
            found.append(Culprit(sender, _ROOT if kind is Kind.TOTAL else _PARTIAL))
    return found


def _right_partials(tree: Tree, vectors: Sequence[Residues]) -> list[bytes]:
    """The digest of every party's partial sum; of the root's, the total."""
    sums = [vector.copy() for vector in vectors]
    for level in reversed(tree.up.levels):
        for party in level.parties.tolist():
            tree.ring.add_into(sums[int(tree.up.parent[party])], sums[party])
    return [tree.digest(each) for each in sums]
