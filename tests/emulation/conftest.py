import sys

import pytest
import stand_ins


@pytest.fixture(scope="session")
def gpu():
    return stand_ins.Gpu()


@pytest.fixture(autouse=True)
def one_seed():
    """Every test starts from one seed, where the package is in use."""
    if "tandem" in sys.modules:
        sys.modules["tandem"].manual_seed(0)


@pytest.fixture(autouse=True)
def first_device(request):
    if "gpu" in request.fixturenames:
        request.getfixturevalue("gpu").use()
