"""One file per method of the literature; this is the list of them all."""

from __future__ import annotations

from titan.compare.method import Method
from titan.compare.methods.async_projection import AsynchronousProjection
from titan.compare.methods.average_consensus import AverageConsensus
from titan.compare.methods.constrained_consensus import ConstrainedConsensus
from titan.compare.methods.diging import Diging
from titan.compare.methods.dp_optimisation import PrivateOptimisation
from titan.compare.methods.extra import Extra
from titan.compare.methods.faim import Faim
from titan.compare.methods.finite_time import FiniteTime
from titan.compare.methods.fixed_point import DistributedFixedPoint
from titan.compare.methods.function_sharing import FunctionSharing
from titan.compare.methods.gossip import PrivateGossip
from titan.compare.methods.innovations import ConsensusInnovations
from titan.compare.methods.paillier import PaillierSums
from titan.compare.methods.private_average import PrivateAverageConsensus
from titan.compare.methods.private_projection import PrivateProjection
from titan.compare.methods.projection_consensus import ProjectionConsensus
from titan.compare.methods.push_diging import PushDiging
from titan.compare.methods.ratio_consensus import RatioConsensus
from titan.compare.methods.robust_ratio import RobustRatioConsensus
from titan.compare.methods.sonata import Sonata
from titan.compare.methods.titan_sums import TitanFlood, TitanTopK, TitanTree

METHODS: tuple[type[Method], ...] = (
    TitanTopK, TitanFlood, TitanTree,
    AverageConsensus, RatioConsensus, RobustRatioConsensus, Faim, PrivateAverageConsensus,
    PrivateGossip,
    ProjectionConsensus, AsynchronousProjection, ConstrainedConsensus, PrivateProjection,
    Extra, Diging, PushDiging, Sonata, ConsensusInnovations, FiniteTime, DistributedFixedPoint,
    PrivateOptimisation, FunctionSharing, PaillierSums,
)  # fmt: skip
"""TITAN; averages; consistent systems; least squares; private by noise or encryption."""
