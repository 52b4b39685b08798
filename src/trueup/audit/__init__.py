"""Catching a mechanism that lies: about its ε or ρ, its sensitivity or its noise.

For mechanisms of any make, on made-up inputs: what an audit prints is not private.
"""

from __future__ import annotations

from trueup.audit.bound import Audit, audit, audit_in_bulk
from trueup.audit.claim import Claim
from trueup.audit.examination import Effort, Examination, Finding, examine
from trueup.audit.fit import gaussian_fit, noise_fit
from trueup.audit.forced import forced
from trueup.audit.frozen import Replay, replay
from trueup.audit.lonely import LonelyAudit, audit_delta, shown_alone
from trueup.audit.report import page, write_page
from trueup.audit.search import Pair, neighbours_of_counts, neighbours_of_records
from trueup.audit.targets import Target, of_command, of_object, target

__all__ = [
    "Audit",
    "Claim",
    "Effort",
    "Examination",
    "Finding",
    "LonelyAudit",
    "Pair",
    "Replay",
    "Target",
    "audit",
    "audit_delta",
    "audit_in_bulk",
    "examine",
    "forced",
    "gaussian_fit",
    "neighbours_of_counts",
    "neighbours_of_records",
    "noise_fit",
    "of_command",
    "of_object",
    "page",
    "replay",
    "shown_alone",
    "target",
    "write_page",
]
