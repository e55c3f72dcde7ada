"""Pictures, volumes, bodies, chance, text, transforms: one of each."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32, uint8

N = 64


def mandelbrot(out, limit):
    """Lanes leave the loop one by one."""
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        # wrong: if i < out.shape[0] or j < out.shape[1]: -> out-of-bounds on out at: out[i, j] = turns
        c = complex(-2 + 3 * j / out.shape[1], -1 + 2 * i / out.shape[0])
        z = 0j
        turns = 0
        while turns < limit and z.real * z.real + z.imag * z.imag < 4:
            z = z * z + c
            turns += 1
        out[i, j] = turns
        # wrong: out[i, 0] = turns -> race on out


def run_mandelbrot(bench):
    out = bench.device_array((20, 30), np.int64)
    bench.launch(mandelbrot, (3, 4), (8, 8), out, 20)
    expected = np.zeros((20, 30), np.int64)
    for i, j in np.ndindex(20, 30):
        c, z = complex(-2 + 3 * j / 30, -1 + 2 * i / 20), 0j
        while expected[i, j] < 20 and z.real * z.real + z.imag * z.imag < 4:
            z = z * z + c
            expected[i, j] += 1
    return [(out, expected)]


def march(volume, out, step):
    """A ray through a volume, until enough has been seen."""
    i, j = cuda.grid(2)
    if i >= out.shape[0] or j >= out.shape[1]:
        # wrong: if i > out.shape[0] or j >= out.shape[1]: -> out-of-bounds on volume at: seen += step
        return
    seen, depth = 0.0, 0.0
    while seen < 1.5 and depth < volume.shape[2]:
        # wrong: while seen < 1.5 and depth <= volume.shape[2]: -> out-of-bounds on volume at: seen += step
        seen += step * volume[i, j, int(depth)]
        depth += step
    out[i, j] = seen


def run_march(bench):
    volume = bench.rng.random((9, 11, 6)) * 0.6
    out = bench.device_array((9, 11), np.float64)
    bench.launch(march, (2, 2), (8, 8), volume, out, 0.5)
    expected = np.zeros((9, 11))
    for i, j in np.ndindex(9, 11):
        depth = 0.0
        while expected[i, j] < 1.5 and depth < 6:
            expected[i, j] += 0.5 * volume[i, j, int(depth)]
            depth += 0.5
    return [(out, expected)]


def sobel(image, out):
    i, j = cuda.grid(2)
    if i < image.shape[0] and j < image.shape[1]:
        out[i, j] = 0
        # wrong: pass -> unwritten-output
    if 0 < i < image.shape[0] - 1 and 0 < j < image.shape[1] - 1:
        # wrong: if 0 < i < image.shape[0] - 1 and 0 < j < image.shape[1]: -> out-of-bounds on image at: right =
        # wrong: if i < image.shape[0] - 1 and 0 < j < image.shape[1] - 1: -> negative-index on image at: right =
        right = image[i - 1, j + 1] + 2 * image[i, j + 1] + image[i + 1, j + 1]
        left = image[i - 1, j - 1] + 2 * image[i, j - 1] + image[i + 1, j - 1]
        out[i, j] = abs(right - left)


def run_sobel(bench):
    image = bench.rng.integers(0, 256, (21, 27))
    out = bench.device_array((21, 27), np.int64)
    bench.launch(sobel, (3, 4), (8, 8), image, out)
    a = image
    right = a[:-2, 2:] + 2 * a[1:-1, 2:] + a[2:, 2:]
    left = a[:-2, :-2] + 2 * a[1:-1, :-2] + a[2:, :-2]
    return [(out, np.pad(abs(right - left), 1))]


def grey(rgb, out):
    i, j = cuda.grid(2)
    if i < rgb.shape[0] and j < rgb.shape[1]:
        value = float32(0.299) * rgb[i, j, 0] + float32(0.587) * rgb[i, j, 1] + float32(0.114) * rgb[i, j, 2]
        # wrong: value = float32(0.299) * rgb[i, j, 1] + float32(0.587) * rgb[i, j, 2] + rgb[i, j, 3] -> out-of-bounds
        out[i, j] = uint8(value)


def run_grey(bench):
    rgb = bench.rng.integers(0, 256, (20, 30, 3)).astype(np.uint8)
    out = bench.device_array((20, 30), np.uint8)
    bench.launch(grey, (3, 4), (8, 8), rgb, out)
    weights = np.array([0.299, 0.587, 0.114], np.float32)
    exact = (rgb * weights).sum(axis=2, dtype=np.float32)
    return [(abs(out - exact) < 1.01, np.ones((20, 30), bool))]


def flood(mask, labels, changed):
    """Everybody takes the smallest label around, until nothing changes: from one array into another."""
    # warns: same-value-writes
    old, new = labels[0], labels[1]
    # wrong: old, new = labels[0], labels[0] -> race on labels at: new[i, j] = best
    i, j = cuda.grid(2)
    if i < mask.shape[0] and j < mask.shape[1]:
        best = old[i, j]
        if mask[i, j]:
            for k in range(4):
                a, b = i + (k == 0) - (k == 1), j + (k == 2) - (k == 3)
                if 0 <= a < mask.shape[0] and 0 <= b < mask.shape[1] and mask[a, b] and old[a, b] < best:
                    # wrong: if mask[a, b] and old[a, b] < best: -> out-of-bounds on mask
                    best = old[a, b]
        new[i, j] = best
        if best != old[i, j]:
            changed[0] = 1
            # wrong: changed[0] += 1 -> race on changed


def run_flood(bench):
    mask = bench.rng.random((12, 14)) < 0.6
    labels = np.stack([np.arange(168).reshape(12, 14)] * 2)
    expected = labels[0].copy()
    for _ in range(60):
        bench.launch(flood, (2, 2), (8, 8), mask, labels, np.zeros(1, np.int64))
        labels = labels[::-1].copy()
        padded = np.pad(np.where(mask, expected, 999), 1, constant_values=999)
        around = [padded[2:, 1:-1], padded[:-2, 1:-1], padded[1:-1, 2:], padded[1:-1, :-2], expected]
        expected = np.where(mask, np.min(around, axis=0), expected)
    return [(labels[0], expected)]


def bodies(positions, forces):
    """Tiles of bodies through shared memory; each thread holds its own force."""
    s = cuda.shared.array((N, 3), float32)
    force = cuda.local.array(3, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    for c in range(3):
        force[c] = 0
        # wrong: pass -> uninitialised-read on force at: force[c] += (s[k, c] - positions[i, c]) * scale
    for first in range(0, positions.shape[0], N):
        for c in range(3):
            # wrong: for c in range(2): -> uninitialised-read on s at: squared += (s[k, c] - positions[i, c]) ** 2
            s[t, c] = positions[first + t, c]
        cuda.syncthreads()
        # wrong: pass -> race on s at: squared += (s[k, c] - positions[i, c]) ** 2
        for k in range(N):
            squared = float32(0.01)
            for c in range(3):
                squared += (s[k, c] - positions[i, c]) ** 2
            scale = 1 / (squared * math.sqrt(squared))
            for c in range(3):
                force[c] += (s[k, c] - positions[i, c]) * scale
        cuda.syncthreads()
        # wrong: pass -> race on s at: s[t, c] = positions[first + t, c]
    for c in range(3):
        forces[i, c] = force[c]


def run_bodies(bench):
    positions = bench.rng.random((128, 3)).astype(np.float32)
    forces = bench.device_array((128, 3), np.float32)
    bench.launch(bodies, 2, N, positions, forces)
    away = positions[None].astype(float) - positions[:, None]
    squared = 0.01 + (away**2).sum(axis=2)
    return [(forces, (away / squared[..., None] ** 1.5).sum(axis=1))]


def pi(hits, draws):
    """A generator of one's own to each thread."""
    i = cuda.grid(1)
    state = (i * 2654435761 + 12345) % 2147483648
    inside = 0
    for _ in range(draws):
        state = (state * 1103515245 + 12345) % 2147483648
        x = state / 2147483648
        state = (state * 1103515245 + 12345) % 2147483648
        y = state / 2147483648
        inside += x * x + y * y < 1
    cuda.atomic.add(hits, 0, inside)
    # wrong: hits[0] += inside -> race on hits


def run_pi(bench):
    hits = np.zeros(1, np.int64)
    bench.launch(pi, 4, 64, hits, 50)
    return [(abs(4 * hits / (256 * 50) - math.pi) < 0.1, [True])]


def walks(paths):
    i = cuda.grid(1)
    if i < paths.shape[0]:
        at, state = 0, i
        for k in range(paths.shape[1]):
            # wrong: for k in range(1, paths.shape[1]): -> unwritten-output
            # wrong: for k in range(paths.shape[1] + 1): -> out-of-bounds on paths at: paths[i, k] = at
            state = (state * 75 + 74) % 65537
            at += 1 if state % 2 else -1
            paths[i, k] = at


def run_walks(bench):
    paths = bench.device_array((40, 30), np.int64)
    bench.launch(walks, 2, 32, paths)
    return [(abs(np.diff(paths, axis=1)), np.ones((40, 29), int))]


def upper_case(text, out):
    i = cuda.grid(1)
    if i < text.size:
        # wrong: if i <= text.size: -> out-of-bounds on text at: letter = text[i]
        letter = text[i]
        out[i] = letter - 32 if 97 <= letter <= 122 else letter


def run_upper_case(bench):
    text = np.frombuffer(b"Is this a kernel, or is it not? " * 5, np.uint8).copy()
    out = bench.device_array(text.size, np.uint8)
    bench.launch(upper_case, 2, 128, text, out)
    return [(out, np.frombuffer(text.tobytes().upper(), np.uint8))]


def find(text, pattern, count, first):
    """Where a pattern begins: how often, and the first time."""
    i = cuda.grid(1)
    if i + pattern.size <= text.size:
        # wrong: if i < text.size: -> out-of-bounds on text at: matches = text[i + k] == pattern[k] and matches
        matches = True
        for k in range(pattern.size):
            matches = text[i + k] == pattern[k] and matches
        if matches:
            cuda.atomic.add(count, 0, 1)
            # wrong: count[0] += 1 -> race on count
            cuda.atomic.min(first, 0, i)
            # wrong: first[0] = i -> race on first


def run_find(bench):
    text = np.frombuffer(b"to be or not to be, that is to be asked", np.uint8).copy()
    count, first = np.zeros(1, np.int64), np.full(1, 1000)
    bench.launch(find, 2, 32, text, np.frombuffer(b"to be", np.uint8).copy(), count, first)
    return [(count, [3]), (first, [0])]


def words(text, counts):
    """A word begins where a letter follows a space; halos come from the neighbour's memory."""
    s = cuda.shared.array(65, int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t + 1] = text[i] if i < text.size else 32
    if t == 0:
        s[0] = text[i - 1] if i > 0 else 32
        # wrong: s[1] = text[i - 1] if i > 0 else 32 -> uninitialised-read on s at: begins = 1 if
        # wrong: s[0] = text[i - 1] -> negative-index on text
    cuda.syncthreads()
    # wrong: pass -> race on s at: begins = 1 if
    begins = 1 if s[t] == 32 and s[t + 1] != 32 else 0
    # wrong: begins = 1 if s[t + 1] == 32 and s[t + 2] != 32 else 0 -> out-of-bounds on s
    total = cuda.syncthreads_count(begins)
    if t == 0:
        counts[cuda.blockIdx.x] = total


def run_words(bench):
    text = np.frombuffer(
        b"so many words  that one block of threads is not enough for all of them " * 2, np.uint8
    ).copy()
    counts = bench.device_array(3, np.int64)
    bench.launch(words, 3, 64, text, counts)
    return [(counts.sum(), len(text.tobytes().split()))]


def fourier(real, imaginary):
    """Cooley and Tukey in shared memory, bits of the index turned round at the start."""
    re, im = cuda.shared.array(N, float64), cuda.shared.array(N, float64)
    t = cuda.threadIdx.x
    for k in range(t, N, N // 2):
        turned = cuda.brev(np.uint32(k)) >> 26
        # wrong: turned = cuda.brev(np.uint32(k)) >> 27 -> uninitialised-read on re at: x, y =
        # wrong: turned = cuda.brev(np.uint32(k)) >> 25 -> out-of-bounds on re at: re[turned], im[turned] =
        re[turned], im[turned] = real[k], imaginary[k]
    half = 1
    while half < N:
        cuda.syncthreads()
        # wrong: pass -> race on re at: x, y = re[high] * c - im[high] * s, re[high] * s + im[high] * c
        # wrong: cuda.syncwarp(1 << t % 32) -> race on re at: x, y = re[high] * c - im[high] * s
        low = t // half * 2 * half + t % half
        high = low + half
        # wrong: high = low + half + 1 -> out-of-bounds on re at: x, y = re[high] * c
        angle = -math.pi * (t % half) / half
        c, s = math.cos(angle), math.sin(angle)
        x, y = re[high] * c - im[high] * s, re[high] * s + im[high] * c
        re[high], im[high] = re[low] - x, im[low] - y
        re[low], im[low] = re[low] + x, im[low] + y
        half *= 2
    cuda.syncthreads()
    for k in range(t, N, N // 2):
        real[k], imaginary[k] = re[k], im[k]


def run_fourier(bench):
    real, imaginary = bench.rng.random((2, N))
    expected = np.fft.fft(real + 1j * imaginary)
    bench.launch(fourier, 1, N // 2, real, imaginary)
    return [(real + 1j * imaginary, expected)]


def project(volume, out):
    """3-D blocks: the sum along the last axis."""
    i, j, k = cuda.grid(3)
    s = cuda.shared.array((4, 4, 4), float64)
    x, y, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    s[x, y, z] = 0
    # wrong: pass -> uninitialised-read on s at: s[x, y, z] += s[x, y, z + half]
    if i < volume.shape[0] and j < volume.shape[1] and k < volume.shape[2]:
        # wrong: if i < volume.shape[0] and j < volume.shape[1]: -> out-of-bounds on volume at: = volume[
        s[x, y, z] = volume[i, j, k]
    half = 2
    while half:
        cuda.syncthreads()
        # wrong: pass -> race on s at: s[x, y, z] += s[x, y, z + half]
        if z < half:
            s[x, y, z] += s[x, y, z + half]
        half //= 2
    if z == 0 and i < volume.shape[0] and j < volume.shape[1]:
        cuda.atomic.add(out, (i, j), s[x, y, 0])
        # wrong: out[i, j] += s[x, y, 0] -> race on out


def run_project(bench):
    volume = bench.rng.random((6, 7, 9))
    out = np.zeros((6, 7))
    bench.launch(project, (2, 2, 3), (4, 4, 4), volume, out)
    return [(out, volume.sum(axis=2))]
