"""`tandem.nn`: modules, their parameters, and the functions and initial values behind them.

`module.py` is the base class; layers are grouped by kind; `functional.py` holds the functions they call.
"""

from tandem import _missing as _missing  # noqa: E402
from tandem.nn import functional as functional
from tandem.nn import grad as grad
from tandem.nn import init as init
from tandem.nn import parallel as parallel
from tandem.nn import utils as utils
from tandem.nn.activation import *  # noqa: F403
from tandem.nn.adaptive import *  # noqa: F403
from tandem.nn.attention_layer import *  # noqa: F403
from tandem.nn.container import *  # noqa: F403
from tandem.nn.conv import *  # noqa: F403
from tandem.nn.distance import *  # noqa: F403
from tandem.nn.dropout import *  # noqa: F403
from tandem.nn.layout import *  # noqa: F403
from tandem.nn.lazy import *  # noqa: F403
from tandem.nn.linear import *  # noqa: F403
from tandem.nn.loss import *  # noqa: F403
from tandem.nn.margin_loss import *  # noqa: F403
from tandem.nn.module import Module as Module
from tandem.nn.normalization import *  # noqa: F403
from tandem.nn.padding import *  # noqa: F403
from tandem.nn.parallel import DataParallel as DataParallel
from tandem.nn.parameter import Buffer as Buffer
from tandem.nn.parameter import Parameter as Parameter
from tandem.nn.parameter import UninitializedBuffer as UninitializedBuffer
from tandem.nn.parameter import UninitializedParameter as UninitializedParameter
from tandem.nn.piecewise import *  # noqa: F403
from tandem.nn.pooling import *  # noqa: F403
from tandem.nn.rnn import *  # noqa: F403
from tandem.nn.rnn_cells import *  # noqa: F403
from tandem.nn.softmax import *  # noqa: F403
from tandem.nn.sparse import *  # noqa: F403
from tandem.nn.transformer import *  # noqa: F403

functional.grad = grad  # type: ignore[attr-defined]  # which is made of functions of it
_missing.explain_missing_names()
