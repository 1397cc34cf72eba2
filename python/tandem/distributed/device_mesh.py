"""`DeviceMesh`: the ranks of a program in an array, with a group for each of its lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import tandem
from tandem._C import Tensor
from tandem.distributed._subgroups import new_subgroups_by_enumeration
from tandem.distributed._world import (
    default_group,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_initialized,
)

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Ranks in an array, each with one device. All processes make it together.

    Along each dim the ranks of a line are a group: in a mesh of two dims rank [i, j] is in a group with column j, and
    in one with row i. A line of all ranks in order is the group of all processes itself.

    Args:
        device_type: where the tensors are, 'cpu' or 'cuda'.
        mesh: the ranks, among all processes, as a tensor, an array or lists.
        mesh_dim_names: a name for each dim.

    RuntimeError for names or ranks that do not fit. `init_process_group()` is called where that was not done before.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.DeviceMesh("cpu", [[0]], mesh_dim_names=("replicas", "shards"))
    >>> mesh, mesh["shards"].shape, mesh.get_group("shards").size()
    (DeviceMesh((replicas=1, shards=1), 'cpu'), (1,), 1)
    >>> dist.destroy_process_group()
    """

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: Sequence[str] | None = None) -> None:
        ranks = tandem.as_tensor(mesh, dtype=tandem.int32, device="cpu").detach()
        names = _check_names(ranks.shape, mesh_dim_names)
        if not is_initialized():
            init_process_group()
        count, world = ranks.numel(), get_world_size()
        if count > world:
            raise RuntimeError(f"Mesh should not be bigger than default world size {world}, but found {count} ranks!")
        if len({*ranks.flatten().tolist()}) < count:
            raise RuntimeError("DeviceMesh cannot have duplicate values in its mesh tensor.")
        self._set(_check_device(device_type), ranks, names, [_line_group(ranks, dim) for dim in range(ranks.dim())])

    def _set(self, device_type: str, ranks: Tensor, names: tuple[str, ...] | None, groups: list[Any]) -> None:
        self._device_type = device_type
        self._ranks = ranks
        self._names = names
        self._groups = groups
        here = (ranks == get_rank()).nonzero().tolist()
        self._coordinate: tuple[int, ...] | None = tuple(int(k) for k in here[0]) if here else None

    @classmethod
    def _of(cls, device_type: str, ranks: Tensor, names: tuple[str, ...] | None, groups: list[Any]) -> DeviceMesh:
        """A mesh of groups that are there."""
        made = cls.__new__(cls)
        made._set(device_type, ranks, names, groups)
        return made

    @classmethod
    def from_group(cls, group: Any, device_type: str, *, mesh_dim_names: Sequence[str] | None = None) -> DeviceMesh:
        """The mesh of one dim whose line is a group that is there."""
        ranks = tandem.tensor(get_process_group_ranks(group), dtype=tandem.int32, device="cpu")
        return cls._of(_check_device(device_type), ranks, _check_names(ranks.shape, mesh_dim_names), [group])

    @property
    def device_type(self) -> str:
        """Where the tensors are."""
        return self._device_type

    @property
    def mesh(self) -> Tensor:
        """The ranks, int32."""
        return self._ranks

    @property
    def mesh_dim_names(self) -> tuple[str, ...] | None:
        """The names of the dims, if they have some."""
        return self._names

    @property
    def ndim(self) -> int:
        """How many dims it has."""
        return self._ranks.dim()

    @property
    def shape(self) -> tuple[int, ...]:
        """How many ranks there are along each dim."""
        return tuple(self._ranks.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks there are, or along one dim."""
        return self._ranks.numel() if mesh_dim is None else self._ranks.shape[mesh_dim]

    def get_rank(self) -> int:
        """The rank of this process among all."""
        return get_rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Where this process is in the mesh; None where it is not in it."""
        return self._coordinate

    def _dim(self, mesh_dim: int | str | None) -> int:
        if mesh_dim is None:
            if self.ndim != 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions: mesh_dim needs to be specified when there is "
                    "more than one"
                )
            return 0
        if isinstance(mesh_dim, int):
            return mesh_dim
        if self._names is None or mesh_dim not in self._names:
            raise KeyError(f"Mesh dimension '{mesh_dim}' does not exist. Available mesh dimensions are: {self._names}")
        return self._names.index(mesh_dim)

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The place of this process along a dim, which may be left out where there is one."""
        dim = self._dim(mesh_dim)
        if self._coordinate is None:
            raise RuntimeError(f"rank {get_rank()} is not in {self}")
        return self._coordinate[dim]

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """The group of the line along a dim that this process is in; the dim may be left out where there is one."""
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list[Any]:
        """The groups of this process along all dims."""
        return list(self._groups)

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The part of the mesh along these dims that this process is in."""
        if self._names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        asked = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if any(name not in self._names for name in asked) or len({*asked}) < len(asked):
            raise KeyError(f"Invalid mesh_dim_names {asked} specified. Valid mesh_dim_names are {list(self._names)}.")
        dims = [self._names.index(name) for name in asked]
        at = self._coordinate or (0,) * self.ndim
        ranks = self._ranks[tuple(slice(None) if d in dims else at[d] for d in range(self.ndim))]
        order = [sorted(dims).index(d) for d in dims]
        return self._of(self._device_type, ranks.permute(order), asked, [self._groups[d] for d in dims])

    def __enter__(self) -> DeviceMesh:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def _key(self) -> tuple[Any, ...]:
        return self._device_type, self._names, self.shape, tuple(self._ranks.flatten().tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        dims = [f"{n}={k}" for n, k in zip(self._names, self.shape)] if self._names else [str(k) for k in self.shape]
        return f"DeviceMesh(({', '.join(dims)}{'' if self._names or len(dims) > 1 else ','}), '{self._device_type}')"


def _check_device(device_type: str) -> str:
    if not isinstance(device_type, str) or ":" in device_type:
        raise RuntimeError(f"a device type is 'cpu' or 'cuda', without an index; got {device_type}")
    return device_type


def _check_names(shape: Sequence[int], names: Sequence[str] | None) -> tuple[str, ...] | None:
    if names is None:
        return None
    if len({*names}) < len(names):
        raise RuntimeError(f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in {tuple(names)}")
    if len(names) != len(shape):
        raise RuntimeError(
            f"mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): {len(names)} and "
            f"len(mesh_shape):{len(shape)}."
        )
    return tuple(names)


def _line_group(ranks: Tensor, dim: int) -> Any:
    """The group of this process's line along a dim; all ranks make those of all lines."""
    lines = [[int(r) for r in line] for line in ranks.movedim(dim, -1).reshape(-1, ranks.shape[dim]).tolist()]
    if lines == [list(range(get_world_size()))]:
        return default_group()
    mine, _ = new_subgroups_by_enumeration(lines)
    return mine


def init_device_mesh(
    device_type: str, mesh_shape: Sequence[int], *, mesh_dim_names: Sequence[str] | None = None
) -> DeviceMesh:
    """The `DeviceMesh` of the first ranks, row by row; arguments and errors as there.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,), mesh_dim_names=("replicas",))
    >>> model = tandem.nn.parallel.DistributedDataParallel(tandem.nn.Linear(2, 1), device_mesh=mesh)
    >>> mesh.size(), mesh.get_local_rank()
    (1, 0)
    >>> dist.destroy_process_group()
    """
    ranks = tandem.arange(math.prod(mesh_shape), dtype=tandem.int32, device="cpu")
    return DeviceMesh(device_type, ranks.reshape(tuple(mesh_shape)), mesh_dim_names=mesh_dim_names)
