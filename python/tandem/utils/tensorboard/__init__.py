"""`tandem.utils.tensorboard`: PyTorch's name for the writer of the package tensorboardX, which has to be installed."""

try:
    from tensorboardX import FileWriter, RecordWriter, SummaryWriter
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "tandem.utils.tensorboard needs the package tensorboardX, which is not installed", name=error.name
    ) from error

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
