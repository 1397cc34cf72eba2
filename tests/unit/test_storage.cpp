#include <cstring>

#include <gtest/gtest.h>

#include "runtime/memory/allocator.h"
#include "runtime/memory/storage.h"

namespace tandem {
namespace {

TEST(Storage, OwnsItsMemory) {
  auto before = allocatorStats().bytesInUse;
  {
    Ref<Storage> s(new Storage(1000));
    Ref<Storage> other = s;
    EXPECT_EQ(s->refCount(), 2);
    EXPECT_EQ(s->bytes(), 1000U);
    std::memset(s->data(), 7, 1000);
    EXPECT_GT(allocatorStats().bytesInUse, before);
  }
  EXPECT_EQ(allocatorStats().bytesInUse, before);
}

TEST(Storage, CallsTheDeleterOfBorrowedMemory) {
  int deleted = 0;
  double value = 3;
  {
    Ref<Storage> s(new Storage(&value, sizeof value, [](void* d) { ++*static_cast<int*>(d); }, &deleted));
    EXPECT_EQ(s->data(), &value);
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 1);
  Ref<Storage> withoutDeleter(new Storage(&value, sizeof value, nullptr, nullptr));
}

class Content : public PendingContent {
 public:
  Content(Storage* s, int* alive) : storage_(s), alive_(alive) { ++*alive_; }
  ~Content() override { --*alive_; }
  void materialize() override {
    storage_->takeMemory(allocate(storage_->bytes()));
    std::memset(storage_->data(), 5, storage_->bytes());
    storage_->setPending(nullptr);  // deletes this
  }

 private:
  Storage* storage_;
  int* alive_;
};

TEST(Storage, PendingContentIsOwned) {
  int alive = 0;
  {
    Ref<Storage> s(new Storage(Storage::PendingTag{}, 64, Device{}));
    EXPECT_EQ(s->data(), nullptr);
    EXPECT_FALSE(s->isPending());
    s->setPending(new Content(s.get(), &alive));
    s->setPending(new Content(s.get(), &alive));
    EXPECT_EQ(alive, 1);
    EXPECT_TRUE(s->isPending());
    s->pending()->materialize();
    EXPECT_EQ(alive, 0);
    EXPECT_FALSE(s->isPending());
    EXPECT_EQ(static_cast<char*>(s->data())[63], 5);
    s->setPending(new Content(s.get(), &alive));
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace tandem
