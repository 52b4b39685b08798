"""Standing publications: series that are published again in every period, each period once."""

from trueup.standing.publisher import Done, publish_due, series_in
from trueup.standing.series import Series, read_series
from trueup.standing.status import SeriesStatus, statuses

__all__ = ["Done", "Series", "SeriesStatus", "publish_due", "read_series", "series_in", "statuses"]
