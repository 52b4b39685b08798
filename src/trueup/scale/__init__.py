"""Larger than memory: a release that is counted, noised, stored and fitted slab by slab."""

from trueup.scale.job import WINDOW, FolderJob
from trueup.scale.table import TableJob
from trueup.scale.wanted import Job, checked_question, flat_counts, open_job

__all__ = ["WINDOW", "FolderJob", "Job", "TableJob", "checked_question", "flat_counts", "open_job"]
