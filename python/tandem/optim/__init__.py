"""`tandem.optim`: optimizers and learning rate schedules."""

from tandem.optim.adam import Adam
from tandem.optim.adamw import AdamW
from tandem.optim.optimizer import Optimizer
from tandem.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
