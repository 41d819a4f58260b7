"""The protocol: plans, masks, agents. No input or output happens here."""

from titan.protocol.agent import Agent
from titan.protocol.binding import IN_ONE_PROCESS, Binding
from titan.protocol.cost import Cost, PerParty
from titan.protocol.lines import Lines
from titan.protocol.masking import MaskSource, SystemMasks
from titan.protocol.messages import Envelope, Kind
from titan.protocol.plan import MaskMode, Plan, RelayMode
from titan.protocol.recovery import RecoveryName

__all__ = [
    "IN_ONE_PROCESS",
    "Agent",
    "Binding",
    "Cost",
    "Envelope",
    "Kind",
    "Lines",
    "MaskMode",
    "MaskSource",
    "PerParty",
    "Plan",
    "RecoveryName",
    "RelayMode",
    "SystemMasks",
]
