"""The words under which questions are recorded, and the question that a record describes."""

from __future__ import annotations

from trueup.ask.question import Question
from trueup.errors import FileError

_KINDS: dict[str, type[Question]] = {}


def register(question: type[Question]) -> None:
    """From now on records of these kinds are read as this question."""
    for kind in question.kinds:
        if _KINDS.setdefault(kind, question) is not question:
            raise ValueError(f"The kind {kind!r} is recorded for {_KINDS[kind].__name__} already.")


def question_of_kind(kind: str) -> type[Question]:
    """The question whose records are of this kind."""
    return _KINDS[kind]


def known_kinds() -> tuple[str, ...]:
    """The words of all questions that are known."""
    return tuple(_KINDS)


def question_from_json(spec: object) -> Question:
    """The question that `to_json` described; checked as if typed."""
    if not isinstance(spec, dict):
        raise FileError("The question cannot be read: it is no description.")
    kind = spec.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise FileError(f"Question kind {kind!r} is not known to this version.")
    try:
        return _KINDS[kind].from_json(spec)
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as wrong:
        raise FileError(f"The question cannot be read: {wrong!r}.") from None
