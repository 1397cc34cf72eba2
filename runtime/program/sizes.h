// Entries whose sizes calls choose. The file has one plan for each structure that plans have over all combinations of
// sizes, a form, and for every number in it that is not the same for all of them an exact function of the sizes. What
// an entry is for some sizes follows from that: an entry of fixed shapes, checked and run as any other.
//
//   SizedEntry sized(std::move(entry));           // x: float32[batch, 784], batch from 1 to 256
//   sized.sizesOf({{32, 784}}, sizes);            // sizes = {32}; an error names `x`, the dim and `batch`
//   EntryData fixed = sized.at(sizes);            // x: float32[32, 784]
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/program/program_data.h"

namespace tandem::program {

/// Calls `f` with each number of an entry that may follow from sizes, in the order in which positions count them: an
/// integer of 32 or 64 bits, or the Scalar of a slot. `Entry` is EntryData, const or not.
template <class Entry, class F>
void forEachNumber(Entry& e, F&& f) {
  auto all = [&](auto& list) {
    for (auto& value : list) f(value);
  };
  for (auto& a : e.arguments) all(a.shape);
  for (auto& r : e.results) {
    all(r.shape);
    all(r.strides);
    f(r.place.offset);
  }
  for (auto& p : e.inputs) f(p.offset);
  all(e.fresh);
  for (auto& b : e.plan.buffers) {
    f(b.arenaOffset);
    f(b.bytes);
  }
  for (auto& s : e.plan.slots) f(s.value);
  for (auto& i : e.plan.instrs) {
    for (auto& o : i.operands) {
      f(o.byteOffset);
      all(o.shape);
      all(o.strides);
    }
    all(i.attrs);
    all(i.args);
  }
  f(e.plan.arenaBytes);
  f(e.plan.numRandom);
}

/// Such a number as 64 bits, and back.
template <class T>
std::int64_t bitsOf(const T& number) {
  return static_cast<std::int64_t>(number);
}
inline std::int64_t bitsOf(const Scalar& number) { return number.bits(); }
/// ValueError where the number has fewer bits than that takes.
void setBits(std::int64_t& number, std::int64_t bits);
void setBits(std::uint64_t& number, std::int64_t bits);
void setBits(std::uint32_t& number, std::int64_t bits);
void setBits(Scalar& number, std::int64_t bits);

/// The function's value at the sizes; nothing where it overflows, or they are below `firsts` (EntryData).
std::optional<std::int64_t> tryValueOf(const SizeFunction& f, std::span<const std::int64_t> firsts,
                                       std::span<const std::int64_t> sizes);

/// Of sizes, row-major, the number of their combination; and how many there are.
std::uint64_t combinationOf(const std::vector<SizeData>& sizes, std::span<const std::int64_t> values);
std::uint64_t combinations(const std::vector<SizeData>& sizes);

class SizedEntry {
 public:
  /// Of a checked entry (check.h) with sizes.
  explicit SizedEntry(EntryData entry);

  [[nodiscard]] std::size_t numSizes() const { return main_.sizes.size(); }
  /// The sizes that arguments of these shapes have. ValueError, naming argument and size, where they have none.
  void sizesOf(std::span<const DimsRef> shapes, std::span<std::int64_t> sizes) const;
  /// ValueError where a size is out of its range.
  void checkRange(std::span<const std::int64_t> sizes) const;
  /// The entry for sizes in their ranges, to be checked before it is used: numbers may come to contradict each other.
  [[nodiscard]] EntryData at(std::span<const std::int64_t> sizes) const;

 private:
  /// A form without its functions, which copies of it do not need.
  struct Form {
    EntryData entry;
    std::vector<std::int64_t> firsts;
    std::vector<SizeFunction> functions;
    std::vector<VaryingData> varying;
  };
  static Form formOf(EntryData entry);
  [[nodiscard]] const Form& formAt(std::span<const std::int64_t> sizes) const;

  EntryData main_;  // its sizes and what they bind
  std::vector<Form> forms_;
  std::vector<std::uint64_t> ends_;    // of the runs of combinations
  std::vector<std::uint32_t> chosen_;  // of each run the form
};

}  // namespace tandem::program
