#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "runtime/device/device.h"

namespace tandem {
namespace {

TEST(Device, NamesRoundTrip) {
  EXPECT_EQ(parseDevice("cpu"), Device{});
  EXPECT_EQ(parseDevice("cuda:3"), (Device{DeviceKind::Cuda, 3}));
  EXPECT_EQ(deviceName(parseDevice("cuda")), "cuda:0");
  EXPECT_EQ(deviceName({}), "cpu");
  for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1000", "cpu:0x"})
    EXPECT_THROW(parseDevice(name), Error) << name;
}

TEST(Device, CpuIsThere) {
  EXPECT_TRUE(isAvailable(DeviceKind::Cpu));
  Backend& cpu = backend(DeviceKind::Cpu);
  EXPECT_EQ(cpu.deviceCount(), 1);
  int value = 7, copy = 0;
  cpu.copy(&copy, &value, sizeof value, Backend::CopyKind::DeviceToHost, cpu.defaultStream(0));
  EXPECT_EQ(copy, 7);
  auto first = cpu.makeEvent(0), second = cpu.makeEvent(0);
  first->record(cpu.defaultStream(0));
  second->record(cpu.defaultStream(0));
  EXPECT_TRUE(second->done());
  EXPECT_GE(second->millisecondsSince(*first), 0.0);
}

TEST(Device, MissingBackendsAreNamed) {
  if (isAvailable(DeviceKind::Cuda)) GTEST_SKIP() << "there is a GPU";
  EXPECT_THROW(backend(DeviceKind::Cuda), Error);
}

}  // namespace
}  // namespace tandem
