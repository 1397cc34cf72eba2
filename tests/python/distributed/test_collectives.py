"""Collective operations in two to four processes: values, repeatable bits, and errors before anything is sent."""

from __future__ import annotations

import pytest
from processes import run

pytestmark = pytest.mark.cpu


def test_values_of_all_collectives():
    run(
        """
        x = tandem.arange(6.0).reshape(2, 3) + 10 * rank
        n = world
        every = [tandem.arange(6.0).reshape(2, 3) + 10 * r for r in range(n)]
        total = every[0] + every[1] + every[2]
        y = x.clone()
        assert dist.all_reduce(y) is None and y.tolist() == total.tolist()
        for op, expected in ((dist.ReduceOp.AVG, total / n), (dist.ReduceOp.MAX, every[-1]),
                             (dist.ReduceOp.MIN, every[0]), (dist.ReduceOp.PRODUCT, every[0] * every[1] * every[2])):
            y = x.clone()
            dist.all_reduce(y, op)
            assert y.tolist() == expected.tolist(), op
        bits = tandem.tensor([1 << rank, 7])
        for op, expected in ((dist.ReduceOp.BOR, [7, 7]), (dist.ReduceOp.BAND, [0, 7]), (dist.ReduceOp.BXOR, [7, 7])):
            y = bits.clone()
            dist.all_reduce(y, op)
            assert y.tolist() == expected, op
        for op, expected in ((dist.ReduceOp.SUM, [True, True, False]), (dist.ReduceOp.MIN, [False, True, False])):
            y = tandem.tensor([rank == 1, True, False])
            dist.all_reduce(y, op)
            assert y.tolist() == expected, op
        y = x.clone()
        dist.reduce(y, 1)
        assert y.tolist() == (total if rank == 1 else x).tolist()
        y = x.clone()
        dist.broadcast(y, 2)
        assert y.tolist() == every[2].tolist()
        outs = [tandem.zeros(2, 3) for _ in range(n)]
        dist.all_gather(outs, x)
        assert [o.tolist() for o in outs] == [e.tolist() for e in every]
        for shape in ((n, 2, 3), (n * 2, 3)):
            out = tandem.zeros(shape)
            dist.all_gather_into_tensor(out, x)
            assert out.flatten().tolist() == tandem.cat(every).flatten().tolist()
        outs = [tandem.zeros(2, 3) for _ in range(n)] if rank == 0 else None
        dist.gather(x, outs)
        assert rank != 0 or [o.tolist() for o in outs] == [e.tolist() for e in every]
        out = tandem.zeros(2, 3)
        dist.scatter(out, [e + 1 for e in every] if rank == 1 else None, src=1)
        assert out.tolist() == (every[rank] + 1).tolist()
        dist.reduce_scatter(out, [x + r for r in range(n)])
        assert out.tolist() == (total + n * rank).tolist()
        dist.reduce_scatter_tensor(out, tandem.stack([x + r for r in range(n)]), dist.ReduceOp.AVG)
        assert out.tolist() == ((total + n * rank) / n).tolist()
        # What goes from rank i to rank j is [i + 1, j] in shape.
        outs = [tandem.zeros(r + 1, rank) for r in range(n)]
        dist.all_to_all(outs, [tandem.full((rank + 1, r), float(10 * rank + r)) for r in range(n)])
        expected = [tandem.full((r + 1, rank), float(10 * r + rank)) for r in range(n)]
        assert [o.tolist() for o in outs] == [e.tolist() for e in expected]
        out = tandem.zeros(n)
        dist.all_to_all_single(out, tandem.arange(float(n)) + 10 * rank)
        assert out.tolist() == [10.0 * r + rank for r in range(n)]
        # Rank i sends j + 1 elements to rank j.
        out = tandem.zeros((rank + 1) * n)
        dist.all_to_all_single(out, tandem.full((6,), float(rank)), [rank + 1] * n, [1, 2, 3])
        assert out.tolist() == [float(r) for r in range(n) for _ in range(rank + 1)]
        dist.barrier()
        dist.monitored_barrier(timeout=seconds(20))
        for shape in ((), (0,), (3, 0)):
            y = tandem.ones(shape)
            dist.all_reduce(y)
            assert y.shape == tandem.Size(shape) and (y == n).all()
        dist.destroy_process_group()
        """,
        world=3,
    )


def test_objects():
    run(
        """
        found = [None] * world
        dist.all_gather_object(found, {"rank": rank, "text": "x" * 1000 * rank})
        assert [(f["rank"], len(f["text"])) for f in found] == [(r, 1000 * r) for r in range(world)]
        objects = ["a", {1: 2}] if rank == 1 else [None, None]
        dist.broadcast_object_list(objects, src=1)
        assert objects == ["a", {1: 2}]
        found = [None] * world if rank == 2 else None
        dist.gather_object(rank * 3, found, dst=2)
        assert rank != 2 or found == [0, 3, 6]
        out = [None]
        dist.scatter_object_list(out, [10, "eleven", (12,)] if rank == 0 else None, src=0)
        assert out == [[10, "eleven", (12,)][rank]]
        if rank == 0:
            dist.send_object_list(["to", 1], dst=1)
        if rank == 1:
            out = [None, None]
            assert dist.recv_object_list(out, src=0) == 0 and out == ["to", 1]
        raises(ValueError, "a place for each of 3 ranks", dist.all_gather_object, [None], 1)
        dist.destroy_process_group()
        """,
        world=3,
    )


def test_messages_between_ranks():
    run(
        """
        x = tandem.arange(4.0) + rank
        other = 1 - rank
        y = tandem.zeros(4)
        # Each has posted what it receives, so that both can send and wait.
        wanted = dist.irecv(y, other)
        dist.send(x, other)
        assert wanted.wait() and wanted.is_success() and wanted.source_rank() == other
        assert y.tolist() == (tandem.arange(4.0) + other).tolist()
        # Messages of a tag arrive in order, and tags in any.
        if rank == 0:
            works = [dist.isend(tandem.tensor([k]), 1, tag=k % 2) for k in range(6)]
            assert all(w.wait() for w in works)
        else:
            ones = [tandem.zeros(1, dtype=tandem.int64) for _ in range(3)]
            zeros = [tandem.zeros(1, dtype=tandem.int64) for _ in range(3)]
            odd = [dist.irecv(t, 0, tag=1) for t in ones]
            assert [dist.recv(t, tag=0) for t in zeros] == [0, 0, 0]  # of whoever sends
            assert all(w.wait() for w in reversed(odd))
            assert [t.item() for t in zeros] == [0, 2, 4] and [t.item() for t in ones] == [1, 3, 5]
        ops = [dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, y, other)]
        for w in dist.batch_isend_irecv(ops):
            w.wait()
        # What does not fit is an error at the receiver alone, and the group goes on.
        if rank == 0:
            dist.send(tandem.ones(3), 1)
        else:
            words = "recv: rank 0 sent float32 [3], this rank receives int64 [4]"
            raises(dist.DistBackendError, words, dist.recv, tandem.zeros(4, dtype=tandem.int64), 0)
        dist.barrier()
        raises(ValueError, "dst is this rank itself", dist.send, x, rank)
        raises(RuntimeError, "src is 5, and the group has the ranks [0, 1]", dist.recv, x, 5)
        raises(ValueError, "a tag is a number", dist.isend, x, other, tag=-1)
        dist.destroy_process_group()
        """
    )


def test_sums_are_in_the_order_of_ranks():
    """To the bit, whatever the size, the dtype and the operation: half types in float32, rounded once."""
    run(
        """
        tandem.manual_seed(1)
        for dtype in (tandem.float32, tandem.float64, tandem.float16, tandem.bfloat16):
            for count in (1, 7, 5000, 100_003):
                powers = [10.0 ** tandem.randint(-3, 4, (count,)) for _ in range(world)]
                every = [(tandem.randn(count) * p).to(dtype) for p in powers]
                wide = [e.float() if e.element_size() == 2 else e for e in every]
                expected = (((wide[0] + wide[1]) + wide[2]) + wide[3]).to(dtype)
                for _ in range(2):
                    y = every[rank].clone()
                    dist.all_reduce(y)
                    assert (y == expected).all(), (dtype, count)
                y = every[rank].clone()
                dist.reduce(y, 3)
                assert rank != 3 or (y == expected).all()
                y = tandem.zeros(count, dtype=dtype)
                dist.reduce_scatter(y, [every[rank]] * world)
                assert (y == expected).all()
                y = every[rank].clone()
                dist.all_reduce(y, dist.ReduceOp.AVG)
                assert (y == ((((wide[0] + wide[1]) + wide[2]) + wide[3]) / 4).to(dtype)).all()
        dist.destroy_process_group()
        """,
        world=4,
    )


def test_operations_go_on_beside_the_program():
    run(
        """
        tensors = [tandem.full((k + 1,), float(rank)) for k in range(20)]
        works = [dist.all_reduce(t, async_op=True) for t in tensors]
        dist.barrier()  # behind the others in the queue
        assert all(w.is_completed() for w in works)
        assert all(w.wait() and w.is_success() and w.exception() is None for w in works)
        assert all((t == 1).all() for t in tensors)
        late = dist.barrier(async_op=True) if rank == 0 else None
        if rank == 0:
            raises(dist.DistBackendError, "barrier: not done within 0.2 s", late.wait, seconds(0.2))
        else:
            time.sleep(0.5)
            dist.barrier()
        assert late is None or late.wait()
        dist.destroy_process_group()
        """
    )


def test_autograd_and_recordings_see_what_was_written():
    run(
        """
        x = tandem.ones(3, requires_grad=True)
        y = x * 2
        z = y * y
        dist.all_reduce(y)
        raises(RuntimeError, "modified by an inplace operation", z.sum().backward)
        with tandem.lazy():
            a = tandem.ones(1000) * (rank + 1)
            before = a + 1
            dist.all_reduce(a)
            after = a + 1
        assert (before == rank + 2).all() and (after == 4).all()

        @tandem.compile
        def step(x):
            y = x * 2
            dist.all_reduce(y)
            return y + 1

        for k in range(3):
            assert (step(tandem.full((5,), float(k + rank))) == 2 * (2 * k + 1) + 1).all()
        with tandem.inference_mode():
            t = tandem.ones(2)
            dist.all_reduce(t)
        assert (t == 2).all()
        from tandem.distributed.nn.functional import all_gather, all_reduce
        w = tandem.tensor([2.0 + rank], dtype=tandem.float64, requires_grad=True)
        total = all_reduce(w * w)
        assert total.item() == 13
        (g,) = tandem.autograd.grad((total * total).sum(), w, create_graph=True)
        # Of the sum of both ranks' losses: 2 * d(total^2) = 4 * total * 2 w.
        assert g.item() == 8 * 13 * w.item()
        every = all_gather(w * 3)
        assert [e.item() for e in every] == [6, 9]
        (g,) = tandem.autograd.grad((every[0] * every[1]).sum(), w)
        assert g.item() == 2 * 3 * every[1 - rank].item()
        dist.destroy_process_group()
        """
    )


def test_several_tensors_at_once():
    run(
        """
        import warnings
        warnings.simplefilter("ignore", FutureWarning)
        x, y = tandem.tensor([1.0 + rank]), tandem.ones(2, 2) * rank
        assert dist.all_reduce_coalesced([x, y]) is None and x.item() == 3 and y[0, 0].item() == 1
        made = [[tandem.zeros(1), tandem.zeros(2)] for _ in range(2)]
        future = dist.all_gather_coalesced(made, [tandem.ones(1) * rank, tandem.ones(2) + rank], async_op=True)
        future.wait()
        assert [[t.tolist() for t in of] for of in made] == [[[0], [1, 1]], [[1], [2, 2]]]
        raises(ValueError, "different dtypes", dist.all_reduce_coalesced, [x, x.double()])
        dist.destroy_process_group()
        """
    )


def test_groups_that_their_members_make():
    run(
        """
        ours, theirs = ([0, 2], [1, 3]) if rank % 2 == 0 else ([3, 1], [0, 2])
        assert dist.new_group(theirs, use_local_synchronization=True) is None
        for _ in range(2):
            group = dist.new_group(ours, use_local_synchronization=True)
            assert dist.get_process_group_ranks(group) == sorted(ours)
            x = tandem.tensor([float(rank)])
            dist.all_reduce(x, group=group)
            assert x.item() == sum(ours)
        if rank == 0:
            alone = dist.new_group([0], use_local_synchronization=True)
        x = tandem.ones(1)
        dist.all_reduce(x, group=dist.new_group())
        assert x.item() == 4
        dist.destroy_process_group()
        """,
        4,
    )


def test_groups():
    run(
        """
        assert dist.group.WORLD is dist.GroupMember.WORLD and dist.get_backend() == "gloo"
        front = dist.new_group([0, 1])
        back = dist.new_group([3, 2], sort_ranks=False)
        assert dist.get_process_group_ranks(dist.new_group([rank for rank in (3, 2, 1, 0)])) == [0, 1, 2, 3]
        everyone = dist.new_group()
        mine = front if rank < 2 else back
        other = back if rank < 2 else front
        assert other == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(other) == dist.get_world_size(other) == -1
        assert dist.get_process_group_ranks(mine) == ([0, 1] if rank < 2 else [3, 2])
        assert dist.get_rank(mine) == [0, 1, 1, 0][rank] and dist.get_world_size(mine) == 2
        assert dist.get_global_rank(mine, 0) == (0 if rank < 2 else 3)
        assert dist.get_group_rank(mine, rank) == dist.get_rank(mine)
        x = tandem.tensor([float(rank)])
        dist.all_reduce(x, group=mine)
        assert x.item() == (1 if rank < 2 else 5)
        x = tandem.tensor([float(rank)])
        dist.broadcast(x, src=0 if rank < 2 else 3, group=mine)  # a rank among all
        assert x.item() == (0 if rank < 2 else 3)
        dist.broadcast(x, group=mine, group_src=1)
        raises(ValueError, "the group has the ranks", dist.broadcast, x, 2 if rank < 2 else 0, mine)
        import warnings
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert dist.all_reduce(x, group=other) is None
        assert "does not belong to the given group" in str(said[0].message)
        dist.all_reduce(x, group=everyone)
        dist.destroy_process_group(everyone)
        raises(dist.DistBackendError, "the group was destroyed", dist.all_reduce, x, group=everyone)
        raises(ValueError, "different numbers below 4", dist.new_group, [0, 0])
        raises(ValueError, "Invalid process group", dist.get_backend, other)
        dist.destroy_process_group()
        assert not dist.is_initialized() and dist.group.WORLD is None
        raises(ValueError, "Default process group has not been initialized", dist.get_rank)
        # The store's file is gone with the last one, and may be used again.
        start()
        dist.barrier()
        """,
        world=4,
    )


def test_arguments_are_checked_before_anything_is_sent():
    run(
        """
        x = tandem.ones(2, 3)
        sum_ = dist.ReduceOp.SUM
        raises(TypeError, "all_reduce: expected tensor to be a Tensor, got list", dist.all_reduce, [1.0])
        raises(ValueError, "all_reduce: tensor is float32 [3, 2] with strides [1, 3], and must be contiguous",
               dist.all_reduce, x.t())
        raises(TypeError, "all_reduce: expected op to be a ReduceOp, got str", dist.all_reduce, x, "sum")
        raises(RuntimeError, "ReduceOp.AVG is for floating point, not", dist.all_reduce, x.long(), dist.ReduceOp.AVG)
        raises(RuntimeError, "ReduceOp.BOR is for integers and booleans", dist.all_reduce, x, dist.ReduceOp.BOR)
        raises(NotImplementedError, "PREMUL_SUM is not part of Tandem", dist.all_reduce, x, dist.ReduceOp.PREMUL_SUM)
        raises(RuntimeError, "all_gather: tensor_list has 1 tensors, and the group 2 ranks", dist.all_gather, [x], x)
        raises(RuntimeError, "tensor_list[1] is float32 [2], and tensor float32 [2, 3]: they must be alike",
               dist.all_gather, [x, tandem.ones(2)], x)
        raises(ValueError, "tensor_list[0] is float64 [2, 3], and tensor float32 [2, 3]",
               dist.all_gather, [x.double(), x.double()], x)
        words = "of 2 ranks it must be [2, 2, 3] or [4, 3] of one dtype"
        raises(RuntimeError, words, dist.all_gather_into_tensor, x, x)
        raises(RuntimeError, "reduce_scatter_tensor: input is", dist.reduce_scatter_tensor, x, x)
        raises(RuntimeError, "broadcast: src is 2, and the group has the ranks [0, 1]", dist.broadcast, x, 2)
        raises(ValueError, "broadcast: give src or group_src, and not both", dist.broadcast, x)
        raises(RuntimeError, "reduce: group_dst is 4, and the group has 2 ranks", dist.reduce, x, group_dst=4)
        raises(ValueError, "gather_list is for the rank dst alone", dist.gather, x, [x, x], 1 - rank)
        raises(ValueError, "gather_list must be given on this rank: a list of 2 tensors", dist.gather, x, None, rank)
        raises(TypeError, "expected gather_list to be a list of tensors, got Tensor", dist.gather, x, x, rank)
        raises(ValueError, "all_to_all: input_tensor_list[1] is int64", dist.all_to_all, [x, x], [x, x.long()])
        y = tandem.ones(3)
        raises(RuntimeError, "whose first dim does not divide among 2 ranks", dist.all_to_all_single, y, y)
        raises(RuntimeError, "do not cut", dist.all_to_all_single, y, y, [1, 1], [1, 2])
        raises(TypeError, "expected a ProcessGroup, got str", dist.barrier, "group")
        # Nothing was sent: the ranks are where they were.
        dist.all_reduce(x)
        assert (x == 2).all()
        # What only the others can see is an error on all of them, and the group goes on.
        error, words = dist.DistBackendError, "the ranks do not agree: rank"
        raises(error, words, dist.all_reduce, tandem.ones(2 + rank))
        if rank == 0:
            raises(error, "rank 1 calls broadcast from 0 of float32 [2, 3]", dist.all_reduce, x)
        else:
            raises(error, "rank 0 calls all_reduce SUM of float32 [2, 3]", dist.broadcast, x, 0)
        raises(error, words, dist.all_reduce, x if rank else x.double())
        raises(error, words, dist.all_reduce, x, dist.ReduceOp(rank))
        # Rank 0 sends [2] where rank 1 expects [3], and gets what it expects itself.
        outs = [tandem.ones(2 + rank), tandem.ones(2)]
        words = "rank 0 calls all_to_all of float32 [2], where rank 1 expects all_to_all of float32 [3]"
        raises(error, words, dist.all_to_all, outs, [tandem.ones(2), tandem.ones(2)])
        dist.all_reduce(x)
        assert (x == 4).all()
        dist.destroy_process_group()
        """
    )
