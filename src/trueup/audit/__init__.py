"""Catching a mechanism that lies: about its ε, its sensitivity or its noise.

For mechanisms of any make, on made-up inputs: what an audit prints is not private.
"""

from __future__ import annotations

from trueup.audit.bound import Audit, audit, audit_in_bulk
from trueup.audit.fit import noise_fit
from trueup.audit.forced import forced
from trueup.audit.frozen import Replay, replay

__all__ = ["Audit", "Replay", "audit", "audit_in_bulk", "forced", "noise_fit", "replay"]
