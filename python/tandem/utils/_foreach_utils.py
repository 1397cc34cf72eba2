"""What PyTorch's `torch.utils._foreach_utils` has: what is fast on lists of tensors, and lists by dtype."""

from __future__ import annotations

from collections.abc import Sequence

import tandem
from tandem import Tensor

Indices = list[int]
TensorListList = list[list[Tensor | None]]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The kinds of devices for which PyTorch chooses operations on lists unasked."""
    return ["cuda"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The kinds of devices for which optimizers have a fused form."""
    return ["cuda", "cpu"]


def _device_has_foreach_support(device: tandem.device) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu") and not tandem.jit.is_scripting()


def _has_foreach_support(tensors: list[Tensor], device: tandem.device) -> bool:
    return _device_has_foreach_support(device) and all(t is None or type(t) is Tensor for t in tensors)


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[tuple[tandem.device, tandem.dtype], tuple[TensorListList, Indices]]:
    """The lists, of one length, in parts where the first list's tensors have one device and one dtype.

    Of each part the lists, and the positions of its elements where `with_indices`.
    """
    groups: dict[tuple[tandem.device, tandem.dtype], tuple[TensorListList, Indices]] = {}
    for i, elements in enumerate(zip(*tensorlistlist, strict=True)):
        first = elements[0]
        assert first is not None
        lists, indices = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for part, element in zip(lists, elements, strict=True):
            part.append(element)
        if with_indices:
            indices.append(i)
    return groups
