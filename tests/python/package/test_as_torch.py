"""Tandem under the name torch: `tandem.install_as_torch()` and `python -m tandem`."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tandem

PACKAGE = str(Path(tandem.__file__).parents[1])


def run(*arguments: str, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": PACKAGE}
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


def run_installed(text: str, cwd: Path) -> str:
    """What a program prints that says `import torch` after install_as_torch()."""
    return run("-c", "import tandem\ntandem.install_as_torch()\n" + textwrap.dedent(text), cwd=cwd).stdout


def test_every_import_form_gives_the_modules_of_tandem(tmp_path):
    run_installed(
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        import torch.optim.lr_scheduler
        from torch import Tensor, nn as also, optim
        from torch.autograd import Variable
        from torch.nn.modules.activation import MultiheadAttention, ReLU, Softmax
        from torch.nn.modules.conv import Conv2d
        from torch.nn.modules.loss import TripletMarginLoss, _Loss
        from torch.nn.modules.rnn import GRUCell
        from torch.nn.parameter import Parameter
        from torch.utils.data import DataLoader, TensorDataset

        assert torch.Tensor is Tensor is tandem.Tensor and torch.ones is tandem.ones
        assert torch.nn is nn is also is tandem.nn and F is tandem.nn.functional
        assert Conv2d is nn.Conv2d is tandem.nn.Conv2d and Parameter is nn.Parameter
        assert (MultiheadAttention, ReLU, Softmax) == (nn.MultiheadAttention, nn.ReLU, nn.Softmax)
        assert issubclass(TripletMarginLoss, _Loss) and GRUCell is nn.GRUCell
        assert DataLoader is tandem.utils.data.DataLoader
        assert torch.save is tandem.save and torch.optim.lr_scheduler.StepLR is tandem.optim.lr_scheduler.StepLR
        assert Variable(torch.ones(2), requires_grad=True).requires_grad
        tandem.install_as_torch()  # the second time does nothing
        assert torch is __import__("torch")
        """,
        tmp_path,
    )


def test_the_version_can_be_read_as_scripts_do(tmp_path):
    run_installed(
        """
        import torch
        major, minor = map(int, torch.__version__.split(".")[:2])
        assert (major, minor) >= (2, 0)
        assert tandem.__version__ in torch.__version__
        assert torch.version.cuda is None and str(torch.version.__version__) == torch.__version__
        """,
        tmp_path,
    )


def test_what_is_shown_says_torch(tmp_path):
    out = run_installed(
        """
        import torch
        x = torch.ones(2)
        print(x.type(), x.bool().type(), x.dtype, x.shape, x.layout, torch.channels_last, sep="|")
        print(repr(x.max(0)).split("(")[0], torch.finfo(x.dtype).dtype, torch.zeros(1, dtype=torch.int16))
        assert x.type("torch.DoubleTensor").dtype is torch.float64
        """,
        tmp_path,
    )
    assert out.splitlines() == [
        "torch.FloatTensor|torch.BoolTensor|torch.float32|torch.Size([2])|torch.strided|torch.channels_last",
        "torch.return_types.max float32 tensor([0], dtype=torch.int16)",
    ]
    assert tandem.ones(1).type() == "tandem.FloatTensor" and str(tandem.ones(1).dtype) == "tandem.float32"


@pytest.mark.parametrize(
    ("statement", "error", "words"),
    [
        ("torch.flor", "AttributeError", "module 'torch' has no attribute 'flor'"),
        ("torch.nn.Lineaar", "AttributeError", "module 'torch.nn' has no attribute 'Lineaar'"),
        ("torch.sparse_coo_tensor", "AttributeError", "has no attribute 'sparse_coo_tensor'. Use dense tensors"),
        ("from torch import flor", "ImportError", "'flor' from 'torch'. Did you mean 'floor'?"),
        ("from torch.nn import Lineaar", "ImportError", "'Lineaar' from 'torch.nn'. Did you mean 'Linear'?"),
        (
            "from torch.nn.functional import rel",
            "ImportError",
            "'rel' from 'torch.nn.functional'. Did you mean 'relu'?",
        ),
        ("import torch.flor", "ModuleNotFoundError", "No module named 'torch.flor'"),
        ("import torch.distributed.flor", "ModuleNotFoundError", "'torch.distributed.flor'. Use the collective"),
        ("import torch.ones", "ModuleNotFoundError", "No module named 'torch.ones': it is not a module"),
        ("import torch.nn.qat", "ModuleNotFoundError", "'torch.nn.qat'. Use modules in float16"),
    ],
)
def test_an_absent_name_says_which_it_is(statement, error, words, tmp_path):
    out = run_installed(
        f"""
        import torch
        try:
            {statement}
        except Exception as e:
            print(type(e).__name__, e, sep="|")
        """,
        tmp_path,
    )
    kind, text = out.strip().split("|")
    assert kind == error and words in text, out


def test_without_installation_absent_names_are_tandems():
    with pytest.raises(AttributeError, match="module 'tandem' has no attribute 'flor'"):
        tandem.flor  # noqa: B018
    with pytest.raises(ImportError, match=r"cannot import name 'Lineaar' from 'tandem.nn'. Did you mean 'Linear'\?"):
        from tandem.nn import Lineaar  # noqa: F401
    assert not hasattr(tandem.nn, "Lineaar")


def test_another_torch_that_is_already_imported_is_an_error(tmp_path):
    (tmp_path / "torch.py").write_text("x = 1\n")
    done = run("-c", "import torch, tandem\ntandem.install_as_torch()", cwd=tmp_path, code=1)
    assert "install_as_torch(): another torch is already imported, from" in done.stderr
    # One that is only installed is hidden.
    run("-c", "import tandem\ntandem.install_as_torch()\nimport torch\ntorch.ones(2)", cwd=tmp_path)


SCRIPT = """
import os, sys
import helper
import torch
assert __name__ == "__main__" and sys.modules["__main__"].torch is torch
assert __file__ == os.path.abspath(sys.argv[0])
print(sys.argv[1:], os.path.basename(sys.path[0]), helper.value(torch.ones(3)))

def inner():
    raise ValueError("from the script")

if "fail" in sys.argv:
    inner()
if "exit" in sys.argv:
    sys.exit(5)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "helper.py").write_text("def value(t):\n    return t.sum().item()\n")
    (folder / "main.py").write_text(SCRIPT)
    return folder / "main.py"


def test_a_script_runs_as_python_would_run_it(script, tmp_path):
    assert run("-m", "tandem", "programs/main.py", "-a", "b", cwd=tmp_path).stdout == "['-a', 'b'] programs 3.0\n"
    assert run("-m", "tandem", str(script), "exit", cwd=tmp_path, code=5).stdout == "['exit'] programs 3.0\n"
    run("-m", "tandem", "-m", "main", "x", cwd=script.parent)


def test_a_traceback_begins_in_the_script(script, tmp_path):
    error = run("-m", "tandem", str(script), "fail", cwd=tmp_path, code=1).stderr
    plain = [line for line in error.splitlines() if not line.strip().startswith(("^", "~"))]
    assert plain[0] == "Traceback (most recent call last):"
    assert plain[1] == f'  File "{script}", line 13, in <module>'
    assert plain[3] == f'  File "{script}", line 10, in inner'
    assert plain[-1] == "ValueError: from the script"
    (tmp_path / "bad.py").write_text("x = (\n")
    error = run("-m", "tandem", "bad.py", cwd=tmp_path, code=1).stderr
    assert error.startswith(f'  File "{tmp_path / "bad.py"}", line 1') and "SyntaxError" in error


def test_the_command_line_explains_itself(tmp_path):
    assert "usage: python -m tandem script.py" in run("-m", "tandem", "--help", cwd=tmp_path).stdout
    assert "usage:" in run("-m", "tandem", cwd=tmp_path, code=2).stderr
    assert run("-m", "tandem", "--version", cwd=tmp_path).stdout == f"tandem {tandem.__version__}\n"
    assert "can't open file" in run("-m", "tandem", "absent.py", cwd=tmp_path, code=1).stderr


def test_modules_made_of_the_names_of_others_are_attributes():
    assert tandem.nn.modules.conv.Conv2d is tandem.nn.modules.Conv2d is tandem.nn.Conv2d
    assert tandem.nn.modules.utils._pair(1) == (1, 1)
    assert tandem.distributions.cauchy.Cauchy is tandem.distributions.Cauchy
    with pytest.raises(AttributeError, match="module 'tandem.nn.modules.conv' has no attribute 'Conv5d'"):
        _ = tandem.nn.modules.conv.Conv5d


def test_modules_made_of_the_names_of_others_are_one_object_under_both_names():
    program = """if True:
        import sys
        import tandem
        first = tandem.nn.modules.conv
        tandem.install_as_torch()
        import torch.nn.modules.conv
        assert torch.nn.modules.conv is first is sys.modules["torch.nn.modules.conv"]
    """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_class_of_tensors_is_torchs(tmp_path):
    """As projects ask that choose functions by the package of what they are given; pickles do not name it."""
    run_installed(
        f"""
        import pickle, torch
        assert type(torch.ones(1)).__module__ == torch.Tensor.__module__ == "torch"
        assert torch.nn.Parameter.__module__ == "torch.nn.parameter" and repr(torch.Tensor) == "<class 'torch.Tensor'>"
        assert torch.nn.modules.module._EXTRA_STATE_KEY_SUFFIX == "_extra_state"
        pickle.dump([torch.ones(1), torch.nn.Parameter(torch.ones(2))], open({str(tmp_path / "pickle")!r}, "wb"))
        """,
        tmp_path,
    )
    code = f"import pickle; print(pickle.load(open({str(tmp_path / 'pickle')!r}, 'rb')))"
    assert "Parameter containing" in run("-c", code, cwd=tmp_path).stdout
