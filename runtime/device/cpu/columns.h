// Rows that are reduced and lie across: dense over the rows and far apart along them, as those of a channel of images
// in channels_last. A Column kernel in the order of the trailing class reads each line of memory once, whole.
#pragma once

#include <cstdint>

#include "runtime/device/cpu/launch.h"

namespace tandem::cpu {

/// A Row kernel's launch as that of a Column kernel.
struct ColumnLaunch {
  const CpuKernel* kernel = nullptr;  // null: rows serve as well, or some operand lies otherwise
  Args args;
  LaunchSpace space;
};
ColumnLaunch columnsAcross(const CpuKernel& kernel, const std::int64_t* args);

}  // namespace tandem::cpu
