#include "runtime/memory/storage.h"

#include "runtime/base/error.h"
#include "runtime/device/executor.h"
#include "runtime/memory/allocator.h"

namespace tandem {

void* allocateOn(Device device, std::size_t bytes) {
  return device.isCpu() ? allocate(bytes) : executor(device).allocate(bytes);
}
void deallocateOn(Device device, void* p, std::size_t bytes) noexcept {
  if (device.isCpu()) return deallocate(p, bytes);
  executor(device).deallocate(p, bytes);
}

Storage::Storage(std::size_t bytes, Device device)
    : data_(device.isCpu() ? allocate(bytes) : allocateOn(device, bytes)), bytes_(bytes), birth_(bear()), owned_(true),
      device_(device) {}

Storage::Storage(void* data, std::size_t bytes, Deleter deleter, void* context, Storage* of, Device device)
    : version(of != nullptr ? of->version : ownVersion_), data_(data), bytes_(bytes), birth_(bear()), deleter_(deleter),
      context_(context), device_(of != nullptr ? of->device() : device) {}

Storage::~Storage() {
  delete pending_;
  if (owned_) {
    if (device_.isCpu()) [[likely]]
      deallocate(data_, bytes_);
    else
      deallocateOn(device_, data_, bytes_);
  }
  if (deleter_ != nullptr) deleter_(context_);
}

void Storage::takeMemory(void* block) {
  TANDEM_CHECK(data_ == nullptr, "the storage has its memory");
  data_ = block;
  owned_ = true;
}

}  // namespace tandem
