#include "passes/recompute.h"

#include <algorithm>
#include <map>

#include <mlir/IR/IRMapping.h>

namespace tandem::passes {

namespace {

// The cheap operations that make a value of what its cluster reads, of what is known once a row and of dear values.
struct Slice {
  std::vector<int> ops;                   // in program order
  llvm::SmallVector<mlir::Value> leaves;  // roots of the operands that come from elsewhere
};

bool isFull(const Clusters& c, int op) {
  return c.resultMap(op).size() == c.all()[static_cast<std::size_t>(c.clusterOf(op))].space.size();
}

bool isCheap(mlir::Operation* op) {
  if (auto pointwise = mlir::dyn_cast<td::PointwiseOp>(op)) return facts(pointwise.getOp().getCode()).cheap;
  return mlir::isa<td::FrameOp>(op);
}

// The operation of the cluster of `op` that computes `v`; -1 where none does.
int producerBeside(const Clusters& c, int op, mlir::Value v) {
  mlir::Operation* def = v.getDefiningOp();
  int producer = def == nullptr ? -1 : c.indexOf(def);
  return producer >= 0 && c.clusterOf(producer) == c.clusterOf(op) ? producer : -1;
}

// False where it takes too much.
bool addToSlice(const Clusters& c, int op, Slice& slice) {
  if (std::find(slice.ops.begin(), slice.ops.end(), op) != slice.ops.end()) return true;
  if (slice.ops.size() == static_cast<std::size_t>(c.target().mostRecomputed)) return false;
  slice.ops.push_back(op);
  for (mlir::Value v : c.op(op)->getOperands()) {
    if (!td::isTensorType(v.getType())) continue;
    int producer = producerBeside(c, op, v);
    if (producer >= 0 && isFull(c, producer) && isCheap(c.op(producer))) {
      if (!addToSlice(c, producer, slice)) return false;
    } else if (mlir::Value root = placeOf(v).value; !llvm::is_contained(slice.leaves, root)) {
      slice.leaves.push_back(root);
    }
  }
  return true;
}

bool isRead(const Clusters& c, const Cluster& by, mlir::Value root) {
  return std::any_of(by.ops.begin(), by.ops.end(), [&](int op) {
    return llvm::any_of(c.op(op)->getOperands(),
                        [&](mlir::Value v) { return td::isTensorType(v.getType()) && placeOf(v).value == root; });
  });
}

// Readers of an operation's result in other clusters, by cluster; none where it must be stored for others.
std::map<int, std::vector<mlir::Operation*>> readersElsewhere(const Clusters& c, int op) {
  std::map<int, std::vector<mlir::Operation*>> readers;
  for (mlir::Operation* user : c.op(op)->getUsers()) {
    int cluster = c.clusterOf(c.indexOf(user));
    if (cluster < 0) return {};
    if (cluster != c.clusterOf(op)) readers[cluster].push_back(user);
  }
  return readers;
}

// Bytes that are moved less if every reader computes the result of `op` itself.
std::int64_t bytesSaved(const Clusters& c, int op, const Slice& slice,
                        const std::map<int, std::vector<mlir::Operation*>>& readers) {
  // It is neither written nor read.
  std::int64_t bytes = td::bytesOf(c.op(op)->getResult(0).getType());
  std::int64_t saved = bytes * (1 + static_cast<std::int64_t>(readers.size()));
  for (mlir::Value leaf : slice.leaves) {
    std::int64_t size = td::bytesOf(leaf.getType());
    if (producerBeside(c, op, leaf) >= 0 && !c.escapes(leaf, c.clusterOf(op))) saved -= size;
    for (const auto& [cluster, users] : readers)
      if (!isRead(c, c.all()[static_cast<std::size_t>(cluster)], leaf)) saved -= size;
  }
  return saved;
}

// Can the clusters of all readers walk what the slice reads, as it is read there? Where one that reduces cannot, a copy
// beside a reader takes that out of its cluster, and more is stored than was saved.
bool fitsReaders(const Clusters& c, const Slice& slice, const std::map<int, std::vector<mlir::Operation*>>& readers) {
  auto spaceOf = [](mlir::Operation* op) {
    return coreDims(mlir::cast<mlir::RankedTensorType>(Clusters::domainType(op)).getShape());
  };
  for (const auto& [cluster, users] : readers)
    for (mlir::Operation* user : users)
      for (int op : slice.ops)
        if (spaceOf(user) == spaceOf(c.op(op)) && !c.couldTake(cluster, op, c.alignment(c.indexOf(user)))) return false;
  return true;
}

}  // namespace

std::vector<Copied> recompute(const Clusters& c) {
  std::vector<Copied> copies;
  for (int op = 0; op < c.numOps(); ++op) {
    if (c.clusterOf(op) < 0 || !isCheap(c.op(op)) || !isFull(c, op)) continue;
    if (td::bytesOf(c.op(op)->getResult(0).getType()) < c.target().cachedBytes) continue;
    auto readers = readersElsewhere(c, op);
    Slice slice;
    if (readers.empty() || !addToSlice(c, op, slice) || bytesSaved(c, op, slice, readers) <= 0) continue;
    if (!fitsReaders(c, slice, readers)) continue;
    std::sort(slice.ops.begin(), slice.ops.end());
    for (const auto& [cluster, users] : readers) {
      mlir::Operation* first =
          *std::min_element(users.begin(), users.end(), [](auto* a, auto* b) { return a->isBeforeInBlock(b); });
      mlir::OpBuilder b(first);
      mlir::IRMapping made;
      for (int i : slice.ops) copies.push_back({c.op(i), b.clone(*c.op(i), made), first});
      for (mlir::Operation* user : users)
        user->replaceUsesOfWith(c.op(op)->getResult(0), made.lookup(c.op(op)->getResult(0)));
    }
  }
  return copies;
}

void joinReaders(const std::vector<Copied>& copies, Clusters& c) {
  for (const Copied& it : llvm::reverse(copies))
    c.merge(c.clusterOf(c.indexOf(it.copy)), c.clusterOf(c.indexOf(it.reader)));
}

void takeBack(std::vector<Copied>& copies, const Clusters& c) {
  llvm::erase_if(copies, [&](const Copied& it) {
    if (c.clusterOf(c.indexOf(it.copy)) == c.clusterOf(c.indexOf(it.reader))) return false;
    it.copy->replaceAllUsesWith(it.original->getResults());
    return true;
  });
}

}  // namespace tandem::passes
