"""What random bodies (bodies.py) are made of, and what changes between their calls, over body_world.py."""

from __future__ import annotations

# Tensors of two elements, of `x` and `y`.
EXPRESSIONS = """
x*2
x+w
x*wv
x*par
x*L[0]
x*L[-1]
x*len(L)
x*sum(L)
x*max(L)
x*D['a']
x*len(D)
x*D['c']['d']
x*D.get('zz',1.5)
x*(2 if 'b' in D else 3)
x*(2 if 2.0 in L else 3)
x*(2 if 2 in S else 3)
x*(2 if i in FS else 3)
x*len(S)
x*sum(D['b'])
x*TU[0]
x*TU[1][0]
x*len(TU[2])
x*P.a
x*P[1]
x*DQ[0]
x*len(DQ)
x*OD['a']
x*list(OD)[0].__len__()
x*len(DD['k'])
x*dc.k
dc.scale(x)
x*(2 if dc==DC() else 3)
x*fz.k
x*(hash(fz)%7)
x*sl.k
x*(sl.t if sl.t is not None else 1)
o.m(x)
x*o.p
x*o.c
Base.cm(x)
o.st(x)
x*(2 if isinstance(o,Der) else 3)
x*(2 if type(o) is Der else 3)
x*ga.q
x*getattr(ga,'zz',4)
x*(2 if en is E.A else 3)
x*en.value
x*ie
x*(2 if ie==2 else 3)
x*len(en.name)
x*ix
x*len(ix)
x*float(ix)
x*L[ix]
x*(2 if 1 in ix else 3)
x*sum(ix)
x*ix[0]
ix(x)
x*len({ix,IX(1)})
x*(2 if ix in {IX(1):0} else 3)
x*len(st)
x*(2 if st=='ab' else 3)
x*len(st.upper()+'q')
x*len(f'{st}{i}')
x*len(by)
x*i
x*f_
x*b
x*(2 if b else 3)
x*(2 if b is True else 3)
x*(2 if N is None else 3)
x*(big%7)
x*cx.real
x*len(L[sli])
x+TL[0]
sum(TL)+x
x*len(TL)
x+ten['x']
lin(x)
ml[1](x)
[q(x) for q in ml][-1]
drop(x)
x*float(arr[0])
x*npf
x*float(npf)
L[npi]*x
x*mod.k
mod.f(x)
fn(x)
fn(x,k=f_)
fdef(x)
x*fn.attr
pt(x)
x*ag(dc)
x*ig(D)
inner(x)
x*cached(2)
sum(gen(x))
x*next(it)
cn(x)
cn(x)+cn.h
x*cn.n
x+buf
x*g_tensor_attr.foo
x*math.sqrt(f_)
x*math.floor(f_)
x*round(f_)
x*int(f_)
x*-f_
x*(f_+i)
x*(f_>1)
x*(f_//1)
x*(f_**2)
x*min(f_,1.0)
x*abs(f_)
x*(f_ if i>2 else 1.0)
x*functools.reduce(operator.add,L)
x*list(map(lambda q: q*2,L))[0]
x*list(filter(None,L))[0]
x*sorted(L,reverse=True)[0]
x*sorted(L,key=lambda q: -q)[0]
x*dict(zip('ab',L))['a']
x*{k:v for k,v in OD.items()}['b']
x*[k for k in OD].index('a')
x*len({**D,'q':1})
x*[*L,*TU][0]
x*sum(q for q in L if q>1)
x*any(L)
x*all(L)
x*(L==[1.0,2.0,3])
x*(TU==(1.0,(2,3),'s'))
x*(S=={1,2})
x*(D is D)
x*(L is TL)
x*list(itertools.chain(L,[4.0]))[-1]
x*list(itertools.islice(L,1))[0]
x*list(enumerate(L))[1][1]
x*list(reversed(L))[0]
x*L.count(2.0)
x*L.index(2.0)
x*TU.index('s')
x*tuple(L)[0]
x*str(i).__len__()
x*divmod(i,2)[1]
x*(i<<1)
x*bool(L)
x*(not D)
x[:1].expand(2)
x[[1,0]]
torch.where(x>1,x,w)
torch.stack([x,w]).sum(0)
x.sum()*w
x.detach()*2
x.clone().mul_(2)
torch.ones(2)*x
torch.full((2,),f_)+x
torch.arange(2)*x
x.reshape(2,1)[:,0]
x.to(torch.float64).to(torch.float32)
torch.rand(2)+x
x.cumsum(0)
x+float(w.sum().item()>0)
x*w.sum().item()
x*w.tolist()[0]
x*(2 if x is w else 3)
x*(2 if x is y else 3)
x+y
y*2
torch.max(x,y)
x*(2 if x.requires_grad else 3)
x*(2 if w.requires_grad else 3)
x*(par.grad if par.grad is not None else 1)
x*x.shape[0]
x*x.dim()
x*len(x)
x*(2 if x.dtype==torch.float32 else 3)
x*opt.param_groups[0]['lr']
x*hash(ix)
x*(2 if hash(x)==hash(w) else 3)
x*(2 if x in {w} else 3)
x*(2 if x in KT else 3)
x*KT.get(y,3)
x*len({x,w,y})
x*(2 if L is L2 else 3)
x*(2 if f_ is f2 else 3)
x*[2.0,3.0,4.0][arr0]
x*[2.0,3.0,4.0][arr0:][0]
x*lazy.k
x*lazy.prop
x*mod.__dict__.get('k',5)
x*(2 if issubclass(Der,Base) else 3)
x*(2 if isinstance(ix,(str,(IX,list))) else 3)
x*pt.own
x*pt.keywords['k']
x*vars(o).get('_p',7)
x*o.__dict__.get('zz',7)
x*getattr(sl,'zz',3)
x*type(o).c
x*(2 if callable(ix) else 3)
x*(2 if hasattr(o,'zz') else 3)
x*sorted([IX(2),ix],key=lambda q: q.i)[0].i
x*max([ix,IX(0)],key=float).i
x*sum(map(float,[ix,IX(2)]))
x*cv.get()
x*fn.__defaults__[0]
x*fn.__kwdefaults__['z']
x*len(fn.__name__)
x*len(o.__class__.__name__)
x*len(Der.__mro__)
torch.nn.functional.linear(x,lin.weight,lin.bias)
x*lin.weight.sum()
x+w[i-2:].sum()
x[IX(0)]+x
x*torch.tensor(L).sum()
x*torch.tensor(TU[1]).sum()
torch.cat([x,*TL]).view(-1,2).sum(0)
x*sum(D['b'][:1])
x*(lambda *a,**k: len(a)+len(k))(*L,**{'a':1})
x*eval_none(x)
x*par
x*float(len(TL))
x+wv.sum()
w+wv.sum()
x*x.stride()[0]
x*(2 if x.is_leaf else 3)
x*(2 if x.grad is None else 3)
""".strip().split("\n")

# `EX` is an expression; two characters stand for the end of a line.
STATEMENTS = r"""
with torch.no_grad(): x=EX
with cm as q: x=x*q
with torch.autocast('cpu'): x=(x@torch.eye(2)).float()+EX
for q in L: x=x*q
for k,v in D.items(): x=x+len(k)
for q in TL: x=x+q
for j,q in enumerate(TU[1]): x=x+q*j
for j in range(i): x=x+j
while i>100: x=x*2
if D['a']>1.5: x=EX
if L: x=EX
if st.startswith('a'): x=EX
if w is N: x=EX
if x.shape[0]>5: x=EX
try:\n    x=EX\nexcept ZeroDivisionError:\n    x=x*7
try:\n    x=x*(1/(i-3))\nexcept ZeroDivisionError:\n    x=EX
try:\n    x=x*D['nokey']\nexcept KeyError:\n    x=EX
try:\n    x=EX\nfinally:\n    x=x+1
buf.add_(1)
buf.copy_(x.detach())
w.mul_(0.5)
wv.add_(0.25)
x=x.clone(); x[0]=f_
cnt[0]+=1
D['a']=D['a']+0.5
L.append(1.0)
sl.t=x.detach()
cn.n+=1
o._p=o._p+1
ten['x']=x.detach()
TL.append(x.detach())
DQ.append(2.0)
S.add(i)
dc.k=f_
fn.attr=fn.attr+1
l=[x,y]; x=l[0]+l[-1]
l=[]; l.append(x); l.extend([y]); x=l.pop()+l[0]
l=list(L); l.sort(); x=x*l[0]
l=[3,1]; l.extend(L); x=x*l[-1]
l=[2.0]; l+=L; x=x*l[1]
d={}; d['a']=x; d.update(b=y); x=d['a']+d['b']
d=dict(D); x=x*len(d)
d=dict(OD); d['a']=3; x=x*d['a']
a,b_=x,y; x=a-b_
a,*r=L; x=x*len(r)
(p,q),z=TU[1],2; x=x*p
q=Pair(x,y); x=q.a+q.b
q=DC(k=f_); x=q.scale(x)
q=SL(); q.k=f_; x=x*q.k
q=Der(); q._p=f_; x=x*q.p
q=lambda z: z*f_; x=q(x)
def q(z,k=f_): return z*k\nx=q(x)
q=functools.partial(fn,z=2.0); x=q(x)
x=x if b else y
x=(x*2).requires_grad_(False) if not x.requires_grad else x
s=0\nfor q in gen(x): s=s+q\nx=s
par.grad=None
((par*x).sum()*1).backward()
opt.zero_grad()
opt.step()
x=x+torch.autograd.grad((par*par).sum(),par)[0]
assert i>0
x=x+(lambda: EX)()
x,y=y,x
y=EX
x=EX
x=EX
x=EX
x=EX
x=EX
""".strip().split("\n")

CHANGES = """
L[0]=4.0
L.append(5.0)
L.pop()
L=[2.0,2.0]
L.reverse()
D['a']=5.0
D['zz']=1.0
D['b'].append(4)
D['c']={'d':9.0}
D['c']['d']=7.0
del D['zz']
D={'a':1.0,'b':[1],'c':{'d':1.0}}
TU=(1.0,(2,4),'s')
TU=tuple([2.0,(2,3),'t'])
S.add(3)
S.discard(1)
FS=frozenset([3])
DQ[0]=4.0
DQ.append(3.0)
OD.move_to_end('a')
OD['a']=3.0
DD['k'].append(1)
P=Pair(4.0,5)
P=P._replace(a=9.0)
dc.k=3.0
dc.n=2
DC.k=4.0
dc=DC(7.0)
DC.scale=lambda s,x: x*100
DC.__eq__=lambda s,o: False
fz=FZ(5.0)
object.__setattr__(fz,'k',6.0)
sl.k=4.0
sl.t=torch.ones(2)
sl.t=None
sl.k=torch.ones(2)
o._p=4.0
o.c=5.0
Base.c=6.0
Der.c=7.0
o.__class__=Der2
o.m=lambda x: x*13
Base.m=lambda s,x: x*17
Base.p=property(lambda s: 21.0)
Der.__getattribute__=lambda s,n: object.__getattribute__(s,n)
vals['q']=3.0
vals['zz']=3.0
vals={'q':8.0}
GA.__getattr__=lambda s,n: 5
ga.q=11.0
en=E.B
ie=IE.A
ix.i=0
ix.i=2
ix=IX(1)
IX.__index__=lambda s: 2
IX.__len__=lambda s: 5
IX.__contains__=lambda s,o: False
IX.__iter__=lambda s: iter([4])
IX.__getitem__=lambda s,k: 9
IX.__call__=lambda s,x: x*19
IX.__float__=lambda s: 2.5
IX.__eq__=lambda s,o: False
IX.__hash__=lambda s: 5
st='abc'
st='zz'
by=b'abc'
i=4
i=2
i=True
i=3.0
i=5
f_=2.5
f_=0.5
f_=-0.0
f_=1
f_=float('inf')
b=False
b=1
N=w
N=0
big=2**71
cx=2+1j
sli=slice(0,2)
w.add_(1)
w=torch.tensor([5.0,6.0])
w.requires_grad_(not w.requires_grad)
w.data=torch.tensor([7.0,8.0])
w.data=torch.tensor([[7.0,8.0],[1.0,2.0]])[0]
w=par.detach()
wv=w[1:]
wv.mul_(2)
par.data.add_(1)
par.requires_grad_(not par.requires_grad)
par.grad=torch.ones(2)
par.grad=None
par=nn.Parameter(torch.tensor([1.0,1.0]))
buf=torch.ones(2)
buf=w
ten['x']=torch.zeros(2)
TL.append(torch.ones(2))
TL[0]=w
TL[0].add_(1)
TL.pop()
lin.weight.data.mul_(2)
lin.bias=None
lin.weight=nn.Parameter(torch.ones(2,2))
lin.register_forward_hook(lambda m,a,r: r*2)
lin.forward=lambda x: x*23
lin.requires_grad_(False)
ml[0]=nn.Tanh()
ml.append(nn.ReLU())
drop.eval()
drop.p=0.0
arr[0]=9.0
npf=np.float32(3.0)
npi=np.int64(0)
mod.k=3.0
mod.f=lambda x: x*29
del mod.k; mod.__getattr__=lambda n: 6.0
fn.__defaults__=(5.0,)
fn.__kwdefaults__={'z':9.0}
fn.__kwdefaults__['z']=4.0
fn.__code__=fn2.__code__
fn.attr=7.0
fdef.__defaults__[0][0]=8.0
pt=functools.partial(fn,k=9.0)
pt.keywords['k']=6.0
ag=operator.attrgetter('n')
ig=operator.itemgetter('b')
setk(5.0)
setk(1)
clst[0]=4.0
cached.cache_clear()
cached(2)
cn.k=4.0
cn.n=5
cn.h=None
Cnt.forward=lambda s,x: x*31
g_tensor_attr.foo=9.0
opt.param_groups[0]['lr']=0.5
opt.param_groups[0]['momentum']=0.0
opt.state.clear()
mult=3.0
swallow=True
CM.__enter__=lambda s: 4.0
torch.manual_seed(3)
KT[A]=7
KT={w:2,A:3}
L2=L
L2=[1.0,2.0,3]
f2=f_
arr0[...]=1
arr0[...]=2
lazy.k=5.0
Lazy.prop=property(lambda s: 8.0)
Lazy.k=1.0; del lazy.k
mod.__class__=Lazy
pt.own=9.0
pt.__setstate__((fn,(),{'k':5.0},{'own':3.0}))
cv.set(4.0)
fn.__name__='gg'
Der.__name__='Derived'
o.zz=4
sl.__class__=SL
o.__dict__={'_p':6.0}
o.__dict__.update(zz=5)
w=w[:]
w=torch.tensor([[1.0,2.0]]).t().reshape(2)
A=w
A=w[:]
ten={'x':w}
TL=[w,w]
par.grad=par.data
par.grad=w
w.grad=torch.ones(2)
del par.grad; par.grad=torch.zeros(4)[::2]
TL.insert(0,A)
par.register_hook(lambda g: g*3)
par.register_hook(seen.append)
IX.__float__.__code__=(lambda s: 7.5).__code__
eval_none.__code__=(lambda x: 4.0).__code__
pass
""".strip().split("\n")
