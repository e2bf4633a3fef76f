"""The oracle: the best feasible fixed threshold, lottery or thresholds per group, from exact steady states."""

from fairgate.oracle.choice import oracle
from fairgate.oracle.policies import PolicyOracle, PolicyPoint
from fairgate.oracle.threshold import Oracle, sampled_sweep

__all__ = ["Oracle", "PolicyOracle", "PolicyPoint", "oracle", "sampled_sweep"]
