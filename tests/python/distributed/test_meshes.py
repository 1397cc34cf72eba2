"""Subgroups, device meshes, operations with derivatives, queues of stores, and what else programs ask about groups."""

from __future__ import annotations

import threading

import pytest
from processes import run

from tandem import distributed as dist

pytestmark = pytest.mark.cpu


def test_subgroups_and_places():
    run(
        """
        mine, every = dist.new_subgroups(2)
        assert dist.get_process_group_ranks(mine) == [rank // 2 * 2, rank // 2 * 2 + 1] and len(every) == 2
        assert every[rank // 2] is mine and every[1 - rank // 2] == dist.GroupMember.NON_GROUP_MEMBER
        x = tandem.tensor([rank])
        dist.all_reduce(x, group=mine)
        assert x.tolist() == [[1], [5]][rank // 2]
        mine, every = dist.new_subgroups_by_enumeration([[0, 3], [1]])
        assert len(every) == 2
        assert mine is None if rank == 2 else dist.get_process_group_ranks(mine) == ([1] if rank == 1 else [0, 3])
        raises(ValueError, "must be divisible by 'group_size=3'", dist.new_subgroups, 3)
        raises(ValueError, "(5) must not exceed the world size (4)", dist.new_subgroups, 5)
        raises(ValueError, "(0) must be positive", dist.new_subgroups, 0)
        raises(ValueError, "cannot be empty", dist.new_subgroups_by_enumeration, [])
        raises(ValueError, "Rank 1 has appeared in both", dist.new_subgroups_by_enumeration, [[0, 1], [1, 2]])
        assert dist.get_backend_config() == "cpu:gloo,cuda:gloo" and dist.get_pg_count() >= 2
        os.environ["LOCAL_RANK"] = "7"
        assert dist.get_node_local_rank() == 7 and dist.get_node_local_rank(1) == 7
        del os.environ["LOCAL_RANK"]
        assert dist.get_node_local_rank("5") == 5
        raises(RuntimeError, "LOCAL_RANK is not in the environment", dist.get_node_local_rank)
        tandem.install_as_torch()
        from torch.distributed import distributed_c10d as c10d
        from torch.distributed.distributed_c10d import ProcessGroup, _get_default_group, _rank_not_in_group
        import torch.distributed.rendezvous
        assert callable(torch.distributed.rendezvous) and c10d.ProcessGroup is dist.ProcessGroup
        assert _get_default_group() is dist.group.WORLD and c10d._get_default_store() is not None
        assert _rank_not_in_group(dist.GroupMember.NON_GROUP_MEMBER) and not _rank_not_in_group(None)
        assert dist.Backend.default_device_backend_map == {"cpu": "gloo", "cuda": "nccl"}
        assert dist.Backend.backend_capability["gloo"] == ["cpu", "cuda"] and "gloo" in dist.Backend.backend_list
        assert str(dist.ReduceOp.SUM) == "RedOpType.SUM" and dist.reduce_op.MAX is dist.ReduceOp.MAX
        assert dist._all_gather_base is dist.all_gather_into_tensor
        dist.destroy_process_group()
        """,
        world=4,
    )


def test_device_meshes():
    run(
        """
        from tandem.distributed.device_mesh import DeviceMesh, init_device_mesh
        ranks_of = dist.get_process_group_ranks
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("rows", "columns"))
        i, j = divmod(rank, 2)
        assert mesh.mesh.tolist() == [[0, 1], [2, 3]] and mesh.mesh.dtype == tandem.int32
        assert (mesh.ndim, mesh.shape, mesh.size(), mesh.size(1), mesh.device_type) == (2, (2, 2), 4, 2, "cpu")
        assert (mesh.get_rank(), mesh.get_coordinate(), mesh.mesh_dim_names) == (rank, (i, j), ("rows", "columns"))
        assert ranks_of(mesh.get_group("rows")) == [j, j + 2] and ranks_of(mesh.get_group(1)) == [2 * i, 2 * i + 1]
        assert mesh.get_local_rank("rows") == i and mesh.get_local_rank(1) == j
        assert mesh.get_all_groups() == [mesh.get_group(0), mesh.get_group(1)]
        x = tandem.tensor([rank])
        dist.all_reduce(x, group=mesh.get_group("rows"))
        assert x.item() == 2 * j + 2
        row = mesh["columns"]
        assert row.mesh.tolist() == [2 * i, 2 * i + 1] and row.get_local_rank() == j and row.ndim == 1
        assert row.get_group() is mesh.get_group("columns")
        assert row == mesh["columns"] and hash(row) == hash(mesh["columns"])
        assert mesh["rows"] != row and mesh["rows", "columns"] == mesh
        turned = mesh["columns", "rows"]
        assert turned.mesh.tolist() == [[0, 2], [1, 3]] and turned.get_coordinate() == (j, i)
        assert repr(mesh) == "DeviceMesh((rows=2, columns=2), 'cpu')"
        with mesh as same:
            assert same is mesh
        line = init_device_mesh("cpu", (4,))
        assert line.get_group() is dist.group.WORLD and line.get_local_rank() == rank
        assert repr(line) == "DeviceMesh((4,), 'cpu')"
        some = DeviceMesh("cpu", [3, 1])
        assert some.get_coordinate() == {3: (0,), 1: (1,)}.get(rank) and some.size() == 2
        if rank in (1, 3):
            assert ranks_of(some.get_group()) == [1, 3]
        else:
            raises(RuntimeError, "is not in DeviceMesh", some.get_local_rank)
        of = DeviceMesh.from_group(mesh.get_group(0), "cpu", mesh_dim_names=("rows",))
        assert of.mesh.tolist() == [j, j + 2] and of.get_group() is mesh.get_group(0)
        cube = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("a", "b", "c"))
        assert cube["c", "a"].mesh.tolist() == [[0, 2], [1, 3]] and cube["b"].mesh.tolist() == [rank]
        for names in (("a", "a"), ("a",)):
            raises(RuntimeError, "mesh_dim_name", init_device_mesh, "cpu", (2, 2), mesh_dim_names=names)
        words = "Mesh should not be bigger than default world size 4, but found 5 ranks"
        raises(RuntimeError, words, init_device_mesh, "cpu", (5,))
        raises(RuntimeError, "duplicate values", DeviceMesh, "cpu", [1, 1])
        raises(RuntimeError, "a device type is 'cpu' or 'cuda'", init_device_mesh, "cuda:0", (4,))
        raises(RuntimeError, "without mesh_dim_names", lambda: line["rows"])
        raises(KeyError, "Valid mesh_dim_names are ['rows', 'columns']", lambda: mesh["no"])
        raises(KeyError, "Mesh dimension 'no' does not exist", mesh.get_group, "no")
        raises(RuntimeError, "mesh_dim needs to be specified", mesh.get_group)
        # A wrapped model over a part of the ranks.
        DDP = nn.parallel.DistributedDataParallel
        tandem.manual_seed(0)
        model = DDP(nn.Linear(2, 1), device_mesh=mesh["rows"])
        model(tandem.full((1, 2), float(rank))).sum().backward()
        assert model.module.weight.grad.tolist() == [[j + 1.0, j + 1.0]]
        raises(RuntimeError, "Only 1D device mesh is supported", DDP, nn.Linear(2, 1), device_mesh=mesh)
        raises(RuntimeError, "both process_group and device_mesh", DDP, nn.Linear(2, 1), device_mesh=line,
               process_group=dist.group.WORLD)
        dist.destroy_process_group()
        """,
        world=4,
    )


def test_derivatives_of_operations():
    """Each rank's gradient is that of the sum of all ranks' losses; checked by the transposed products, twice."""
    run(
        """
        import tandem.distributed.nn as collective
        from tandem.distributed.nn import functional as f
        tandem.manual_seed(rank)
        n = world
        splits_in, splits_out = [r + 1 for r in range(n)], [rank + 1] * n
        zeros = lambda *shape: tandem.zeros(shape, dtype=tandem.float64)
        operations = {
            "all_reduce": (lambda x: f.all_reduce(x), (2, 3)),
            "all_gather": (lambda x: tandem.stack(f.all_gather(x)), (2, 3)),
            "broadcast": (lambda x: f.broadcast(x, 1), (2, 3)),
            "reduce": (lambda x: f.reduce(x, 1), (2, 3)),
            "gather": (lambda x: tandem.stack(f.gather(x, 1)), (2, 3)),
            "scatter": (lambda x: f.scatter(x.unbind(0), 1), (n, 3)),
            "reduce_scatter": (lambda x: f.reduce_scatter(zeros(3), x.unbind(0)), (n, 3)),
            "all_to_all": (lambda x: tandem.cat(f.all_to_all([zeros(rank + 1) for _ in range(n)], x.split(splits_in))),
                           (sum(splits_in),)),
            "all_to_all_single": (lambda x: f.all_to_all_single(zeros(sum(splits_out), 2), x, splits_out, splits_in),
                                  (sum(splits_in), 2)),
        }
        assert {*operations} == {*f.__all__} == {*collective.__all__}
        def total(*values):
            t = tandem.stack([v.detach().sum() for v in values])
            dist.all_reduce(t)
            return t.tolist()
        for name, (operation, shape) in operations.items():
            x = tandem.randn(shape, dtype=tandem.float64).requires_grad_()
            y = operation(x)
            w = tandem.randn(y.shape, dtype=tandem.float64).requires_grad_()
            (g,) = tandem.autograd.grad(y, x, w, create_graph=True)
            a, b = total(y * w, x * g)  # <A x, w> = <x, A^T w>
            assert abs(a - b) < 1e-12 * max(1, abs(a)), (name, a, b)
            v = tandem.randn(shape, dtype=tandem.float64)
            (back,) = tandem.autograd.grad(g, w, v)
            assert tandem.allclose(back, operation(v), rtol=1e-14), name  # (A^T)^T v
        x = tandem.ones(2) * rank
        out = tandem.zeros(2)
        assert f.reduce_scatter(out, [x, x, x]).tolist() == out.tolist() == [3, 3]
        assert f.reduce(x, 1).tolist() == ([3, 3] if rank == 1 else [0, 0])
        for call in (lambda op: f.all_reduce(x, op), lambda op: f.reduce(x, 0, op),
                     lambda op: f.reduce_scatter(out, [x, x, x], op)):
            raises(NotImplementedError, "has derivatives of ReduceOp.SUM, not of MAX", call, dist.ReduceOp.MAX)
        dist.destroy_process_group()
        """,
        world=3,
    )


@pytest.mark.parametrize("kind", ["memory", "file", "tcp", "prefix"])
def test_what_is_appended_and_queued_in_stores(kind, tmp_path):
    base: dist.Store
    if kind == "file":
        base = dist.FileStore(str(tmp_path / "store"))
    else:
        base = dist.HashStore() if kind == "memory" else dist.TCPStore("localhost", 0, is_master=True)
    store = dist.PrefixStore("part", base) if kind == "prefix" else base
    store.append("log", "a")
    store.append("log", b"\x00b")
    assert store.get("log") == b"a\x00b" and store.has_extended_api()
    store.multi_set(["m", "n"], ["1", "2"])
    assert store.multi_get(["n", "m"]) == [b"2", b"1"]
    assert kind != "prefix" or base.get("part/log") == b"a\x00b"
    for value in ("one", b"", "three"):
        store.queue_push("jobs", value)
    assert store.queue_len("jobs") == 3 and store.queue_len("none") == 0
    assert [store.queue_pop("jobs") for _ in range(3)] == [b"one", b"", b"three"] and store.queue_len("jobs") == 0
    with pytest.raises(dist.QueueEmptyError, match="the queue 'jobs' is empty"):
        store.queue_pop("jobs", block=False)
    with pytest.raises(ValueError, match="zip"):
        store.multi_set(["m"], ["1", "2"])


def test_each_value_of_a_queue_is_taken_once():
    master = dist.TCPStore("localhost", 0, is_master=True)
    taken: list[bytes] = []

    def take(store: dist.TCPStore) -> None:
        while (value := store.queue_pop("jobs")) != b"end":
            taken.append(value)

    threads = [threading.Thread(target=take, args=(master.clone(),)) for _ in range(4)]
    for t in threads:
        t.start()
    for k in range(100):
        master.queue_push("jobs", str(k))
    for _ in threads:
        master.queue_push("jobs", "end")
    for t in threads:
        t.join(20)
    assert sorted(map(int, taken)) == list(range(100)) and master.queue_len("jobs") == 0
