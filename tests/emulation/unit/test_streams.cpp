// Streams and events, faults of kernels and of values, and graphs.
#include <thread>

#include "runtime/device/cuda/source.h"
#include "tests/emulation/unit/cuda_test_util.h"

namespace tandem::cuda::test {
namespace {

constexpr Source kTexts("test", R"cu(
extern "C" __global__ void fill(int* to, int64 n, int value) { GRID_LOOP(i, n) to[i] = value; }
extern "C" __global__ void add(int* to, int64 n, int value) { GRID_LOOP(i, n) to[i] += value; }
extern "C" __global__ void check(const int* at, int64 n, int most, long long* where) {
  GRID_LOOP(i, n) if (at[i] > most) fault(where, at[i], i, most);
}
extern "C" __global__ void shared(int* to) {
  extern __shared__ int all[];
  all[threadIdx.x] = threadIdx.x;
  __syncthreads();
  to[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
}
#ifdef BAD
this is no text
#endif
)cu");

using Ints = std::vector<int>;

ArrayView array(const Block& block, std::int64_t n) { return {block.data(), DType::Int32, {n}, {1}}; }

/// Fills an array with a number.
void fillCall(const LibraryCall& call) {
  const std::int64_t n = call.outputs[0].numel();
  launch(kTexts.kernel("fill"), elementwise(n), call.outputs[0].as<int>(), n, static_cast<int>(call.attrs[0]));
}
void addCall(const LibraryCall& call) {
  const std::int64_t n = call.outputs[0].numel();
  launch(kTexts.kernel("add"), elementwise(n), call.outputs[0].as<int>(), n, static_cast<int>(call.attrs[0]));
}
/// Checks that no element is more than a number.
void checkCall(const LibraryCall& call) {
  const std::int64_t n = call.inputs[0].numel();
  Fault* where = expectNoFault(call, [](const long long* numbers) {
    fail<IndexError>("element ", numbers[1], " is ", numbers[0], ", more than ", numbers[2]);
  });
  launch(kTexts.kernel("check"), elementwise(n), call.inputs[0].as<int>(), n, static_cast<int>(call.attrs[0]), where);
}

class Streams : public testing::Test {
 protected:
  void queue(LibraryFn fn, const Block& block, std::int64_t n, std::int64_t value, Stream& stream,
             std::string_view line = {}) {
    const ArrayView view = array(block, n);
    device().call(fn, {{&view, 1}, {&view, 1}, {&value, 1}, {}, line}, stream);
  }
  std::unique_ptr<Stream> a = device().makeStream();
  std::unique_ptr<Stream> b = device().makeStream();
};

TEST_F(Streams, RunKernelsInOrder) {
  const Block x(400);
  queue(fillCall, x, 100, 5, *a);
  queue(addCall, x, 100, 2, *a);
  EXPECT_EQ(x.get<int>(100, *a), Ints(100, 7));
}

TEST_F(Streams, KnowNothingOfEachOtherButThroughEvents) {
  const Block x(40);
  queue(fillCall, x, 10, 1, *a);
  a->synchronize();
  queue(fillCall, x, 10, 2, *a);
  EXPECT_EQ(x.get<int>(10, *b), Ints(10, 1));  // nobody told it to wait
  EXPECT_FALSE(control().isDone(*a));
  a->synchronize();
  EXPECT_TRUE(control().isDone(*a));
  auto written = device().makeEvent();
  EXPECT_TRUE(written->done());
  queue(fillCall, x, 10, 3, *a);
  written->record(*a);
  EXPECT_FALSE(written->done());
  written->waitOn(*b);
  EXPECT_EQ(x.get<int>(10, *b), Ints(10, 3));
  EXPECT_TRUE(written->done());
}

TEST_F(Streams, EventsTellTime) {
  auto first = device().makeEvent();
  auto second = device().makeEvent();
  const Block x(40);
  first->record(*a);
  queue(fillCall, x, 10, 1, *a);
  second->record(*a);
  second->synchronize();
  EXPECT_GE(second->millisecondsSince(*first), 0.0);
  auto untimed = control().makeEvent(false);
  untimed->record(*a);
  EXPECT_TRUE(has(errorOf([&] { static_cast<void>(untimed->millisecondsSince(*first)); }), "without times"));
}

TEST_F(Streams, AThreadHasACurrentOne) {
  EXPECT_EQ(&device().stream(), &control().defaultStream());
  EXPECT_EQ(control().defaultStream().handle(), nullptr);
  Stream& before = control().setCurrentStream(*a);
  EXPECT_EQ(&before, &control().defaultStream());
  EXPECT_EQ(&device().stream(), a.get());
  std::thread([] { EXPECT_EQ(&device().stream(), &control().defaultStream()); }).join();
  control().setCurrentStream(before);
  EXPECT_EQ(&control().externalStream(nullptr), &control().defaultStream());
  EXPECT_EQ(&control().externalStream(a->handle()), a.get());
}

TEST_F(Streams, ArePooled) {
  std::vector<Stream*> seen;
  for (int k = 0; k < 32; ++k) seen.push_back(&control().pooledStream(0));
  for (int k = 0; k < 32; ++k) EXPECT_EQ(&control().pooledStream(0), seen[static_cast<std::size_t>(k)]);
  EXPECT_NE(&control().pooledStream(-1), seen[0]);
}

// ---- faults of values

TEST_F(Streams, WrongValuesAreRaisedByWhoeverWaits) {
  const Block x(16);
  x.set<int>({1, 2, 30, 4}, *a);
  queue(checkCall, x, 4, 9, *a, "model.py:12");
  queue(addCall, x, 4, 1, *a);
  b->synchronize();
  const std::string text = errorOf<IndexError>([&] { static_cast<void>(x.get<int>(4, *a)); });
  EXPECT_EQ(text, "element 2 is 30, more than 9\n  recorded at model.py:12");
  EXPECT_EQ(x.get<int>(4, *a), (Ints{2, 3, 31, 5}));  // once
}

TEST_F(Streams, TheFirstWrongValueIsRaised) {
  const Block x(16);
  x.set<int>({1, 2, 30, 4}, *a);
  queue(checkCall, x, 4, 50, *a, "good.py:1");
  queue(checkCall, x, 4, 29, *a, "first.py:2");
  queue(checkCall, x, 4, 2, *a, "second.py:3");
  EXPECT_TRUE(has(errorOf<IndexError>([&] { a->synchronize(); }), "first.py:2"));
  a->synchronize();
}

TEST_F(Streams, AnEventRaisesWhatIsBeforeIt) {
  const Block x(16);
  x.set<int>({1, 2, 30, 4}, *a);
  auto before = device().makeEvent();
  before->record(*a);
  queue(checkCall, x, 4, 9, *a);
  before->synchronize();
  auto after = device().makeEvent();
  after->record(*a);
  errorOf<IndexError>([&] { after->synchronize(); });
  control().synchronize();
}

TEST_F(Streams, TheDeviceRaisesForAllStreams) {
  const Block x(16);
  x.set<int>({1, 2, 30, 4}, *a);
  queue(checkCall, x, 4, 9, *a);
  errorOf<IndexError>([&] { control().synchronize(); });
  control().synchronize();
}

TEST_F(Streams, NobodyHasToWaitForManyChecks) {
  const Block x(16);
  x.set<int>({1, 2, 30, 4}, *a);
  queue(checkCall, x, 4, 9, *a, "early.py:1");
  for (int k = 0; k < 20000; ++k) queue(checkCall, x, 1, 9, *a);
  EXPECT_TRUE(has(errorOf<IndexError>([&] { a->synchronize(); }), "early.py:1"));
}

TEST_F(Streams, SizesThatChangedKeepTheirClass) {
  const Block x(4);
  x.set<int>({5}, *a);
  const ArrayView view = array(x, 1);
  device().call(
      [](const LibraryCall& call) {
        Fault* where = expectNoFault(call, [](const long long* numbers) { throw SizeChanged(3, numbers[0]); });
        launch(kTexts.kernel("check"), elementwise(1), call.inputs[0].as<int>(), std::int64_t{1}, 0, where);
      },
      {{&view, 1}, {}, {}, {}, "model.py:1"}, *a);
  try {
    a->synchronize();
    FAIL();
  } catch (const SizeChanged& e) {
    EXPECT_EQ(e.number, 3);
    EXPECT_EQ(e.size, 5);
  }
}

TEST_F(Streams, ErrorsOfCallsGainTheLine) {
  const auto wrong = [](const LibraryCall&) { fail<ValueError>("wrong"); };
  const auto text = errorOf<ValueError>([&] { device().call(wrong, {{}, {}, {}, {}, "model.py:7"}, *a); });
  EXPECT_EQ(text, "wrong\n  recorded at model.py:7");
}

// ---- kernels

TEST_F(Streams, KernelsAreCompiledOnce) {
  const Block x(40);
  queue(fillCall, x, 10, 1, *a);
  const auto before = counters().kernelCompiles.load() + counters().kernelCacheHits.load();
  queue(fillCall, x, 10, 1, *a);
  EXPECT_EQ(counters().kernelCompiles.load() + counters().kernelCacheHits.load(), before);
}

TEST_F(Streams, WhatDoesNotCompileIsShown) {
  const auto bad = [](const LibraryCall&) { static_cast<void>(kTexts.kernel("fill", {{"BAD", "1"}})); };
  const std::string text = errorOf<InternalError>([&] { device().call(bad, {{}, {}, {}, {}, "model.py:7"}, *a); });
  EXPECT_TRUE(has(text, "test.BAD=1")) << text;
  EXPECT_TRUE(has(text, "model.py:7")) << text;
  const auto none = [](const LibraryCall&) { static_cast<void>(kTexts.kernel("nothing")); };
  EXPECT_TRUE(has(errorOf<InternalError>([&] { device().call(none, {{}, {}, {}, {}}, *a); }), "has no kernel nothing"));
}

TEST_F(Streams, LaunchesThatCannotBeAreNamed) {
  const auto wide = [](const LibraryCall& call) {
    Grid grid;
    grid.threads = {4096, 1, 1};
    launch(kTexts.kernel("shared"), grid, call.outputs[0].as<int>());
  };
  const Block x(40);
  const ArrayView view = array(x, 10);
  const std::string text = errorOf([&] { device().call(wide, {{}, {&view, 1}, {}, {}, "model.py:7"}, *a); });
  EXPECT_TRUE(has(text, "launching the kernel shared of 1x1x1 blocks of 4096x1x1 threads")) << text;
  EXPECT_TRUE(has(text, "model.py:7")) << text;
}

TEST_F(Streams, BlocksHaveSharedMemoryByOptIn) {
  const auto call = [](const LibraryCall& call) {
    Grid grid;
    grid.threads = {64, 1, 1};
    grid.sharedBytes = 64 * 1024;
    launch(kTexts.kernel("shared"), grid, call.outputs[0].as<int>());
  };
  const Block x(256);
  const ArrayView view = array(x, 64);
  device().call(call, {{}, {&view, 1}, {}, {}}, *a);
  const Ints found = x.get<int>(64, *a);
  for (int k = 0; k < 64; ++k) EXPECT_EQ(found[static_cast<std::size_t>(k)], 63 - k);
}

TEST_F(Streams, EmptyLaunchesQueueNothing) {
  const Block x(4);
  const auto before = counters().kernelLaunches.load();
  queue(fillCall, x, 0, 1, *a);
  EXPECT_EQ(counters().kernelLaunches.load(), before);
}

// ---- graphs

TEST_F(Streams, GraphsAreLaunchedAgain) {
  const Block x(40);
  queue(fillCall, x, 10, 0, *a);
  queue(addCall, x, 10, 0, *a);  // its code is there
  queue(checkCall, x, 10, 100, *a);
  a->synchronize();
  control().beginCapture(*a, 1);
  EXPECT_TRUE(control().isCapturing(*a));
  queue(addCall, x, 10, 3, *a);
  queue(checkCall, x, 10, 6, *a, "graph.py:1");
  const auto graph = control().endCapture(*a);
  EXPECT_FALSE(control().isCapturing(*a));
  EXPECT_EQ(x.get<int>(10, *a), Ints(10, 0));
  graph->launch(*b);
  graph->launch(*b);
  EXPECT_EQ(x.get<int>(10, *b), Ints(10, 6));
  graph->launch(*b);
  EXPECT_TRUE(has(errorOf<IndexError>([&] { b->synchronize(); }), "graph.py:1"));
}

TEST_F(Streams, ChecksOfAPlansGraphAreOfItsLaunch) {
  const Block x(40);
  queue(fillCall, x, 10, 0, *a);
  Stream& before = control().setCurrentStream(*a);
  Expectations& expectations = *static_cast<CudaStream&>(*a).expectations();
  std::uint64_t queued = 0;
  auto run = [&] {
    device().queueSequence(1234567, [&] {
      for (int k = 0; k < 4; ++k) queue(addCall, x, 10, 1, device().stream());
      queue(checkCall, x, 10, 12, device().stream(), "plan.py:1");
      queued = expectations.last();
    });
  };
  for (int k = 0; k < 3; ++k) run();  // as it comes, captured, and as a graph
  a->synchronize();
  const std::uint64_t last = expectations.last();
  run();
  EXPECT_EQ(queued, last);  // or a stream that looks which of its checks are over would take it for one of them
  EXPECT_GT(expectations.last(), last);
  EXPECT_TRUE(has(errorOf<IndexError>([&] { a->synchronize(); }), "is 16, more than 12\n  recorded at plan.py:1"));
  control().setCurrentStream(before);
}

TEST_F(Streams, MemoryOfAGraphIsItsOwn) {
  Gpu& gpu = theGpu();
  const auto handle = static_cast<StreamHandle>(a->handle());
  void* before = gpu.memory.allocate(4096, handle);
  gpu.memory.deallocate(before);
  control().beginCapture(*a, 1);
  void* captured = gpu.memory.allocate(4096, handle);
  EXPECT_NE(captured, before);
  gpu.memory.deallocate(captured);
  EXPECT_EQ(gpu.memory.allocate(4096, handle), captured);  // again within the graph
  gpu.memory.deallocate(captured);
  auto graph = control().endCapture(*a);
  EXPECT_EQ(gpu.memory.allocate(4096, handle), before);  // not by others
  gpu.memory.deallocate(before);
  graph.reset();
  control().emptyCache();
}

TEST_F(Streams, MemoryOfStreamsThatAreCapturedTogetherIsTheGraphs) {
  Gpu& gpu = theGpu();
  const auto joined = static_cast<StreamHandle>(b->handle());
  void* before = gpu.memory.allocate(4096, joined);
  gpu.memory.deallocate(before);
  auto forked = control().makeEvent(false);
  auto back = control().makeEvent(false);
  control().beginCapture(*a, 1);
  EXPECT_EQ(gpu.memory.allocate(4096, joined), before);  // it is not part of it yet
  gpu.memory.deallocate(before);
  forked->record(*a);
  forked->waitOn(*b);
  void* captured = gpu.memory.allocate(4096, joined);
  EXPECT_NE(captured, before);
  gpu.memory.deallocate(captured);
  back->record(*b);
  back->waitOn(*a);
  auto graph = control().endCapture(*a);
  EXPECT_EQ(gpu.memory.allocate(4096, joined), before);
  gpu.memory.deallocate(before);
}

TEST_F(Streams, TheDefaultOneIsNotCaptured) {
  EXPECT_TRUE(has(errorOf([&] { control().beginCapture(control().defaultStream(), 1); }), "choose another one"));
}

TEST_F(Streams, WhatCannotBeCapturedIsRefused) {
  const Block x(40);
  queue(fillCall, x, 10, 1, *a);
  a->synchronize();
  control().beginCapture(*a, 1);
  EXPECT_ANY_THROW(static_cast<void>(x.get<int>(10, *a)));  // waits
  EXPECT_ANY_THROW(control().endCapture(*a));
  queue(addCall, x, 10, 1, *a);
  EXPECT_EQ(x.get<int>(10, *a), Ints(10, 2));
}

}  // namespace
}  // namespace tandem::cuda::test
