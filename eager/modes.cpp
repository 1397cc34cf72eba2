#include "eager/modes.h"

#include "eager/recorder.h"
#include "ir/schema/op_table.h"

namespace tandem {

thread_local constinit bool gradMode = true;
thread_local constinit bool inferenceOn = false;

DType defaultDType() { return schemaDefaultDType(); }
void setDefaultDType(DType t) {
  if (!isFloating(t))
    fail<TypeError>("only floating-point types are supported as the default type, got ", dtypeName(t));
  if (activeRecorder != nullptr && t != defaultDType()) activeRecorder->runRecorded("the default dtype is changed");
  setSchemaDefaultDType(t);
}

}  // namespace tandem
