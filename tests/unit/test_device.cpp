#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "runtime/device/executor.h"

namespace tandem {
namespace {

TEST(Device, NamesRoundTrip) {
  EXPECT_EQ(parseDevice("cpu"), Device{});
  EXPECT_EQ(parseDevice("cuda:3"), (Device{addDeviceKind("cuda"), 3}));
  EXPECT_EQ(deviceName(parseDevice("cuda")), "cuda:0");
  EXPECT_EQ(deviceName({}), "cpu");
  for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1000", "cpu:0x"})
    EXPECT_THROW(parseDevice(name), Error) << name;
}

TEST(Device, KindsCanBeAdded) {
  const DeviceKind kind = addDeviceKind("test_kind");
  EXPECT_EQ(addDeviceKind("test_kind"), kind);
  EXPECT_EQ(parseDevice("test_kind:1"), (Device{kind, 1}));
  EXPECT_EQ(deviceCount(kind), 0);
  EXPECT_THROW(addDeviceKind("Test"), Error);
  EXPECT_THROW(addDeviceKind(""), Error);
}

TEST(Device, CpuIsThere) {
  EXPECT_EQ(deviceCount(DeviceKind::Cpu), 1);
  Executor& cpu = executor(Device{});
  int value = 7, copy = 0;
  cpu.copyToHost(&copy, &value, sizeof value, cpu.stream());
  EXPECT_EQ(copy, 7);
  auto first = cpu.makeEvent(), second = cpu.makeEvent();
  first->record(cpu.stream());
  second->record(cpu.stream());
  EXPECT_TRUE(second->done());
  EXPECT_GE(second->millisecondsSince(*first), 0.0);
}

TEST(Device, MissingOnesAreNamed) {
  try {
    executor(parseDevice("xpu:2"));
    FAIL() << "there is an xpu";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("xpu:2"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tandem
