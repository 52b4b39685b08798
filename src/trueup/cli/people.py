"""Features of people as they are typed: visits=count:*, dear=any:*,where:fare > 50."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trueup.errors import InputError, shown

if TYPE_CHECKING:
    from trueup.owner.person import Person


def features(typed: Sequence[str]) -> dict[str, Person]:
    """The features by their names. A filter comes last: it may hold commas itself.

    >>> features(["spent=sum:fare,low:0,high:100,where:shop in ('a', 'b')"])
    {'spent': Person(sum='fare', where="shop in ('a', 'b')", low='0', high='100', step='1')}
    """
    from trueup.owner.person import Person

    found: dict[str, Person] = {}
    for one in typed:
        name, _, said = one.partition("=")
        made: dict[str, Any] = {}
        while said:
            word, colon, rest = said.partition(":")
            value, _, said = (rest, "", "") if word == "where" else rest.partition(",")
            if not colon or not value or word in made:
                raise _unreadable(one)
            made[word.strip()] = value.strip()
        if not name.strip() or not made or name.strip() in found:
            raise _unreadable(one)
        found[name.strip()] = Person(**made)
    return found


def _unreadable(typed: str) -> InputError:
    return InputError(
        f"--person names a feature once and says how it is made, such as visits=count:* or "
        f"spent=sum:fare,low:0,high:100,step:0.01; got {shown(typed)}."
    )
