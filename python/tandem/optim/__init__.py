"""`tandem.optim`: optimizers and learning rate schedules."""

from tandem.optim import lr_scheduler
from tandem.optim.adagrad import Adadelta, Adagrad
from tandem.optim.adam import Adam
from tandem.optim.adam_variants import Adamax, NAdam, RAdam
from tandem.optim.adamw import AdamW
from tandem.optim.optimizer import Optimizer
from tandem.optim.rmsprop import RMSprop
from tandem.optim.sgd import SGD

__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "lr_scheduler",
]
