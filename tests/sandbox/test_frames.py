"""What crosses a pipe is a frame, or one kind of error."""

from __future__ import annotations

import json
import os
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.sandbox.frames import (
    MAGIC,
    MAX_ENVELOPE_BYTES,
    PREFIX,
    FrameError,
    FrameReader,
    Message,
    encode,
    read_message,
    write_message,
)

LIMIT = 1 << 20
DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16")
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
headers = st.dictionaries(st.text(), json_values, max_size=4)
arrays = st.dictionaries(
    st.text(min_size=1, max_size=20),
    st.sampled_from(DTYPES).flatmap(
        lambda d: hnp.arrays(d, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    ),
    max_size=3,
)


def feed(data: bytes, limit: int = LIMIT, step: int = 7) -> Message:
    """Give a reader the bytes in small steps; what is left over at the end of the message is ignored."""
    reader, position = FrameReader(limit), 0
    while True:
        target = reader.target()
        piece = data[position : position + min(step, len(target))]
        if not piece:
            raise reader.ended()
        target[: len(piece)] = piece
        position += len(piece)
        message = reader.advance(len(piece))
        if message is not None:
            return message


def frame(envelope: object, body: bytes = b"", announced: int | None = None) -> bytes:
    raw = envelope if isinstance(envelope, bytes) else json.dumps(envelope).encode()
    return PREFIX.pack(MAGIC, len(raw), len(body) if announced is None else announced) + raw + body


def entry(dtype: object = "<f4", shape: object = (2,), name: object = "a") -> dict[str, object]:
    return {"header": {}, "arrays": [{"name": name, "dtype": dtype, "shape": shape}]}


@given(headers, arrays, st.integers(1, 50))
def test_a_message_arrives_as_it_was_sent(header: dict, given_arrays: dict, step: int) -> None:
    message = feed(b"".join(encode(Message(header, given_arrays))), step=step)
    assert message.header == header
    assert list(message.arrays) == list(given_arrays)
    for name, array in given_arrays.items():
        found = message.arrays[name]
        assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())


@given(headers, arrays, st.data())
def test_a_message_cut_short_is_a_frame_error(header: dict, given_arrays: dict, data: st.DataObject) -> None:
    whole = b"".join(encode(Message(header, given_arrays)))
    length = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(FrameError, match="cut short"):
        feed(whole[:length])


@given(arrays, st.data())
def test_damaged_bytes_give_a_message_or_a_frame_error(given_arrays: dict, data: st.DataObject) -> None:
    whole = bytearray(b"".join(encode(Message({"n": [1, 2]}, given_arrays))))
    for position in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
        whole[position] = data.draw(st.integers(0, 255))
    try:
        message = feed(bytes(whole))
    except FrameError:
        return
    assert all(array.dtype.str in DTYPES for array in message.arrays.values())


@given(st.binary(max_size=200))
def test_noise_is_a_frame_error(noise: bytes) -> None:
    with pytest.raises(FrameError):
        feed(noise)


@given(st.binary(max_size=200))
def test_noise_for_an_envelope_is_a_frame_error(noise: bytes) -> None:
    with pytest.raises(FrameError):
        feed(frame(noise))


@pytest.mark.parametrize(
    ("envelope", "body"),
    [
        (entry(shape=[-1]), b"1234"),
        (entry(shape=[float("nan")]), b"1234"),
        (entry(shape=[float("inf")]), b"1234"),
        (entry(shape=[1.0]), b"1234"),
        (entry(shape=[True]), b"1234"),
        (entry(shape=["1"]), b"1234"),
        (entry(shape=1), b"1234"),
        (entry(shape=[1] * 9), b"1234"),
        (entry(shape=[2**62, 2**62]), b"1234"),
        (entry(shape=[2**62, 0]), b""),
        (entry(dtype="|O"), b"12345678" * 2),
        (entry(dtype="O"), b"12345678" * 2),
        (entry(dtype="|S4"), b"12345678"),
        (entry(dtype="<U1"), b"12345678"),
        (entry(dtype="<M8[s]"), b"12345678" * 2),
        (entry(dtype="f4, i4"), b"12345678" * 2),
        (entry(dtype=">f4"), b"12345678"),
        (entry(dtype=4), b"12345678"),
        (entry(name=""), b"12345678"),
        (entry(name=None), b"12345678"),
        (entry(), b"1234567"),
        (entry(), b"123456789"),
        ({"header": {}, "arrays": [entry()["arrays"][0]] * 2}, b"12345678" * 2),  # type: ignore[index]
        ({"header": [], "arrays": []}, b""),
        ({"header": {}}, b""),
        ({"header": {}, "arrays": [], "code": "x"}, b""),
        ([], b""),
        (b"[" * 100_000, b""),
        (b'{"header": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b', "arrays": []}', b""),
        (b"\xff\xfe", b""),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_a_malformed_envelope_is_a_frame_error(envelope: object, body: bytes) -> None:
    with pytest.raises(FrameError):
        feed(frame(envelope, body))


def test_announced_lengths_above_the_limit_are_refused_before_any_byte_of_them() -> None:
    for lengths in ((10, LIMIT), (MAX_ENVELOPE_BYTES + 1, 0), (0, 0), (2**32 - 1, 2**64 - 1)):
        with pytest.raises(FrameError, match="announces"):
            feed(PREFIX.pack(MAGIC, *lengths))


def test_arrays_of_no_numbers_are_not_sent() -> None:
    for array in (np.array([{}]), np.array(["a"]), np.array([1], "M8[s]")):
        with pytest.raises(FrameError, match="cannot travel"):
            b"".join(encode(Message({}, {"a": array})))


def test_headers_without_a_place_in_json_are_not_sent() -> None:
    for value in (float("nan"), object(), b"bytes", {1, 2}):
        with pytest.raises(FrameError, match="header"):
            b"".join(encode(Message({"a": value})))


def test_big_endian_and_strided_arrays_arrive_with_their_values() -> None:
    sent = np.arange(24, dtype=">i4").reshape(4, 6)[::2, ::-1].T
    found = feed(b"".join(encode(Message({}, {"a": sent})))).arrays["a"]
    assert np.array_equal(found, sent)
    assert found.dtype == np.dtype("<i4")


def test_reading_from_a_silent_pipe_ends_at_the_deadline() -> None:
    read_end, write_end = os.pipe()
    began = time.monotonic()
    os.write(write_end, MAGIC)
    with pytest.raises(FrameError, match="in time"):
        read_message(read_end, LIMIT, began + 0.2)
    assert 0.1 < time.monotonic() - began < 5
    os.close(write_end)
    with pytest.raises(FrameError, match="cut short"):
        read_message(read_end, LIMIT, time.monotonic() + 5)
    os.close(read_end)


def test_two_messages_in_one_pipe_do_not_run_into_each_other() -> None:
    read_end, write_end = os.pipe()
    for n in range(2):
        write_message(write_end, Message({"n": n}, {"a": np.full(3, n)}))
    for n in range(2):
        message = read_message(read_end, LIMIT, time.monotonic() + 5)
        assert message.header == {"n": n}
        assert message.arrays["a"].tolist() == [n] * 3
    os.close(read_end)
    os.close(write_end)


RECORD = np.dtype([("id", "u1"), ("at", [("x", "<f4"), ("m", "<f8", (2,))], (3,))], align=True)


def test_records_arrive_as_they_were_sent() -> None:
    array = np.frombuffer(np.random.default_rng(1).bytes(6 * RECORD.itemsize), RECORD).reshape(2, 3)
    found = feed(b"".join(encode(Message({}, {"a": array, "one": array[1, 1], "none": array[:0]})))).arrays  # type: ignore[dict-item]
    assert found["a"].dtype == found["none"].dtype == RECORD
    assert found["a"].tobytes() == array.tobytes()
    assert found["one"].tobytes() == array[1, 1].tobytes()
    assert found["none"].shape == (0, 3)


@pytest.mark.parametrize("dtype", [[("o", object)], [("s", "S3")], [("t", "M8[s]")], [("x", ">f4")]], ids=str)
def test_records_of_what_is_no_number_cannot_travel(dtype: list) -> None:
    with pytest.raises(FrameError, match="cannot travel"):
        list(encode(Message({}, {"a": np.zeros(2, dtype)})))
