// One entry of a saved program for every combination of its sizes (runtime/program/sizes.h): the function was traced
// for each of them, so that nothing is assumed of how plans follow from sizes. Traces whose plans differ in numbers
// alone become one form, and each number that differs a function that gives exactly what every trace had; where no
// formula does, the function is a table.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/program/program_data.h"

namespace tandem::lazy {

class SizeFit {
 public:
  SizeFit(std::vector<program::SizeData> sizes, std::vector<program::SizedDim> bound)
      : sizes_(std::move(sizes)), bound_(std::move(bound)) {}

  /// The sizes of the next combination to add: they come row-major, the last size running fastest.
  [[nodiscard]] std::vector<std::int64_t> next() const;
  /// RuntimeError where what the entry takes or gives is not what it is for other sizes; NotImplementedError where
  /// plans have more than kMostForms structures.
  void add(program::EntryData entry);
  /// When all were added.
  [[nodiscard]] program::EntryData finish() &&;

  static constexpr std::size_t kMostForms = 64;

 private:
  struct Form {
    program::EntryData entry;                        // as it was first met
    std::vector<std::uint64_t> members;              // combinations
    std::vector<std::uint32_t> classes;              // of each number, of those that were alike in all members
    std::vector<std::vector<std::int64_t>> columns;  // of each class its value in each member
  };
  [[nodiscard]] std::vector<std::int64_t> combination(std::uint64_t number) const;
  [[nodiscard]] std::string named(std::uint64_t combination) const;
  void checkAlike(const program::EntryData& entry) const;
  void fit(Form& form) const;
  [[nodiscard]] std::vector<program::SizedDim> given() const;

  std::vector<program::SizeData> sizes_;
  std::vector<program::SizedDim> bound_;
  std::vector<Form> forms_;
  std::unordered_map<std::string, std::uint32_t> known_;  // forms by all of an entry but its numbers
  std::vector<std::uint32_t> formOf_;                     // of each combination
  std::vector<std::vector<Dims>> results_;                //  of each combination their shapes
  std::vector<bool> changes_;                             // of each argument, for any sizes
  std::string explanation_;                               // of the example
};

}  // namespace tandem::lazy
