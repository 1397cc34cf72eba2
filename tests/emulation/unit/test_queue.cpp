// What library functions are written with: views, memory of a call, copies of any layout, and calls on the host.
#include <cstring>
#include <random>

#include "runtime/lib/cuda/table.h"
#include "tests/emulation/unit/cuda_test_util.h"
#include "tests/unit/lib_test_util.h"

namespace tandem::cuda::test {
namespace {

using tandem::test::Array;
using tandem::test::dense;
using tandem::test::randomLayout;
using tandem::test::sameBits;

/// An array of the host on the device, with its strides.
class There {
 public:
  explicit There(const Array& host) : host_(host), block_(host.memory->size()), view_(host.view) {
    block_.set(*host.memory);
    view_.data = block_.data();
  }
  [[nodiscard]] const ArrayView& view() const { return view_; }
  [[nodiscard]] Array back() const {
    Array copy(host_.view.dtype, host_.view.shape, host_.view.strides);
    *copy.memory = block_.get<unsigned char>(host_.memory->size());
    copy.view.data = copy.memory->data();
    return copy;
  }

 private:
  const Array& host_;
  Block block_;
  ArrayView view_;
};

constexpr DType kTypes[] = {DType::Bool,  DType::UInt8,   DType::Int8,     DType::Int16,   DType::Int32,
                            DType::Int64, DType::Float16, DType::BFloat16, DType::Float32, DType::Float64};

TEST(Queue, ViewsMergeDims) {
  const ArrayView whole{nullptr, DType::Float32, {2, 3, 4}, {12, 4, 1}};
  const View flat = flatView(whole);
  EXPECT_EQ(flat.rank, 1);
  EXPECT_EQ(flat.shape[0], 24);
  EXPECT_EQ(flat.contiguous, 1);
  EXPECT_EQ(view(whole).rank, 3);
  const View turned = flatView({nullptr, DType::Float32, {4, 2, 3, 1}, {1, 12, 4, 7}});
  EXPECT_EQ(turned.rank, 2);
  EXPECT_EQ(turned.shape[1], 6);
  EXPECT_EQ(turned.strides[1], 4);
  EXPECT_EQ(turned.contiguous, 0);
  EXPECT_EQ(flatView({nullptr, DType::Float32, {}, {}}).numel, 1);
  EXPECT_EQ(flatView({nullptr, DType::Float32, {3, 0}, {0, 1}}).numel, 0);
  const Dims ones(14, 1);
  EXPECT_EQ(view({nullptr, DType::Float32, ones, ones}).rank, 0);
  const Dims twos(13, 2);
  EXPECT_THROW(view({nullptr, DType::Float32, twos, twos}), NotImplementedError);
}

TEST(Queue, NamesTypesAsTheTextsDo) {
  EXPECT_EQ(typeName(DType::Float32), "float");
  EXPECT_EQ(typeName(DType::Int64), "int64");
  EXPECT_EQ(typeName(DType::BFloat16), "bfloat16");
  EXPECT_EQ(computeName(DType::Float16), "float");
  EXPECT_EQ(computeName(DType::Bool), "bool");
}

TEST(Queue, MovesArraysOfAnyLayout) {
  std::mt19937 random(3);
  const Dims shapes[] = {{}, {0, 3}, {5}, {3, 4, 5}, {70, 33}, {2, 40, 3, 50}, {2, 1, 3, 2, 2, 2, 3}};
  for (const DType t : kTypes) {
    for (const Dims& shape : shapes) {
      for (int k = 0; k < 4; ++k) {
        const Array from = randomLayout(t, shape, random);
        const Array to = randomLayout(t, shape, random);
        const There a(from);
        const There b(to);
        device().copyArray(a.view(), b.view(), device().stream());
        EXPECT_TRUE(sameBits(b.back(), from)) << dtypeName(t) << " " << shapeText(shape);
      }
    }
  }
}

TEST(Queue, TurnsMatrices) {
  std::mt19937 random(4);
  for (const DType t : {DType::Int8, DType::Float16, DType::Float32, DType::Float64}) {
    Array from(t, {3, 65, 100}, {6500, 1, 65});
    tandem::test::fillRandom(from, random);
    const Array to(t, {3, 65, 100});
    const There a(from);
    const There b(to);
    device().copyArray(a.view(), b.view(), device().stream());
    EXPECT_TRUE(sameBits(b.back(), from)) << dtypeName(t);
  }
}

TEST(Queue, FillsAndCopies) {
  const Block x(64);
  device().call(
      [](const LibraryCall& call) {
        const Workspace work(64);
        fill(work.as<>(), 0x11, 64);
        const int value = 5;
        copyFromHost(work.as<char>() + 4, &value, 4);
        copy(call.outputs[0].data, work.as<>(), 64);
        int back = 0;
        copyToHost(&back, work.as<char>() + 4, 4);
        EXPECT_EQ(back, 5);
      },
      {{}, {std::array{ArrayView{x.data(), DType::Int32, {16}, {1}}}}, {}, {}}, device().stream());
  std::vector<int> expected(16, 0x11111111);
  expected[1] = 5;
  EXPECT_EQ(x.get<int>(16), expected);
}

TEST(Queue, MemoryOfACallIsUsedAgain) {
  static void* first = nullptr;
  static void* second = nullptr;
  device().call([](const LibraryCall&) { first = Workspace(5000).as<>(); }, {{}, {}, {}, {}}, device().stream());
  device().call([](const LibraryCall&) { second = Workspace(5000).as<>(); }, {{}, {}, {}, {}}, device().stream());
  EXPECT_EQ(first, second);
}

TEST(Queue, CallsOnTheHostSaySoOnce) {
  Array x(DType::Int32, {2, 3}, {1, 2});
  Array y(DType::Int32, {2, 3});
  for (std::int64_t i = 0; i < 6; ++i) {
    x.set(i, static_cast<double>(6 * (i + 1)));
    y.set(i, static_cast<double>(4 * (i + 2)));
  }
  const Array out(DType::Int32, {2, 3});
  const Array expected(DType::Int32, {2, 3});
  tandem::test::call(libraryFunction("gcd_plain"), {x, y}, {expected}, {});
  const There a(x);
  const There b(y);
  const There c(out);
  warnings().clear();
  const std::vector<ArrayView> in{a.view(), b.view()};
  const std::vector<ArrayView> outs{c.view()};
  device().call([](const LibraryCall& call) { callOnHost("gcd_plain", call, "it is lazy"); }, {in, outs, {}, {}},
                device().stream());
  EXPECT_TRUE(sameBits(c.back(), expected));
  ASSERT_EQ(warnings().size(), 1U);
  EXPECT_TRUE(has(warnings()[0], "gcd is computed on the CPU, also for tensors on a GPU: it is lazy")) << warnings()[0];
}

TEST(Queue, ErrorsOfTheHostKeepTheirClass) {
  const Array x(DType::Float32, {2});
  const There a(x);
  const std::vector<ArrayView> in{a.view()};
  // A wrong index is found by the CPU's function.
  Array index = tandem::test::arrayOf(DType::Int64, {1}, {9});
  const There i(index);
  const Array out(DType::Float32, {1});
  const There o(out);
  const std::vector<ArrayView> inputs{a.view(), i.view()};
  const std::vector<ArrayView> outputs{o.view()};
  const std::vector<std::int64_t> attrs{0};
  EXPECT_THROW(device().call([](const LibraryCall& call) { callOnHost("gather", call, "it is lazy"); },
                             {inputs, outputs, attrs, {}, "model.py:1"}, device().stream()),
               Error);
}

TEST(Queue, ItsFunctionsAreThoseOfRecords) {
  EXPECT_TRUE(unknownFunctions().empty()) << unknownFunctions().front();
  EXPECT_EQ(device().library("no_such_operation"), nullptr);
}

TEST(Queue, LimitsAreTheDevices) {
  static DeviceLimits seen;
  device().call([](const LibraryCall&) { seen = limits(); }, {{}, {}, {}, {}}, device().stream());
  EXPECT_EQ(seen.multiprocessors, control().properties().multiprocessors);
  EXPECT_EQ(strcat("sm_", seen.architecture), device().target().architecture);
  EXPECT_THROW(limits(), InternalError);  // outside of a call
}

}  // namespace
}  // namespace tandem::cuda::test
