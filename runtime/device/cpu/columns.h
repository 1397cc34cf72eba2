// Rows as columns and columns as rows, by a kernel that adds in the same order. Rows that are reduced and lie across,
// dense over the rows and far apart along them, as those of a channel of images in channels_last, are columns of a
// kernel that reads each line of memory once, whole. Columns that lie dense down their length, as those of a transposed
// matrix, are rows.
#pragma once

#include <cstdint>

#include "runtime/device/cpu/launch.h"

namespace tandem::cpu {

/// A launch of a Row kernel as that of a Column kernel, or of a Column kernel as that of a Leading one.
struct OtherLaunch {
  const CpuKernel* kernel = nullptr;  // null: the kernel itself serves as well, or some operand lies otherwise
  Args args;
  LaunchSpace space;
};
OtherLaunch otherLaunch(const CpuKernel& kernel, const std::int64_t* args);

}  // namespace tandem::cpu
