// A saved program, opened: what every deployed process and `tandem.export.load` run. Nothing here knows Python or a
// compiler.
//
//   Program   what the file says, checked, with its kernels in executable memory; never changes, shared by any number
//             of threads
//   Context   what one thread at a time runs it in: the arena, and the state that entries change (parameters that are
//             trained, buffers, the random generator). Contexts of one program share everything else, and the weights
//             that no entry changes are read where the file is mapped
//
//   auto program = Program::open(Archive::open("digits.tandem"));
//   Context context(program);
//   context.run(*program->entry("forward"), {&image, 1}, {}, {&probabilities, 1});
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device/executor.h"
#include "runtime/kernel/kernel_cache.h"
#include "runtime/memory/storage.h"
#include "runtime/program/archive.h"
#include "runtime/program/call_check.h"
#include "runtime/program/program_data.h"
#include "runtime/program/sizes.h"

namespace tandem::program {

struct OpenOptions {
  /// An Ed25519 public key (32 bytes): the file must be signed with it, and all members are compared with their hashes.
  std::string signedBy;
  /// Compares all members with their hashes. Otherwise the machine code that is used is, and nothing else.
  bool verify = false;
  /// Runs no machine code of the file: kernels are compiled from the manifest, which needs a compiler.
  bool irOnly = false;
  /// Where it runs; if nothing is said, on the `index`-th device of the kind that it was made on. On a GPU the weights
  /// are copied there.
  std::optional<Device> device;
  std::int8_t index = 0;
};

/// Memory on a device.
struct DeviceBlock {
  DeviceBlock(Device device, std::size_t n)
      : device(device), bytes(n), data(static_cast<char*>(allocateOn(device, n))) {}
  ~DeviceBlock() { deallocateOn(device, data, bytes); }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;
  Device device;
  std::size_t bytes;
  char* data;
};

class Program {
 public:
  /// ValueError saying what is wrong with the file; NotImplementedError where it has no code for this processor
  /// or GPU.
  static std::shared_ptr<const Program> open(Archive archive, const OpenOptions& options = {});
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] const ProgramData& data() const { return data_; }
  [[nodiscard]] const Archive& archive() const { return archive_; }
  /// The number of an entry; nothing where none has the name.
  [[nodiscard]] std::optional<std::size_t> entry(std::string_view name) const;
  /// Which of the targets in the file runs; empty where none of them does.
  [[nodiscard]] const std::string& target() const { return target_; }
  [[nodiscard]] Device device() const { return device_; }
  /// The library functions that its plans call, in order.
  [[nodiscard]] const std::vector<std::string>& functions() const { return functions_; }
  /// Of an entry whose sizes calls choose; null for others. `data` has it as it is for the example's sizes.
  [[nodiscard]] const SizedEntry* sized(std::size_t entry) const { return sized_[entry].get(); }

 private:
  friend class Context;
  /// Where the plan's outputs go: straight to the caller's memory where a result is one, else to the context's.
  struct Layout {
    std::vector<std::int32_t> straight;  // of each output the result; -1: none
    std::vector<std::uint64_t> offsets;  // of the others, behind the arena
    // On a GPU arguments and results lie behind that.
    std::vector<std::uint64_t> arguments, results;
    std::uint64_t bytes = 0;  // of all together
  };
  explicit Program(Archive archive) : archive_(std::move(archive)) {}
  void read(const OpenOptions& options);
  void chooseTarget();
  void findFunctions();
  void loadKernels(bool irOnly);
  void placeWeights();
  [[nodiscard]] Layout layoutOf(const EntryData& e) const;

  Archive archive_;
  ProgramData data_;
  std::string target_;
  std::vector<std::string> functions_;
  std::unique_ptr<KernelModule> module_;
  BroughtCode brought_;
  std::vector<Layout> layouts_;                     // one an entry
  std::vector<std::unique_ptr<SizedEntry>> sized_;  // likewise; null where sizes are fixed
  std::string_view weights_;
  Device device_;
  std::unique_ptr<DeviceBlock> weightsThere_;  // on a GPU
};

/// Of an argument or a result: contiguous elements on the host, or where the program runs.
struct Located {
  void* data = nullptr;
  Device device;
};

class Context {
 public:
  /// Starts with the state of the file.
  explicit Context(std::shared_ptr<const Program> program);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] const Program& program() const { return *program_; }
  [[nodiscard]] const std::shared_ptr<const Program>& shared() const { return program_; }
  /// Which sizes the next runs of an entry have: one for each of `EntryData::sizes`, which begin as the example's. What
  /// was made for sizes is kept for the next time, for so many of them as kMostInstances says.
  void resize(std::size_t entry, std::span<const std::int64_t> sizes);
  /// As `resize`, where arguments of these shapes have the sizes.
  void resizeFor(std::size_t entry, std::span<const DimsRef> shapes);
  /// An entry as it is for its present sizes.
  [[nodiscard]] const EntryData& entry(std::size_t number) const;
  static constexpr std::size_t kMostInstances = 64;
  /// Runs an entry. One pointer an argument and a result, to contiguous elements of its dtype and shape; one number for
  /// each that the entry has. Results must not overlap arguments or each other; no argument what the entry writes to.
  /// An error leaves the state as it was, unless it says otherwise.
  void run(std::size_t entry, std::span<void* const> arguments, std::span<const Scalar> numbers,
           std::span<void* const> results);
  /// The same wherever they are. On a GPU the work is queued in the thread's stream of the device, after that of
  /// earlier runs; what is on the host is copied, results and what changes after waiting. Without those nobody waits:
  /// errors of values are raised by whoever waits next, and memory on the GPU that the entry writes to is then
  /// undefined.
  void run(std::size_t entry, std::span<const Located> arguments, std::span<const Scalar> numbers,
           std::span<const Located> results);
  /// As call_check.h's, with where the memories of this context are. Runs look by themselves.
  void checkApart(const EntryData& e, std::span<const Bytes> arguments) const;
  /// Until what runs have queued is done; throws the errors of its values.
  void wait();

  /// The first element of a tensor of the state, of which the strides are in `ProgramData::state`. On a GPU it is for
  /// the thread's stream, which waits for earlier runs.
  [[nodiscard]] const void* state(std::size_t number) const;
  /// Copies its elements, row-major, out or in; to set them as `changingState`.
  void getState(std::size_t number, void* elements) const;
  void setState(std::size_t number, const void* elements);
  /// To be written to; ValueError where no entry changes the tensor: it is then the program's.
  [[nodiscard]] void* changingState(std::size_t number);

  /// Of the random generator.
  std::int64_t seed = 0;
  std::int64_t draws = 0;

 private:
  /// What an entry is for some sizes.
  struct Instance {
    const EntryData* entry = nullptr;
    const Program::Layout* layout = nullptr;
    PlanWorkspace work;
    // Where the program does not have it already:
    std::vector<std::int64_t> sizes;
    EntryData ownEntry;
    Program::Layout ownLayout;
    std::uint64_t lastUse = 0;
  };
  void runHere(Instance& instance, std::span<void* const> arguments, std::span<const Scalar> numbers,
               std::span<void* const> results);
  void runOnDevice(Instance& instance, std::span<const Located> arguments, std::span<const Scalar> numbers,
                   std::span<const Located> results);
  [[nodiscard]] char* placed(const Located& result, std::uint64_t offset) const;
  void giveBack(const Instance& instance, std::span<const Located> arguments, std::span<void* const> there,
                std::span<const Located> results);
  /// Around what is queued on the device: it comes after what other streams have of this context, and memory that is
  /// freed later waits for it.
  void beginWork() const;
  void endWork() const;
  [[nodiscard]] char* at(const PlaceData& place, std::span<void* const> arguments, char* outputs,
                         const std::vector<std::uint64_t>& offsets) const;

  std::shared_ptr<const Program> program_;
  std::vector<std::unique_ptr<DeviceBlock>> own_;  // the memories that change
  std::vector<char*> memories_;
  /// Of an entry: the first is the program's own.
  struct Instances {
    std::vector<std::unique_ptr<Instance>> all;
    Instance* now = nullptr;
  };
  std::unique_ptr<DeviceBlock> arena_;
  std::vector<Instances> instances_;  // one an entry
  std::uint64_t clock_ = 0;           // of resizes
  std::vector<std::int64_t> sizes_;
  std::vector<void*> inputs_, outputs_;
  std::vector<Bytes> bytes_;  // of arguments
  // Of what was queued last, on a GPU:
  mutable std::unique_ptr<Event> last_;
  mutable void* lastStream_ = nullptr;   // its handle
  mutable std::vector<void*> recorded_;  // handles of streams that the memory knows
};

}  // namespace tandem::program
