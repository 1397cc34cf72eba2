import pytest
import stand_ins


@pytest.fixture(scope="session")
def gpu():
    return stand_ins.Gpu()


@pytest.fixture(autouse=True)
def first_device(request):
    if "gpu" in request.fixturenames:
        request.getfixturevalue("gpu").use()
