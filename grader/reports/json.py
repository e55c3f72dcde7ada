"""Verdicts as JSON and back. Pure; trusted process.

In: Verdicts. Out: one JSON document, ``{"format": 1, "verdicts": [...]}``; the number tells later ones apart.
A lone surrogate, which no UTF-8 file can hold, is written as its escape: a folder's name may be no UTF-8.
"""

from __future__ import annotations

from typing import Any, Literal

import pydantic_core
from pydantic import BaseModel, ConfigDict, TypeAdapter

from grader.records import CheckResult, Verdict
from grader.reports.text import encodable

CHECK = TypeAdapter(CheckResult)


class Document(BaseModel):
    """What a results file or ``--verdict`` file holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    verdicts: tuple[Verdict, ...]


def to_json(verdicts: tuple[Verdict, ...]) -> str:
    """The verdicts as indented JSON, in the order given."""
    data = _encodable(Document(verdicts=verdicts).model_dump(mode="json"))
    return pydantic_core.to_json(data, indent=1, inf_nan_mode="null").decode() + "\n"


def _encodable(data: Any) -> Any:
    """Plain data with every text in it, keys too, such that UTF-8 can hold it."""
    if isinstance(data, str):
        return encodable(data)
    if isinstance(data, dict):
        return {_encodable(key): _encodable(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_encodable(item) for item in data]
    return data


def from_json(text: str) -> tuple[Verdict, ...]:
    """The verdicts of a document. Raises pydantic.ValidationError if it is none of ours."""
    return Document.model_validate_json(text).verdicts
