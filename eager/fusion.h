// Composites that are run as one fused program: what a composite computes while a FusedScope lives is recorded, by what
// `lazy` implements, and run as fused kernels.
#pragma once

#include <cstdint>
#include <optional>

#include "eager/tensor.h"
#include "runtime/device/executor.h"

namespace tandem {

class Recorder;

/// The number of a site, a point of the program that records: of the code there, and of what tells its uses apart. A
/// `with` statement is one site, a composite one for each size that it is called with.
inline std::uint64_t siteOf(std::uint64_t code, std::uint64_t use) { return code * 0x9e3779b97f4a7c15ULL ^ use; }

/// Lets a composite be run as one fused program: `lazy` implements it.
class Fusion {
 public:
  virtual ~Fusion() = default;
  /// What is recorded at one site is likely what was recorded there before.
  virtual Recorder* begin(std::uint64_t site) = 0;
  /// Runs what was recorded since `begin`; with `failed` forgets it.
  virtual void end(Recorder* recorder, bool failed) = 0;
};
/// Set once by `lazy`; null in a program without it.
extern Fusion* fusion;

/// Recording operations and finding their plan is worth it from so many elements on, which the target knows.
inline bool worthFusing(std::int64_t elements) { return elements >= targetOf(currentDevice).fuseFrom; }

/// The elements of a composite that reduces dims of `x` in several steps; 0 where each step by itself is faster, since
/// kernels of plans walk dims in their logical order: reduced dims do not merge as `x` lies, or no dim is dense that
/// the kernel's lanes follow.
std::int64_t fusedElements(const Tensor& x, const std::optional<Dims>& dims);

/// A tape group is what is differentiated as a whole: nodes of the tape that one call made, or one large composite,
/// which the engine runs as fused kernels too. In `y = tandem.softmax(x, 1)` of a large x it is the nodes of amax, sub,
/// exp, sum and div. The number of the group that this thread makes nodes in; 0: none.
extern thread_local constinit std::uint32_t activeTapeGroup;
std::uint32_t newTapeGroup();

/// While it is on, operations are recorded, and run as fused kernels when it ends; what they leave on the tape is one
/// group. Does nothing while recording already.
class FusedRecording {
 public:
  FusedRecording() = default;
  ~FusedRecording();
  FusedRecording(const FusedRecording&) = delete;
  FusedRecording& operator=(const FusedRecording&) = delete;
  /// `site` as for Fusion.
  void begin(std::uint64_t site);
  /// Has the FusedScopes of this thread begin this recording instead of their own, until it ends: what a composite
  /// computes and the write of its result into memory that exists are one program.
  void beginInScopes();
  /// Errors of the run are raised here; the destructor forgets what was recorded.
  void end();

 private:
  void finish(bool failed);
  Recorder* recorder_ = nullptr;
  bool inScopes_ = false;
  FusedRecording* outer_ = nullptr;
};

/// Runs the operations of a composite fused, until it ends. Does nothing for few elements, which separate kernels serve
/// faster; the bits are the same.
class FusedScope {
 public:
  /// `Writes`: a composite of one kernel, which is fused with the write of its result in an in-place form only.
  enum class When : std::uint8_t { Always, Writes };
  explicit FusedScope(const Tensor& x, When when = When::Always) : FusedScope(x.numel(), when) {}
  /// Of a composite that makes `elements` of them from nothing.
  explicit FusedScope(std::int64_t elements, When when = When::Always);
  ~FusedScope() noexcept(false);
  FusedScope(const FusedScope&) = delete;
  FusedScope& operator=(const FusedScope&) = delete;

 private:
  FusedRecording recording_;
  int exceptions_;
};

}  // namespace tandem
