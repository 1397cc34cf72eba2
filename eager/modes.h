// The modes of a thread, as in PyTorch: whether operations leave a history, and whether what they make may ever have
// one.
#pragma once

#include "runtime/base/dtype.h"

namespace tandem {

/// Whether operations leave a history.
extern thread_local constinit bool gradMode;
inline bool gradEnabled() { return gradMode; }
inline void setGradEnabled(bool on) { gradMode = on; }
/// While it lives, operations of this thread leave no history.
class NoGrad {
 public:
  NoGrad() : before_(gradEnabled()) { setGradEnabled(false); }
  ~NoGrad() { setGradEnabled(before_); }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// Whether tensors that are made are inference tensors.
extern thread_local constinit bool inferenceOn;
inline bool inferenceMode() { return inferenceOn; }
inline void setInferenceMode(bool on) { inferenceOn = on; }

/// Of the process: float32 unless changed by `set_default_dtype`.
DType defaultDType();
void setDefaultDType(DType t);

}  // namespace tandem
