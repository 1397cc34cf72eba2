"""The objects that random bodies (bodies.py) read and change."""

from __future__ import annotations

WORLD = """
import collections, functools, operator, enum, types, itertools, math, contextlib
from dataclasses import dataclass
Pair=collections.namedtuple('Pair','a b')
@dataclass
class DC:
    k: float = 2.0
    n: int = 1
    def scale(self, x): return x*self.k
@dataclass(frozen=True)
class FZ:
    k: float = 2.0
class SL:
    __slots__=('k','t','__weakref__')
    def __init__(s): s.k=2.0; s.t=None
class Base:
    c=2.0
    def m(s,x): return x*s.c
    @property
    def p(s): return s._p
    @staticmethod
    def st(x): return x+1
    @classmethod
    def cm(c,x): return x*c.c
class Der(Base):
    def m(s,x): return super().m(x)+1
class Der2(Base):
    def m(s,x): return super().m(x)+5
class GA:
    def __getattr__(s,n):
        if n.startswith('__'): raise AttributeError(n)
        return vals.get(n,1)
class E(enum.Enum):
    A=1
    B=2
class IE(enum.IntEnum):
    A=1
    B=2
class CM:
    def __init__(s): s.log=0
    def __enter__(s): return mult
    def __exit__(s,*a): return swallow
class IX:
    def __init__(s,i): s.i=i
    def __index__(s): return s.i
    def __float__(s): return float(s.i)
    def __len__(s): return s.i
    def __contains__(s,o): return o==s.i
    def __iter__(s): return iter(range(s.i))
    def __getitem__(s,k): return s.i
    def __call__(s,x): return x*s.i
    def __eq__(s,o): return isinstance(o,IX) and s.i==o.i
    def __hash__(s): return s.i
vals={'q':2.0}
mult=2.0; swallow=False
L=[1.0,2.0,3]; D={'a':2.0,'b':[1,2],'c':{'d':3.0}}; TU=(1.0,(2,3),'s'); S={1,2}; FS=frozenset([1,2])
DQ=collections.deque([1.0]); OD=collections.OrderedDict(a=1.0,b=2.0); DD=collections.defaultdict(list)
P=Pair(2.0,3)
dc=DC(); fz=FZ(); sl=SL(); o=Der(); o._p=3.0; ga=GA(); en=E.A; ie=IE.B; cm=CM(); ix=IX(1)
st='ab'; by=b'ab'; i=3; f_=1.5; b=True; N=None; big=2**70; cx=1+2j; sli=slice(0,1)
w=torch.tensor([1.0,2.0]); wv=w[:1]; par=nn.Parameter(torch.tensor([3.0,4.0])); buf=torch.zeros(2)
ten={'x':torch.ones(2)}; TL=[torch.ones(2), torch.full((2,),2.0)]
lin=nn.Linear(2,2); lin.weight.data.fill_(0.5); lin.bias.data.fill_(0.25)
ml=nn.ModuleList([nn.Identity(), lin]); drop=nn.Dropout(0.5)
arr=np.array([1.0,2.0]); npf=np.float32(2.0); npi=np.int64(1)
mod=types.ModuleType('mod'); mod.k=2.0; mod.f=lambda x: x*3
def fn(x,k=2.0,*,z=1.0): return x*k+z
def fdef(x,l=[1.0]): return x*l[0]
fn.attr=2.0
pt=functools.partial(fn,k=3.0); ag=operator.attrgetter('k'); ig=operator.itemgetter('a')
cell_k=2.0
def mk():
    k=cell_k; lst=[1.0]
    def inner(x): return x*k*lst[0]
    def setk(v):
        nonlocal k; k=v
    return inner,setk,lst
inner,setk,clst=mk()
@functools.lru_cache(None)
def cached(n): return n*vals['q']
cnt=[0]
def gen(x):
    for q in L: yield x*q
it=iter([1.0]*50)
class Cnt(nn.Module):
    def __init__(s): super().__init__(); s.n=0; s.h=None; s.k=2.0
    def forward(s,x): s.h=x*s.k; return s.h+1
cn=Cnt()
opt=torch.optim.SGD([par],lr=0.1,momentum=0.5)
g_tensor_attr=torch.ones(2); g_tensor_attr.foo=2.0
KT={w:5}; L2=L; f2=f_; arr0=np.array(0); seen=[]
class Lazy(types.ModuleType):
    @property
    def prop(s): return 4.0
lazy=Lazy('lazy'); lazy.k=2.0
pt.own=2.0
import contextvars
cv=contextvars.ContextVar('cv'); cv.set(2.0)
def eval_none(x): return 2.0
def fn2(x, k=2.0, *, z=1.0): return x*k + z*37
A=torch.tensor([2.0,3.0])
"""
