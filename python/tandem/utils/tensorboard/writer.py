"""What PyTorch's `torch.utils.tensorboard.writer` has."""

from tandem.utils.tensorboard import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
