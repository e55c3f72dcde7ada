"""Reading course.yml with line numbers, and turning a validation error into one sentence.

Runs in the trusted process. In: a YAML file; or pydantic's ValidationError. Out: plain data with a map from
keys to lines; or "file:line: where: expected …, found …".
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from grader.errors import CourseError

MAX_BYTES = 1 << 20
# A course.yml needs six.
MAX_DEPTH = 40
MAX_SHOWN = 200
Keys = tuple[str | int, ...]


@dataclass
class Lines:
    """The 1-based line of each key, by its path from the top."""

    by_path: dict[Keys, int] = field(default_factory=dict)

    def of(self, path: Keys) -> int:
        """The line of ``path``, or of the nearest section around it."""
        while path and path not in self.by_path:
            path = path[:-1]
        return self.by_path.get(path, 1)


class _Loader(yaml.SafeLoader):
    """SafeLoader that leaves dates as text: PyYAML would drop the difference between "no zone" and UTC."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:timestamp"]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> tuple[Any, Lines]:
    """Plain data and the lines of its keys. Keys are text as written. Raises CourseError."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CourseError(f"{path}: expected a file of at most {MAX_BYTES} bytes, found {path.stat().st_size}")
        text = path.read_text(encoding="utf-8")
        loader = _Loader(text)
        node = loader.get_single_node()
    except RecursionError:
        raise CourseError(f"{path}: expected at most {MAX_DEPTH} sections inside each other, found far more") from None
    except OSError as error:
        raise CourseError(f"{path}: expected a readable file, found: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CourseError(f"{path}: expected UTF-8 text, found byte {error.start} that is none") from None
    except yaml.YAMLError as error:
        raise CourseError(_syntax(path, error)) from None
    if not isinstance(node, yaml.MappingNode):
        raise CourseError(f"{path}:1: expected keys (course, grading, assignments), found none")
    reader = _Reader(path, loader)
    return reader.plain(node, (), frozenset()), reader.lines


def _syntax(path: Path, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f"{path}:{mark.line + 1}" if mark is not None else str(path)
    return f"{where}: expected YAML, found: {getattr(error, 'problem', None) or error}"


class _Reader:
    """Turns YAML nodes into plain data and notes the line of every key."""

    def __init__(self, path: Path, loader: yaml.SafeLoader) -> None:
        self.path, self.loader, self.lines = path, loader, Lines()

    def plain(self, node: yaml.Node, where: Keys, above: frozenset[int]) -> Any:
        line = node.start_mark.line + 1
        self.lines.by_path.setdefault(where, line)
        if id(node) in above:
            raise CourseError(f"{self.path}:{line}: expected plain values, found an alias to a section around it")
        if len(above) >= MAX_DEPTH:
            raise CourseError(
                f"{self.path}:{line}: expected at most {MAX_DEPTH} sections inside each other, found more"
            )
        above |= {id(node)}
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, where, above)
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(item, (*where, i), above) for i, item in enumerate(node.value)]
        try:
            return self.loader.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            raise CourseError(f"{self.path}:{line}: expected a plain value, found {node.value!r}") from error

    def _mapping(self, node: yaml.MappingNode, where: Keys, above: frozenset[int]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise CourseError(f"{self.path}:{line}: expected a name as key, found a list or a section")
            key = str(key_node.value)
            if key in found:
                first = self.lines.of((*where, key))
                raise CourseError(f"{self.path}:{line}: key {key!r} appears twice, first in line {first}")
            self.lines.by_path[(*where, key)] = line
            found[key] = self.plain(value, (*where, key), above)
        return found


# What was expected, by pydantic's stable error types; {…} is filled from the error's context.
_EXPECTED = {
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "finite_number": "a finite number",
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "string_too_long": "text of at most {max_length} characters",
    "literal_error": "{expected}",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "too_short": "at least one entry",
    "model_type": "a section with keys",
    "mapping_type": "a section with keys",
    "dict_type": "a section with keys",
    "value_error": "{error}",
}


def explain(error: ValidationError, path: Path, lines: Lines, model: type[BaseModel]) -> str:
    """The first problem of ``error`` as "file:line: key: expected …, found …"."""
    # A misspelt key also leaves the right one missing: the unknown key is the better hint.
    problems = error.errors(include_url=False)
    first = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    where = tuple(key for key in first["loc"] if key != "[key]")
    name = ".".join(map(str, where)) or "the file"
    line = f"{path}:{lines.of(where)}"
    if first["type"] in ("extra_forbidden", "missing") or "[key]" in first["loc"]:
        known = list(_keys(model, where[:-1]))
        if first["type"] == "missing":
            return f"{line}: expected a key {str(where[-1])!r} in {_section(where)}, found none"
        near = difflib.get_close_matches(str(where[-1]), known, n=1)
        guess = f" (did you mean {near[0]!r}?)" if near else ""
        return f"{line}: unknown key {str(where[-1])!r}{guess}; expected one of {', '.join(known)}"
    context = {key: str(value) for key, value in first.get("ctx", {}).items()}
    expected = _EXPECTED.get(first["type"], first["msg"]).format(**context)
    found = first["input"]
    shown = "a section" if isinstance(found, dict) else "nothing" if found is None else repr(found)
    shown = shown if len(shown) <= MAX_SHOWN else f"{shown[:MAX_SHOWN]}…"
    return f"{line}: {name}: expected {expected}, found {shown}"


def _section(where: Keys) -> str:
    return ".".join(map(str, where[:-1])) or "the file"


def _keys(model: Any, where: Keys) -> Iterator[str]:
    """The keys that the section at ``where`` knows, found by walking the model's annotations."""
    here: Any = model
    for key in where:
        here = _model_in(here.model_fields[key] if _is_model(here) else here.get(key))
    if _is_model(here):
        yield from (name for name in here.model_fields if name not in ("file", "name"))
    elif isinstance(here, _Named):
        yield from here.keys


def _is_model(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseModel)


@dataclass(frozen=True)
class _Named:
    """A mapping: its allowed keys (empty: any) and what its values are."""

    keys: tuple[str, ...]
    value: Any

    def get(self, key: str | int) -> Any:
        return self.value


def _model_in(annotation: Any) -> Any:
    if isinstance(annotation, FieldInfo):
        annotation = annotation.annotation
    if _is_model(annotation):
        return annotation
    origin, args = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, UnionType):
        return _model_in(next(arg for arg in args if arg is not type(None)))
    if origin is not None and len(args) == 2 and isinstance(origin, type) and issubclass(origin, Mapping):
        names = get_args(args[0])
        return _Named(tuple(n for n in names if isinstance(n, str)) if names else (), args[1])
    return _model_in(args[0]) if args else annotation
