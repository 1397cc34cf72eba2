"""Dtypes for which no loop of their own is compiled: they have the results of the dtype whose loop they share."""

import pytest

import tandem

SHORT = [tandem.uint8, tandem.int8, tandem.int16]
SHAPES = [((9,), 0), ((2, 3), 1), ((70, 5), 1), ((70, 5), 0), ((3, 40, 66), 1), ((40, 1500), 1)]


def integers(shape, dtype):
    return tandem.randint(-(2**15), 2**15, shape, generator=tandem.Generator().manual_seed(3)).to(dtype)


def layouts(x):
    """The same elements, dense and every other of a wider tensor."""
    return [x, tandem.stack([x, x + 1], -1)[..., 0]]


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize("shape, dim", SHAPES)
def test_scans_of_short_integers(dtype, shape, dim):
    for x in layouts(integers(shape, dtype)):
        wide = x.long()
        for scan in (tandem.cumsum, tandem.cumprod):
            assert tandem.equal(scan(x, dim, dtype=dtype), scan(wide, dim).to(dtype))
        for scan in (tandem.cummax, tandem.cummin):
            values, places = scan(x, dim)
            expected = scan(wide, dim)
            assert values.dtype == dtype and tandem.equal(values.long(), expected.values)
            assert tandem.equal(places, expected.indices)


@pytest.mark.parametrize("name", "float32 float64 float16 bfloat16 int32 int64 bool".split())
@pytest.mark.parametrize("shape, dim", SHAPES)
def test_the_least_is_the_greatest_of_turned_elements(name, shape, dim):
    draw = tandem.Generator().manual_seed(4)
    x = tandem.randint(-3, 4, shape, generator=draw)
    x = x > 0 if name == "bool" else x.to(getattr(tandem, name))
    if x.is_floating_point():
        x = tandem.where(tandem.rand(shape, generator=draw) < 0.05, float("nan"), x)
        x = tandem.where(tandem.rand(shape, generator=draw) < 0.3, -0.0 * x, x)
        expected = tandem.cummax(-x, dim)
        values, places = tandem.cummin(x, dim)
        assert tandem.equal(places, expected.indices)
        assert tandem.equal(values.isnan(), expected.values.isnan())
        # Also a zero's sign is that of the last of equal elements.
        assert tandem.equal(values.signbit() | values.isnan(), ~expected.values.signbit() | values.isnan())
        assert tandem.equal(values.nan_to_num(9.0), -expected.values.nan_to_num(-9.0))
    else:
        expected = tandem.cummax(-x.long(), dim)
        values, places = tandem.cummin(x, dim)
        assert tandem.equal(places, expected.indices) and tandem.equal(values.long(), -expected.values)


@pytest.mark.parametrize("dtype", [*SHORT, tandem.bool])
@pytest.mark.parametrize("shape, dim", SHAPES)
def test_places_of_extremes(dtype, shape, dim):
    for x in layouts(integers(shape, tandem.int16)):
        x = (x % 2 == 0) if dtype == tandem.bool else x.to(dtype)
        wide = x.long()
        assert tandem.argmax(x) == tandem.argmax(wide) and tandem.argmin(x) == tandem.argmin(wide)
        for place, extreme in ((tandem.argmax, tandem.max), (tandem.argmin, tandem.min)):
            assert tandem.equal(place(x, dim), place(wide, dim))
            values, places = extreme(x, dim)
            expected = extreme(wide, dim)
            assert values.dtype == dtype and tandem.equal(values.long(), expected.values)
            assert tandem.equal(places, expected.indices)


@pytest.mark.parametrize("dtype", SHORT)
def test_scatters_of_short_integers(dtype):
    x, source = integers((40, 50), dtype), integers((70, 50), dtype)
    index = integers((70, 50), tandem.int64).remainder(40)
    for into, of in zip(layouts(x), layouts(source), strict=True):
        wide, wideSource = into.long(), of.long()
        added = into.scatter_add(0, index, of)
        assert tandem.equal(added, wide.scatter_add(0, index, wideSource).to(dtype))
        for reduce in ("sum", "prod", "amin", "amax"):
            result = into.scatter_reduce(0, index, of, reduce)
            assert tandem.equal(result, wide.scatter_reduce(0, index, wideSource, reduce).to(dtype)), reduce
        rows = index[:, 0]
        assert tandem.equal(into.index_add(0, rows, of), wide.index_add(0, rows, wideSource).to(dtype))
        put = into.index_put((rows,), of, accumulate=True)
        assert tandem.equal(put, wide.index_put((rows,), wideSource, accumulate=True).to(dtype))


@pytest.mark.parametrize("name", "bool uint8 int8 int16 int32 float16 bfloat16 float32 float64".split())
def test_order_of_rows(name):
    x = tandem.randint(0, 3, (500, 4), generator=tandem.Generator().manual_seed(5)) - int(name != "uint8")
    x = x > 0 if name == "bool" else x.to(getattr(tandem, name))
    found = tandem.unique(x, dim=0, return_inverse=True, return_counts=True)
    expected = tandem.unique(x.long(), dim=0, return_inverse=True, return_counts=True)
    assert tandem.equal(found[0].long(), expected[0])
    assert all(tandem.equal(a, b) for a, b in zip(found[1:], expected[1:], strict=True))


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.bfloat16])
@pytest.mark.parametrize("shape, dim", SHAPES)
def test_long_steps_of_half_types(dtype, shape, dim):
    draw = tandem.Generator().manual_seed(6)
    for x in layouts(tandem.randn(shape, generator=draw).to(dtype)):
        assert tandem.equal(tandem.logcumsumexp(x, dim), tandem.logcumsumexp(x.float(), dim).to(dtype))
    # The gradient of a product of elements that are 1 is a sum of cotangents from the end, rounded once an element.
    x = tandem.ones(shape, dtype=dtype, requires_grad=True)
    g = tandem.randint(-3, 4, shape, generator=draw).to(dtype)
    tandem.cumprod(x, dim).backward(g)
    assert tandem.equal(x.grad, tandem.cumsum(g.flip(dim).float(), dim).flip(dim).to(dtype))
