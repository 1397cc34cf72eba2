"""Random arrays of fixed seeds, as NumPy arrays and as tensors, and their comparison."""

import numpy as np

import tandem


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def tensor(values, grad=False):
    return tandem.tensor(np.asarray(values).tolist(), dtype=tandem.float64).requires_grad_(grad)


def close(actual, expected, tol=1e-9):
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=tol, atol=tol)
