"""The cost of each line of a kernel: which lines are shown, what stands beside them, which one stands out."""

# mypy: ignore-errors
from __future__ import annotations

import importlib.util
import linecache
import unicodedata

import numpy as np
import pytest
from numba import cuda, float32

from grader import simulator
from grader.records import Place
from grader.reports.line_costs import HOT, MAX_KERNELS, MAX_LINES, line_costs
from grader.reports.terminal import page
from grader.simulator.live.function_texts import function_texts
from grader.simulator.live.groups import launch_groups
from grader.traces import FunctionText, LaunchGroup, LaunchTrace

FILE = "/home/somebody/a.py"


def group(counters_of_lines, times=1, kernel="k", first=1, file=FILE, **changes):
    lines = {Place(line, "", kernel, file): counters for line, counters in counters_of_lines.items()}
    place, defined = Place(99, "", "", FILE), Place(first, "", kernel, file)
    return LaunchGroup(
        LaunchTrace(kernel, place, (1, 1, 1), (32, 1, 1), lines=lines, defined=defined, **changes), times
    )


def function(*lines, first=1, file=FILE):
    return FunctionText(file, first, first + len(lines) - 1, lines)


def reads(sectors, requests=1):
    return {"global_load_requests": requests, "global_load_sectors": sectors, "global_loads": 32 * requests}


def shared_reads(conflicts, requests=1):
    return {"shared_load_requests": requests, "shared_load_bank_conflicts": conflicts}


def text_of(listing):
    return "\n".join(line for line, _ in listing)


def row(listing, ending):
    """The columns of the one line that ends so; its mark, too."""
    (line,) = [line for line, _ in listing if line.endswith(ending)]
    return line.removesuffix(ending).split()


KERNEL = function("@cuda.jit", "def k(a, b):", "    i = cuda.grid(1)", "    x = a[i]", "    b[i] = x", "    # no more")


def test_a_short_kernel_is_shown_whole_with_its_costs_beside_it():
    listing = line_costs([group({4: reads(32), 5: {"global_store_requests": 1, "global_store_sectors": 4}})], [KERNEL])
    assert [line.rstrip() for line, _ in listing[:8]] == [
        "k (a.py): what its lines cost, 1.15 kB moved",
        "  line bytes sectors",
        "     1                @cuda.jit",
        "     2                def k(a, b):",
        "     3                    i = cuda.grid(1)",
        ">    4   89%      32      x = a[i]",
        "     5   11%       4      b[i] = x",
        "     6                    # no more",
    ]
    assert [line for line, style in listing if style == HOT] == [">    4   89%      32      x = a[i]"]


def test_reads_writes_and_atomics_of_a_line_are_told_apart():
    line = {
        **{"global_load_requests": 2, "global_load_sectors": 8, "global_store_requests": 1, "global_store_sectors": 32},
        **{"global_atomic_requests": 2, "global_atomic_sectors": 3},
    }
    assert row(line_costs([group({4: line})], [KERNEL]), "x = a[i]") == ["4", "100%", "4r+32w+1.5a"]


def test_all_launches_of_a_kernel_are_one_listing_of_their_sums():
    groups = [group({4: reads(4), 5: reads(4)}, times=3), group({4: reads(32)}, dynamic_shared_bytes=8)]
    listing = line_costs(groups, [KERNEL])
    assert text_of(listing).count("what its lines cost") == 1
    assert listing[0][0].endswith("what its lines cost, 4 launches together, 1.79 kB moved")
    assert row(listing, "x = a[i]") == [">", "4", "79%", "11"]  # 3 times 4 and 32, of 56; in 4 requests
    assert row(listing, "b[i] = x") == ["5", "21%", "4"]


def test_kernels_of_the_same_name_are_told_apart_by_where_they_stand():
    other = function("@cuda.jit", "def k(a):", "    a[0] = 1", first=20)
    listing = line_costs([group({4: reads(4)}), group({22: reads(8)}, first=20)], [KERNEL, other])
    assert row(listing, "x = a[i]") == ["4", "100%", "4"]
    assert row(listing, "a[0] = 1") == ["22", "100%", "8"]


def test_nothing_stands_out_where_all_costs_are_equal():
    listing = line_costs([group({4: reads(4), 5: reads(4)})], [KERNEL])
    assert row(listing, "x = a[i]") == ["4", "50%", "4"]
    assert HOT not in {style for _, style in listing}


def test_a_column_is_there_only_where_it_has_something_to_say():
    quiet = {"thread_steps": 32, "warp_steps": 1, "branches": 20, "divergent_branches": 1, **shared_reads(0)}
    assert "  line bytes sectors" in text_of(line_costs([group({4: reads(4), 5: quiet})], [KERNEL])).splitlines()
    loud = {"thread_steps": 16, "warp_steps": 1, "branches": 20, "divergent_branches": 10, **shared_reads(31)}
    listing = line_costs([group({4: reads(4), 5: loud})], [KERNEL])
    assert "  line bytes sectors banks parted lanes" in text_of(listing).splitlines()
    assert row(listing, "b[i] = x") == [">", "5", "32", "50%", "16"]
    explained = [line.split()[0] for line, _ in listing if line.startswith("  ") and line[2].isalpha()]
    assert explained == ["line", "bytes", "sectors", "banks", "parted", "lanes"]


def test_a_kernel_that_computes_much_is_marked_where_it_computes():
    listing = line_costs([group({4: reads(4), 5: {"flops_float32": 9000}, 3: {"flops_float32": 100}})], [KERNEL])
    assert row(listing, "b[i] = x") == [">", "5", "99%"]
    assert row(listing, "x = a[i]") == ["4", "100%", "4"]


def test_of_a_long_kernel_only_the_lines_that_cost_something_are_shown():
    lines = ["@cuda.jit", "def k(a):", *(f"    line{n}" for n in range(3, 200))]
    listing = line_costs([group({50: reads(4), 52: reads(8), 120: reads(32)})], [function(*lines)])
    shown = [line.split()[-1] for line, _ in listing[2 : listing.index(("", ""))]]
    assert shown == ["@cuda.jit", "k(a):", "…", "line50", "line51", "line52", "…", "line120", "…"]


def test_of_very_many_lines_the_costliest_are_shown():
    lines = ["@cuda.jit", "def k(a):", *(f"    line{n}" for n in range(3, 200))]
    listing = line_costs([group({n: reads(n) for n in range(3, 200)})], [function(*lines)])
    text = text_of(listing)
    assert "line199\n" in text
    assert "line2" not in text
    assert text.count("    line") == MAX_LINES


def test_many_kernels_are_cut_with_a_word():
    texts = [function("def k(a):", "    a[0] = 1", first=10 * n) for n in range(1, 14)]
    groups = [group({10 * n + 1: reads(4)}, first=10 * n) for n in range(1, 14)]
    text = text_of(line_costs(groups, texts))
    assert text.count("what its lines cost") == MAX_KERNELS
    assert "and 3 more kernels; --json has them all" in text


def test_a_listing_fits_the_terminal_and_keeps_room_for_the_text():
    line = {**reads(32), **shared_reads(31), "branches": 2, "divergent_branches": 1, "flops_float32": 3}
    line |= {"thread_steps": 16, "warp_steps": 1}
    text = function("@cuda.jit", "def k(a):", "    " + "日本語" * 40, "    " + "letters " * 20)
    for width in (40, 50, 80, 200):
        listing = line_costs([group({3: line, 4: line})], [text], width)
        for shown, _ in listing:
            assert sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in shown) <= width
        heads = next(shown for shown, _ in listing if shown.startswith("  line"))
        assert "bytes" in heads
        assert ("flops" in heads, "banks" in heads) == (width == 200, width > 50)
        assert "letters l" in text_of(listing)


def test_what_a_terminal_would_obey_in_a_source_is_shown_not_sent():
    text = function("@cuda.jit", "def k(a):", "    a[0] = '\x1b[2J\x07\r'")
    shown = page(line_costs([group({3: reads(1)})], [text]))
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert r"\x1b[2J" in shown


def test_launches_that_counted_nothing_have_no_listing():
    assert line_costs([group({}, problem="A GPU refuses this launch.")], [KERNEL]) == []
    assert line_costs([group({4: reads(1)})], []) == []


# ---------------------------------------------------------------------- with kernels that run


@pytest.fixture
def costs():
    """The listings of what was launched since."""
    simulator.install()
    with simulator.trace() as launches:
        yield lambda: line_costs(launch_groups(launches), function_texts(launches))
    simulator.uninstall()


def arrays(n=128):
    return cuda.to_device(np.ones(n, np.float32)), cuda.to_device(np.zeros(n, np.float32))


def executed(text, name, known):
    """What ``text`` defines as ``name``; ``known``: the name under which Python knows the text, "" for none."""
    if known:
        linecache.cache[known] = len(text), None, text.splitlines(True), known
    namespace = {"cuda": cuda}
    exec(compile(text, known or "<string>", "exec"), namespace)
    return namespace[name]


def test_a_strided_read_in_a_device_function_of_another_file_is_marked_there(costs, tmp_path):
    (tmp_path / "beside.py").write_text(
        "from numba import cuda\n\n@cuda.jit(device=True)\ndef strided(a, i):\n    return a[i * 8 % a.size]\n\n"
        "@cuda.jit(device=True, inline=True)\ndef inlined(a, i):\n    return a[i] + a[0]\n"
    )
    spec = importlib.util.spec_from_file_location("beside", tmp_path / "beside.py")
    beside = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(beside)

    @cuda.jit
    def kernel(a, b):
        i = cuda.grid(1)
        b[i] = beside.strided(a, i) + beside.inlined(a, i)  # of both

    kernel[1, 128](*arrays())
    listing = costs()
    assert row(listing, "b[i] = beside.strided(a, i) + beside.inlined(a,…")[-3:] == ["16%", "4", "50%"]
    assert [line.split() for line, _ in listing if line.endswith("beside.py:")] == [["…", "beside.py:"]]
    # Of 128 elements every eighth is another sector: 16. Elements of the inlined one: neighbours, and one for all.
    assert row(listing, "return a[i * 8 % a.size]") == [">", "5", "64%", "16"]
    assert row(listing, "return a[i] + a[0]") == ["9", "20%", "2.5", "50%"]


def test_a_lambda_is_shown_as_it_stands(costs):
    put = cuda.jit(device=True)(lambda b, v: cuda.atomic.add(b, 0, v))

    @cuda.jit
    def kernel(a, b):
        put(b, a[cuda.grid(1)])

    kernel[1, 128](*arrays())
    listing = costs()
    assert row(listing, "put(b, a[cuda.grid(1)])")[-2:] == ["80%", "4"]
    assert row(listing, "put = cuda.jit(device=True)(lambda b, v: cuda.atomic.add(…")[-2:] == ["20%", "1"]


def test_kernels_of_a_factory_are_one_listing_without_the_factory(costs):
    def factory(offset):
        @cuda.jit
        def moved(a, b):
            i = cuda.grid(1)
            b[i] = a[(i + offset) % a.size]

        return moved

    for offset in (1, 2):
        factory(offset)[1, 128](*arrays())
    listing = costs()
    assert "2 launches together" in listing[0][0]
    assert "factory" not in text_of(listing)
    assert row(listing, "b[i] = a[(i + offset) % a.size]")[-2:] == ["100%", "5r+4w"]


def test_a_notebook_cell_is_shown_by_what_python_keeps_of_it(costs):
    cell = "def doubled(a, b):\n    i = cuda.grid(1)\n    b[i] = 2 * a[i]\n"
    cuda.jit(executed(cell, "doubled", "/tmp/ipykernel_7/1.py"))[1, 128](*arrays())
    listing = costs()
    assert listing[0][0] == "doubled (notebook cell): what its lines cost, 1.02 kB moved"
    assert row(listing, "b[i] = 2 * a[i]") == ["3", "100%", "4r+4w"]


def test_a_cell_that_is_no_python_on_its_own_is_shown_from_its_first_to_its_last_line(costs):
    code = "\ndef doubled(a, b):\n    i = cuda.grid(1)\n    b[i] = 2 * a[i]\n"
    function = executed(code, "doubled", "magic cell")
    linecache.cache["magic cell"] = 1, None, ("%%time" + code + "!ls\n").splitlines(True), "magic cell"
    cuda.jit(function)[1, 128](*arrays())
    listing = costs()
    assert [line for line, _ in listing[2:5]] == [
        "     2                def doubled(a, b):",
        "     3                    i = cuda.grid(1)",
        "     4  100%   4r+4w      b[i] = 2 * a[i]",
    ]


def test_code_without_a_source_has_its_numbers_alone(costs):
    function = executed("def hidden(a, b):\n    b[cuda.grid(1)] = a[0]\n", "hidden", "")
    cuda.jit(function)[1, 128](*arrays())
    listing = costs()
    assert listing[0][0] == "hidden (<string>): what its lines cost, 640 bytes moved"
    assert row(listing, "source not available") == ["…"]
    assert "     2  100%   1r+4w" in text_of(listing).splitlines()


def test_numbas_own_kernels_have_no_listing(costs):
    assert cuda.reduce(lambda x, y: x + y)(arrays()[0]) == 128
    assert costs() == []


def test_a_transpose_without_padding_shows_its_conflicts_at_the_line_that_has_them(costs):
    @cuda.jit
    def transpose(a, b):
        tile = cuda.shared.array((32, 32), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        tile[y, x] = a[y, x]
        cuda.syncthreads()
        b[y, x] = tile[x, y]

    square = np.ones((32, 32), np.float32)
    transpose[1, (32, 32)](cuda.to_device(square), cuda.to_device(square))
    listing = costs()
    assert row(listing, "tile[y, x] = a[y, x]")[-3:] == ["50%", "4", "1"]
    found = row(listing, "b[y, x] = tile[x, y]")
    assert (found[0], found[-3:]) == (">", ["50%", "4", "32"])


def test_the_marks_are_explained_only_where_a_line_has_one():
    one = line_costs([group({4: reads(32)})], [KERNEL])
    assert [line for line, _ in one if line.lstrip().startswith(">")] == []
    two = line_costs([group({4: reads(32), 5: reads(4)})], [KERNEL])
    assert [line.split()[0] for line, _ in two if line.lstrip().startswith(">")] == [">", ">"]


def test_a_function_that_only_computes_follows_the_kernel_that_calls_it():
    gauss = function("@cuda.jit(device=True)", "def gauss(x):", "    return x * x", first=20)
    index = function("@cuda.jit(device=True)", "def index():", "    return cuda.grid(1)", first=30)
    steps = {"thread_steps": 32, "warp_steps": 1}
    listing = text_of(
        line_costs([group({4: reads(4), 22: {"flops_float32": 32, **steps}, 32: steps})], [KERNEL, gauss, index])
    )
    assert "    return x * x" in listing
    assert "def index" not in listing
