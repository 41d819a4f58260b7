"""Ways to bring the sum of the masked vectors to everyone; all give the same bits.

To add one, write a file beside these and name its scheme here: plans, engines, views, the study's
file and the command line know it then.
"""

from typing import Literal

from titan.protocol.recovery.flood import Flood
from titan.protocol.recovery.interface import Scheme
from titan.protocol.recovery.topk import TopK
from titan.protocol.recovery.tree import Tree

RecoveryName = Literal["auto", "topk", "flood", "tree"]
RECOVERIES: dict[str, type[Scheme]] = {scheme.name: scheme for scheme in (TopK, Flood, Tree)}
"""By name; where several are equally quick, `auto` takes the last."""


def recovery_names() -> tuple[str, ...]:
    """What may be asked for."""
    return ("auto", *RECOVERIES)
