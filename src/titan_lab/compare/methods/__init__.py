"""One file per method of the literature; this is the list of them all."""

from __future__ import annotations

from titan_lab.compare.method import Method
from titan_lab.compare.methods.async_projection import AsynchronousProjection
from titan_lab.compare.methods.average_consensus import AverageConsensus
from titan_lab.compare.methods.constrained_consensus import ConstrainedConsensus
from titan_lab.compare.methods.diging import Diging
from titan_lab.compare.methods.dp_optimisation import PrivateOptimisation
from titan_lab.compare.methods.extra import Extra
from titan_lab.compare.methods.faim import Faim
from titan_lab.compare.methods.finite_time import FiniteTime
from titan_lab.compare.methods.fixed_point import DistributedFixedPoint
from titan_lab.compare.methods.function_sharing import FunctionSharing
from titan_lab.compare.methods.gossip import PrivateGossip
from titan_lab.compare.methods.innovations import ConsensusInnovations
from titan_lab.compare.methods.paillier import PaillierSums
from titan_lab.compare.methods.private_average import PrivateAverageConsensus
from titan_lab.compare.methods.private_projection import PrivateProjection
from titan_lab.compare.methods.projection_consensus import ProjectionConsensus
from titan_lab.compare.methods.push_diging import PushDiging
from titan_lab.compare.methods.ratio_consensus import RatioConsensus
from titan_lab.compare.methods.robust_ratio import RobustRatioConsensus
from titan_lab.compare.methods.sonata import Sonata
from titan_lab.compare.methods.titan_sums import TitanFlood, TitanTopK, TitanTree

METHODS: tuple[type[Method], ...] = (
    TitanTopK, TitanFlood, TitanTree,
    AverageConsensus, RatioConsensus, RobustRatioConsensus, Faim, PrivateAverageConsensus,
    PrivateGossip,
    ProjectionConsensus, AsynchronousProjection, ConstrainedConsensus, PrivateProjection,
    Extra, Diging, PushDiging, Sonata, ConsensusInnovations, FiniteTime, DistributedFixedPoint,
    PrivateOptimisation, FunctionSharing, PaillierSums,
)  # fmt: skip
"""TITAN; averages; consistent systems; least squares; private by noise or encryption."""
