"""What no linear question can beat: the proven bound of a plan at a ρ."""

from __future__ import annotations

from fractions import Fraction

from trueup.workload import Workload


def least_error(size: int, workload: Workload, rho: Fraction, rows_per_unit: int) -> float | None:
    """The least mean error over all ranges, or all prefixes; None for other workloads.

    The noise on the line of a question whose longest column is 1 has the variance rows² / 2ρ.
    Replacing a record costs as much or more, so it is a bound for that too.

    >>> from trueup.workload import Workload
    >>> round(least_error(1024, Workload.all_ranges(), Fraction(1, 2), 1), 3)
    12.356
    """
    from trueup._kernels.error.least_possible import least_mean_variance

    if workload.kind not in ("ranges", "prefixes"):
        return None
    noise = Fraction(rows_per_unit) ** 2 / (2 * rho)
    return least_mean_variance(size, workload.kind == "prefixes") * float(noise)
