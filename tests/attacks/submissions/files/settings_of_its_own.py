"""Brings settings for pytest and Python that would have nothing collected, or all of it pass."""

# seen as: wrong-values
# trick
@cuda.jit
def zeros(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 0

def double(x, out):
    zeros[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    zeros[1, 32](x, out)
# end

# file: pyproject.toml
#| [tool.pytest.ini_options]
#| python_functions = "nothing_*"
# file: tox.ini
#| [pytest]
#| addopts = --collect-only
# file: setup.cfg
#| [tool:pytest]
#| addopts = -k nothing
# file: pyvenv.cfg
#| home = /tmp/@MARK@
