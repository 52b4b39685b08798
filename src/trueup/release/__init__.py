"""What is published: consistent answers, each with its error."""

from trueup.release.cells import Release
from trueup.release.estimate import Estimate
from trueup.release.named import NamedRelease
from trueup.release.published import Published
from trueup.release.sorted import SortedRelease

__all__ = ["Estimate", "NamedRelease", "Published", "Release", "SortedRelease"]
