"""Frames: how a message crosses a pipe. Used on both sides of the wall, in any process.

In: messages, or bytes as they arrive. Out: bytes, or messages.

A frame is a prefix of fixed size (magic, length of the envelope, length of the body), an envelope in JSON
(``header`` and, per array, name, dtype and shape), and the raw bytes of the arrays, in that order. Nothing
in it can be code. The reader believes no length before it has held it against a limit, and raises
``FrameError`` for everything that is not a frame.
"""

from __future__ import annotations

import json
import math
import os
import selectors
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from grader.errors import GraderError
from grader.plan_dtypes import DType, numpy_dtype, plan_dtype
from grader.plan_limits import Part, Shape

MAGIC = b"warpgrd\x01"
PREFIX = struct.Struct("<8sIQ")
# A plan with the largest upload is 11 MiB of JSON; Python objects may take twenty times the room of their
# JSON, and it is the trusted process that builds them.
MAX_ENVELOPE_BYTES = 16 << 20
# The largest message without arrays.
MAX_WITHOUT_ARRAYS = PREFIX.size + MAX_ENVELOPE_BYTES
MAX_ARRAYS = 1024
# One read or write: large enough to keep system calls cheap, small enough to look at the clock in between.
CHUNK_BYTES = 1 << 20


class FrameError(GraderError):
    """What came through a pipe is not a frame: cut short, too long, or not what it claims to be."""


@dataclass(frozen=True)
class Message:
    """A JSON header and named arrays. ``header`` holds what JSON can hold; arrays are plain numbers,
    bools, or records of those.
    """

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


class _Entry(Part):
    name: Annotated[str, Field(min_length=1, max_length=200)]
    dtype: DType
    shape: Shape


class _Envelope(Part):
    header: dict[str, Any]
    arrays: Annotated[tuple[_Entry, ...], Field(max_length=MAX_ARRAYS)]


def encode(message: Message) -> Iterator[memoryview]:
    """The bytes of a message's frame, piece by piece, without copying contiguous arrays.

    Raises FrameError for an array whose dtype has no place in a frame (objects, strings, dates).
    """
    entries, pieces = [], []
    for name, given in message.arrays.items():
        array = np.asarray(given, order="C")
        if array.dtype.byteorder == ">" or (array.dtype.byteorder == "=" and not np.little_endian):
            array = array.astype(array.dtype.newbyteorder("<"))
        try:
            entries.append(_Entry(name=name, dtype=plan_dtype(array.dtype), shape=array.shape))
        except ValueError as error:
            raise FrameError(f"array {name!r} of dtype {array.dtype} cannot travel in a frame") from error
        if array.nbytes:
            pieces.append(_raw(array))
    document = {"header": message.header, "arrays": [entry.model_dump() for entry in entries]}
    try:
        envelope = json.dumps(document, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise FrameError(f"a header cannot travel in a frame: {error}") from error
    if len(envelope) > MAX_ENVELOPE_BYTES:
        raise FrameError(f"a header of {len(envelope)} bytes, more than {MAX_ENVELOPE_BYTES}")
    body = sum(len(piece) for piece in pieces)
    yield memoryview(PREFIX.pack(MAGIC, len(envelope), body))
    yield memoryview(envelope)
    yield from pieces


class FrameReader:
    """Takes a frame from bytes as they arrive, whoever reads them.

    Read into ``target()``, then call ``advance(n)``; it returns the message when it is whole. ``limit``
    bounds the frame in bytes. Raises FrameError at the first byte that cannot be part of a frame.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[memoryview] = [memoryview(bytearray(PREFIX.size))]
        self._stage = "prefix"
        self._filled = 0
        self._body = 0
        self._header: dict[str, Any] = {}
        self._arrays: dict[str, NDArray[Any]] = {}
        self.received = 0

    def target(self) -> memoryview:
        """Where the next bytes belong; never empty before the message is whole."""
        return self._parts[0][self._filled : self._filled + CHUNK_BYTES]

    def advance(self, count: int) -> Message | None:
        """Take note of ``count`` bytes that were read into ``target()``."""
        self.received += count
        self._filled += count
        while self._parts and self._filled == len(self._parts[0]):
            done = self._parts.pop(0)
            self._filled = 0
            if self._stage == "prefix":
                self._open_envelope(done)
            elif self._stage == "envelope":
                self._open_body(done)
        return Message(self._header, self._arrays) if not self._parts else None

    def ended(self) -> FrameError:
        """The error to raise when the other side closed the pipe before the message was whole."""
        return FrameError(f"the message was cut short after {self.received} bytes")

    def _open_envelope(self, prefix: memoryview) -> None:
        magic, envelope, self._body = PREFIX.unpack(prefix)
        if magic != MAGIC:
            raise FrameError(f"a message starts with {magic!r} and not with {MAGIC!r}")
        if not 0 < envelope <= MAX_ENVELOPE_BYTES or envelope + self._body > self._limit:
            raise FrameError(f"a message announces {envelope} + {self._body} bytes; at most {self._limit} may come")
        self._stage = "envelope"
        self._parts.append(memoryview(bytearray(envelope)))

    def _open_body(self, raw: memoryview) -> None:
        try:
            envelope = _Envelope.model_validate_json(bytes(raw))
        except (ValidationError, RecursionError) as error:
            raise FrameError(f"a message's envelope is malformed: {str(error)[:500]}") from None
        sizes = [math.prod(e.shape) * numpy_dtype(e.dtype).itemsize for e in envelope.arrays]
        if sum(sizes) != self._body:
            raise FrameError(f"a message's arrays take {sum(sizes)} bytes, but {self._body} were announced")
        self._header = envelope.header
        self._stage = "body"
        for entry, size in zip(envelope.arrays, sizes, strict=True):
            if entry.name in self._arrays:
                raise FrameError(f"two arrays of a message are called {entry.name!r}")
            try:
                array = np.empty(entry.shape, numpy_dtype(entry.dtype))
            except ValueError as error:  # a huge dimension beside a dimension of 0
                raise FrameError(f"array {entry.name!r} has an impossible shape: {error}") from None
            self._arrays[entry.name] = array
            if size:
                self._parts.append(_raw(array))


def _raw(array: NDArray[Any]) -> memoryview:
    """The bytes of a contiguous array that is not empty."""
    return array.reshape(-1).view(np.uint8).data


def read_message(fd: int, limit: int, deadline: float) -> Message:
    """Read one message from a pipe; ``deadline`` is a time of ``time.monotonic``.

    Raises FrameError when it is malformed, cut short, larger than ``limit`` bytes, or not whole at the
    deadline.
    """
    reader = FrameReader(limit)
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise FrameError(f"the message was not whole in time: {reader.received} bytes came")
            count = os.readv(fd, [reader.target()])
            if count == 0:
                raise reader.ended()
            message = reader.advance(count)
            if message is not None:
                return message


def write_message(fd: int, message: Message) -> None:
    """Write one message to a pipe and wait until the pipe has taken it.

    Raises FrameError for what no frame can hold, OSError when the other side is gone.
    """
    for piece in encode(message):
        while len(piece):
            piece = piece[os.write(fd, piece[:CHUNK_BYTES]) :]  # noqa: PLW2901
