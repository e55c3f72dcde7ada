"""Verdicts as JSON and back. Pure; trusted process.

In: Verdicts. Out: one JSON document, ``{"format": 1, "verdicts": [...]}``; the number tells later ones apart.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

from grader.records import CheckResult, Verdict

CHECK = TypeAdapter(CheckResult)


class Document(BaseModel):
    """What a results file or ``--verdict`` file holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    verdicts: tuple[Verdict, ...]


def to_json(verdicts: tuple[Verdict, ...]) -> str:
    """The verdicts as indented JSON, in the order given."""
    return Document(verdicts=verdicts).model_dump_json(indent=1) + "\n"


def from_json(text: str) -> tuple[Verdict, ...]:
    """The verdicts of a document. Raises pydantic.ValidationError if it is none of ours."""
    return Document.model_validate_json(text).verdicts
