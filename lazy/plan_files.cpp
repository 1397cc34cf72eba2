#include "lazy/plan_files.h"

#include <atomic>
#include <cstdlib>

#include "ir/schema/op_table.h"
#include "runtime/base/counters.h"
#include "runtime/base/error.h"
#include "runtime/device/executor.h"
#include "runtime/kernel/disk_cache.h"
#include "runtime/kernel/generator_version.h"
#include "runtime/kernel/kernel_compiler.h"
#include "runtime/program/program_data.h"

namespace tandem::lazy {
namespace {

constexpr int kMostFiles = 256;

CodeName nameOf(const Trace& trace, const Hash128& key) {
  std::string lines;
  for (const std::string& line : trace.lines) lines.append(line).push_back('\n');
  const char* disabled = std::getenv("TANDEM_DISABLE");
  return {"plans", cacheKey({key.hex(), lines, targetOf(trace.device).architecture, dtypeName(schemaDefaultDType()),
                             disabled != nullptr ? disabled : "", kGeneratorVersion, compilerIdentity()})};
}

}  // namespace

std::shared_ptr<Plan> readPlan(const Trace& trace, const Hash128& key) {
  if (!trace.device.isCpu()) return nullptr;
  const auto bytes = readCachedObject(nameOf(trace, key));
  if (!bytes) return nullptr;
  try {
    auto plan = std::make_shared<Plan>(program::decodePlan(*bytes));
    resolvePlan(*plan);
    bump(counters().planReads);
    return plan;
  } catch (const Error&) {
    return nullptr;  // of another format: it is made anew and rewritten
  }
}

void writePlan(const Trace& trace, const Hash128& key, const Plan& plan) {
  static std::atomic<int> left{kMostFiles};
  if (!trace.device.isCpu() || left.fetch_sub(1, std::memory_order_relaxed) <= 0) return;
  writeCachedObject(nameOf(trace, key), program::encodePlan(plan));
}

}  // namespace tandem::lazy
