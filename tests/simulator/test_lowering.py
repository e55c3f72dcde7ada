"""What Numba types and cannot compile is the kernel's mistake; what it compiles is run: as Numba itself decides."""

# mypy: ignore-errors
from __future__ import annotations

import collections
import enum
import math

import numpy as np
import pytest
import real_lowering
from numba import cuda, float32

from grader.simulator.frontend import KernelError, types
from grader.simulator.numba_types import from_dtype

PARTICLE = np.dtype([("x", np.float32), ("v", np.float32, (3,)), ("id", np.int64)], align=True)
CELL = np.dtype([("n", np.int32), ("p", PARTICLE), ("w", np.complex64)], align=True)
ARRAY, TABLE = types.Array(types.float64, 1, "C"), types.Array(types.float64, 2, "C")
SIGNATURE = (ARRAY, TABLE, types.Array(from_dtype(PARTICLE), 1, "C"), types.Array(from_dtype(CELL), 1, "C"), ARRAY)
# Each is the body of a kernel of (a, b, p, q, out): 8 and 2 × 2 numbers, 8 particles, 8 cells, 8 numbers.
CONSTRUCTS = """
out[i] = a.ravel()[i]
out[i] = b.flatten()[0]
out[i] = np.ravel(b)[0]
out[i] = a.copy()[0]
out[i] = a.astype(np.float32)[0]
out[i] = a.max()
out[i] = np.max(a)
out[i] = a.sum() + np.sum(a)
out[i] = a.mean()
out[i] = a.argmax()
a.fill(0)
out[i] = b.transpose()[1, 0]
out[i] = b.transpose((1, 0))[1, 0]
out[i] = b.transpose(1, 0)[1, 0]
out[i] = b.T[1, 0]
out[i] = b[None][0, 1, 1]
out[i] = b[:, None, 1][0, 0]
out[0:2] = a[0:2]
out[:] = a
out[0:2] = 1
out[0:2] = (1.0, 2.0)
b[0] = a[:2]
b[0] = b[1]
b[0] = 7
b[...] = 2
b[:, 0] = a[:2]
out[i] = a.flags.c_contiguous
out[i] = np.sqrt(a[i])
out[i] = np.exp(a[i])
out[i] = np.abs(a[i])
out[i] = np.floor(a[i])
out[i] = np.power(a[i], 2)
out[i] = np.add(a[i], 1)
out[i] = np.sign(a[i])
out[i] = np.sin(a[i])
out[i] = np.maximum(a[i], 2.0)
out[i] = np.hypot(a[i], 1.0)
out[i] = np.isnan(a[i])
out[i] = [1, 2][0]
s = {1, 2}; out[i] = 1
d = {1: 2}; out[i] = d[1]
out[i] = a[a > 2][0]
c = a + 1; out[i] = c[0]
out[i] = np.zeros(3)[0]
out[i] = np.dot(a, a)
out[i] = sum((1, 2, 3)) + sum(a)
out[i] = min(a)
out[i] = i in range(3)
out[i] = len(range(i))
out[i] = tuple((1, 2))[0]
for p in np.ndindex(2, 2): out[i] += b[p]
for p, v in np.ndenumerate(b): out[i] += v
for v in b.flat: out[i] += v
out[i] = b.flat[2]
out[i] = a.item(2)
out[i] = a[i].item()
out[i] = complex(1, 2).imag
out[i] = (a[i] * 1j).conjugate().imag
out[i] = a.dtype.type(3)
out[i] = b.view(np.int64)[1, 1]
out[i] = a.reshape(4, 2)[1, 1]
out[i] = np.reshape(a, (2, 4))[1, 0]
out[i] = (lambda x: x + 1)(a[i])
out[i] = hash(i)
out[i] = a.tolist()[0]
out[i]=q[i].p.v[1]
out[i]=q[i]['p']['x']
out[i]=q.p[i].x
out[i]=q['p']['v'][i,2]
out[i]=q.p.x[i]
out[i]=q[i].p['v'][0]
q[i].p.v[1]=2
q[i].p=p[i]
q[i].p.v=p[i].v
q[i].p.v[:]=1
q.p[i]=p[i]
q[i]=q[i+0]
p[i]=q[i].p
p.v[i]=1
p.v[i,:]=3
p[i].v=a[:3]
r=p[i]; r.x=3; out[i]=p[i].x
r=p[i] if i else p[0]; out[i]=r.x
out[i]=p[i][0]
out[i]=p[i][2]
p[i][0]=3
out[i]=len(p)
for r in p: out[i]+=r.x
for n,r in enumerate(p): out[i]+=r.x*n
for k in range(3): out[i]+=p[i].v[k]
out[i]=p[1:3][0].x
out[i]=p[::-1][i].x
x,y=p[:2]; out[i]=x.x+y.x
out[i]=p.shape[0]+p.itemsize+p.nbytes
t=cuda.local.array(2,P); t[0]=p[i]; out[i]=t[0].x
out[i]=q[i].w.real
q[i].w=1j
q[i].w.real=3
cuda.atomic.add(p.x,i,1)
cuda.atomic.add(p['id'],i,1)
cuda.atomic.add(p[i].v,0,1)
cuda.atomic.add(q.p.v,(i,1),1)
cuda.atomic.cas(p.id,i,0,1)
f='x'; out[i]=p[i][f]
out[i]=getattr(p[i],'x')
for f in ('x','id'): out[i]+=p[i][f]
t=T(a,out); out[i]=t.x[i]
t=T(1,2.5); out[i]=t.x+t[1]+len(t)
t=T(1,y=2.5); x,y=t; out[i]=x
t=T(p[i],i); out[i]=t.x.x
out[i]=T(1,2)==T(1,2)
out[i]=T(1,2)==(1,2)
out[i]=T(1,2)<T(1,3)
out[i]=(1,2)+(3,)==(1,2,3)
out[i]=(1,2.5)[i%2]
out[i]=(1,2,3)[i%3]
out[i]=(1,2,3)[-1]
out[i]=(1,2,3)[1:][0]
t=(a,out,1); out[i]=t[0][i]+t[2]
t=((a,1),(b,2)); out[i]=t[1][0][0,1]
for x,y in ((1,2.),(3,4.)): out[i]+=x*y
for x in (1,2.5): out[i]+=x
out[i]=(1,2).index(2)
out[i]=(1,2).count(2)
out[i]=max((1,2,i))
out[i]=min(1,2.5)
out[i]=2 in (1,2)
out[i]=2 not in (1,2.5)
out[i]=C.A
out[i]=C.A+1
out[i]=C.A==1
out[i]=C.A==C.B
out[i]=C(1)
out[i]=C.A.value
out[i]=C.A.name=='A'
out[i]=C.A is C.A
out[i]=D.X.value
out[i]=D.X==D.Y
out[i]=D.X is D.X
out[i]=D.X in (D.X,D.Y)
out[i]=a[C.A]
out[i]=int(C.A)
out[i]=C.A<C.B
out[i]=C['A']
v=None; out[i]=1 if v is None else 2
v=None if i else a; out[i]=1 if v is None else v[0]
w=a if i else out; w[i]=1
w=a[1:] if i else a[::2]; out[i]=w[1]
w=b[0] if i else a; out[i]=w[1]
w=b.T if i else b; out[i]=w[1,0]
w=a if i else b; out[i]=w[0]
w=a.view(np.int64) if i else a; out[i]=w[0]
b[i%2,:]=i
b[i%2]=i
b[...,0]=i
b[:,::-1]=2
b[0,0:2]=(1,2)
out[i]=b[b[0,0]>0][0,0]
out[i]=a[(1,2),][0]
out[i]=b[i%2,...][0]
out[i]=b[()][0,0]
out[i]=b[0,0,0]
out[i]=a.reshape(2,-1)[1,1]
out[i]=a.reshape((2,2,2))[1,1,1]
out[i]=b.T.reshape(4)[0]
out[i]=b.view(np.float32)[0,1]
out[i]=b.T.view(np.float32)[0,1]
out[i]=a.view(np.complex128)[0].real
out[i]=a.view(P)[0].x
out[i]=b.T.T[0,1]
out[i]=b.T.size
out[i]=a.T.T[i]
out[i]=a.min()
out[i]=a.prod()
out[i]=a.std()
out[i]=a.var()
out[i]=a.cumsum()[0]
out[i]=a.any()
out[i]=a.all()
out[i]=np.any(a)
out[i]=a.argmin()
out[i]=b.sum(axis=0)[0]
out[i]=np.prod(a)
out[i]=np.min(a)
a.sort()
out[i]=a.nonzero()[0][0]
out[i]=a.take(1)
out[i]=a.itemset(0,1)
out[i]=a.dot(a)
out[i]=a.base
out[i]=np.iinfo(np.int32).max
out[i]=np.dtype('f4').type(3)
out[i]=np.cross(a[:3],a[:3])[0]
out[i]=np.linalg.norm(a)
out[i]=np.cumsum(a)[0]
out[i]=np.count_nonzero(a)
out[i]=np.nanmax(a)
out[i]=np.all(a)
out[i]=np.median(a)
out[i]=np.interp(1.5,a,a)
out[i]=id(a)
out[i]=str(i)
out[i]=a[i] is None
out[i]=a is a
out[i]=a is out
out[i]=a is None
np.sin(a,out)
np.sin(a)
np.sin(b,out)
np.sin(a,b)
np.sin(2.0,out)
np.sin(a,out=out)
np.sqrt(a,out)
np.add(a,a,out)
np.less(a,a,out)
np.maximum(a,2,out)
np.arctan2(a,b[0,0],out)
np.logical_not(a,a)
np.left_shift(a,1,out)
np.conjugate(q['w'],q['w'])
np.sin(q['w'],out)
np.sin(q['n'],out)
np.sin(out,q['n'])
np.sin(a,out[2:])
out[i]=np.sin(a,out)[0]
out/=2
out+=2
out*=2
out//=2
out%=2
out**=2
n=q['n']; n<<=1
n=q['n']; n&=a
n=q['n']; n/=2
out[0:2]/=2
t = 'a' if i else 'b'; out[i] = t == 'a'
t = 'a' if i else 'b'; out[i] = t < 'b'
t = 'a' if i else 'bb'; out[i] = len(t)
t = 'a' if i else 'bb'; print(t)
print(*(1, 2.5), 3)
print('x', *(1, 2.5))
out[i] = a.ctypes.data
p[i]['v'] = b
p[i].v = a
q[i]['p'] = p[i]
q[i].p = p[i]
out[i] = 1 / q[i].w.real
x = a[i] / q[i].w; out[i] = x.real
b[0]/=2
""".strip().splitlines()


T = collections.namedtuple("T", "x y")


class C(enum.IntEnum):
    A = 1
    B = 2


class D(enum.Enum):
    X = 1
    Y = 2


def _kernel(body):
    lines = "".join(f"    {line}\n" for line in body.split("; "))
    text = f"def kernel(a, b, p, q, out):\n    i = cuda.grid(1)\n{lines}"
    scope = {"cuda": cuda, "np": np, "math": math, "float32": float32, "T": T, "C": C, "D": D, "P": PARTICLE}
    exec(compile(text, __file__, "exec"), scope)
    return scope["kernel"]


def _arguments():
    numbers = np.arange(1.0, 9.0), np.arange(1.0, 5.0).reshape(2, 2)
    return *numbers, np.zeros(8, PARTICLE), np.zeros(8, CELL), np.zeros(8)


@pytest.mark.parametrize("body", CONSTRUCTS)
def test_a_kernel_is_refused_exactly_where_numba_refuses_it(launch, body):
    refusal = real_lowering.refusal(_kernel(body), SIGNATURE)
    if not refusal:
        launch(_kernel(body), 1, 8, *_arguments())
        return
    with pytest.raises(KernelError):
        launch(_kernel(body), 1, 8, *_arguments())


@pytest.mark.parametrize("name", sorted(n for n in dir(np) if isinstance(getattr(np, n), np.ufunc)))
def test_numpys_functions_are_refused_where_numba_refuses_them(launch, name):
    count = getattr(np, name).nin
    body = f"out[i] = np.{name}({', '.join(['a[i]'] * count)})"
    refusal = real_lowering.refusal(_kernel(body), SIGNATURE)
    if not refusal:
        return
    with pytest.raises(KernelError):
        launch(_kernel(body), 1, 8, *_arguments())
