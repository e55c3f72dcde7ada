"""Brings Numba's settings file, which would turn its simulator on and its caches here."""

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

# file: .numba_config.yaml
#| enable_cudasim: 1
#| cache_dir: /tmp/@MARK@
#| disable_jit: 1
# file: .env
#| NUMBA_ENABLE_CUDASIM=1
#| WARPGRADE_SANDBOX=limits
