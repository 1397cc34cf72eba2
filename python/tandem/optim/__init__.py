"""`tandem.optim`: optimizers and learning rate schedules."""

from tandem.optim import lr_scheduler, swa_utils
from tandem.optim.adadelta import Adadelta
from tandem.optim.adafactor import Adafactor
from tandem.optim.adagrad import Adagrad
from tandem.optim.adam import Adam
from tandem.optim.adamax import Adamax
from tandem.optim.adamw import AdamW
from tandem.optim.asgd import ASGD
from tandem.optim.lbfgs import LBFGS
from tandem.optim.muon import Muon
from tandem.optim.nadam import NAdam
from tandem.optim.optimizer import Optimizer
from tandem.optim.radam import RAdam
from tandem.optim.rmsprop import RMSprop
from tandem.optim.rprop import Rprop
from tandem.optim.sgd import SGD

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
    "swa_utils",
]

from tandem import _missing as _missing  # noqa: E402
from tandem._stand_in import lacking_class as _lacking_class  # noqa: E402

# No gradient is sparse; the class itself is for programs that choose between optimizers.
SparseAdam = _lacking_class("optim.SparseAdam", Optimizer)

_missing.explain_missing_names()
