#include "runtime/memory/storage.h"

#include "runtime/base/error.h"
#include "runtime/memory/allocator.h"

namespace tandem {

Storage::Storage(std::size_t bytes) : data_(allocate(bytes)), bytes_(bytes), birth_(bear()), owned_(true) {}

Storage::Storage(void* data, std::size_t bytes, Deleter deleter, void* context, Storage* of)
    : version(of != nullptr ? of->version : ownVersion_), data_(data), bytes_(bytes), birth_(bear()), deleter_(deleter),
      context_(context) {}

Storage::~Storage() {
  delete pending_;
  if (owned_) deallocate(data_, bytes_);
  if (deleter_ != nullptr) deleter_(context_);
}

void Storage::takeMemory(void* block) {
  TANDEM_CHECK(data_ == nullptr, "the storage has its memory");
  data_ = block;
  owned_ = true;
}

}  // namespace tandem
