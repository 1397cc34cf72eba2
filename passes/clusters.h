// What fuse works on: the operations of one function, grouped into clusters that each become a region.
//
// A cluster has an iteration *space*, the sizes (other than 1) of its largest operation, and every operation in it is
// *aligned*: each of its own dims (other than size 1) runs along one dim of the space, in order. An operation that does
// not run along all of them is computed once a row. Which clusters are legal says `legal`; whether something else must
// run between two of them, `searchBetween`. A merge that was refused is refused as long as neither of the two grows.
#pragma once

#include <vector>

#include <llvm/ADT/DenseMap.h>

#include "ir/dialect/td.h"
#include "passes/linear_order.h"
#include "passes/windows.h"
#include "runtime/device/target.h"

namespace tandem::passes {

enum class ClusterKind : std::uint8_t { Pointwise, Row, Column };
const char* clusterKindName(ClusterKind kind);

struct Cluster {
  std::vector<int> ops;  // in program order; empty once merged into another
  int node = 0;          // its first operation at the start, which no other cluster ever has
  Dims space;
  ClusterKind kind = ClusterKind::Pointwise;
  std::size_t begin = 0;  // the reduced dims of the space
  std::size_t end = 0;
};

class Clusters {
 public:
  /// One cluster for every operation of the block that can be fused. `target` says what is worth fusing.
  Clusters(mlir::Block& block, const Target& target);

  static bool isFusible(mlir::Operation* op);
  /// What an operation runs over: its result, or what it reduces.
  static mlir::Type domainType(mlir::Operation* op);
  /// Can a kernel of this operation alone walk its operands?
  static bool walkable(mlir::Operation* op, const Target& target);

  [[nodiscard]] int numOps() const { return static_cast<int>(ops_.size()); }
  [[nodiscard]] mlir::Operation* op(int i) const { return ops_[i]; }
  /// -1 for operations that were not there at the start (regions that took the place of clusters).
  [[nodiscard]] int indexOf(mlir::Operation* op) const {
    auto it = index_.find(op);
    return it == index_.end() ? -1 : it->second;
  }
  /// -1 for operations that are never fused, and for -1.
  [[nodiscard]] int clusterOf(int op) const { return op < 0 ? -1 : clusterOf_[op]; }
  [[nodiscard]] const std::vector<Cluster>& all() const { return clusters_; }
  [[nodiscard]] const Target& target() const { return *target_; }

  /// Makes one cluster of two if that is legal, and worth it on the target. Through the values that flow between them
  /// where there are any, else side by side over the same space.
  bool merge(int a, int b);

  /// The space dims that the dims of an operation, an operand or a result run along.
  [[nodiscard]] const Dims& alignment(int op) const { return align_[static_cast<std::size_t>(op)]; }
  [[nodiscard]] Dims operandMap(int op, unsigned operand) const;
  [[nodiscard]] Dims resultMap(int op) const;
  /// The operation of the same cluster that computes the operand, through windows that only broadcast; -1 for others.
  [[nodiscard]] int producerInside(int op, unsigned operand) const;
  /// Can the kernel of a cluster walk what an operation of another one reads, if it ran along these dims of its space?
  [[nodiscard]] bool couldTake(int cluster, int op, const Dims& align) const;
  /// Is a result read by anything outside the cluster?
  [[nodiscard]] bool escapes(mlir::Value result, int cluster) const;

 private:
  struct Candidate;
  [[nodiscard]] Dims operandMap(int op, unsigned operand, const Dims& align) const;
  [[nodiscard]] Dims operandStrides(const Dims& space, int op, unsigned operand, const Dims& align) const;
  [[nodiscard]] Dims resultMap(int op, const Dims& align) const;
  bool mapSpaces(const Cluster& from, const Cluster& to, const Dims& known, Dims& map) const;
  bool gatherFlows(int producer, int consumer, std::vector<std::pair<Dims, Dims>>& flows) const;
  bool legal(Candidate& c);
  bool legalOperation(Candidate& c, int op);
  [[nodiscard]] bool isWorthIt(const Candidate& c) const;

  // Nodes: operations in no cluster, and clusters, each by the number of its first operation at the start. `order_` is
  // a topological order of them.
  struct Between {
    bool connected = false;
    bool forward = false;  // `nodes` are what the first leads to before the second; else what leads to the second
    std::vector<int> nodes;
  };
  [[nodiscard]] int nodeOf(int op) const { return clusterOf_[op] < 0 ? op : clusters_[clusterOf_[op]].node; }
  [[nodiscard]] bool returns(int window, int node) const;
  template <class Visit>
  void visitSuccessors(int node, Visit visit) const;
  template <class Visit>
  void visitPredecessors(int node, Visit visit) const;
  Between searchBetween(int first, int second);
  bool tryMerge(int a, int b);

  const Target* target_;  // never null
  std::vector<mlir::Operation*> ops_;
  llvm::DenseMap<mlir::Operation*, int> index_;
  std::vector<int> clusterOf_;
  std::vector<Dims> align_;  // of an operation's domain: its result, or what it reduces
  std::vector<Cluster> clusters_;
  std::vector<std::vector<int>> users_;
  std::vector<std::vector<int>> definitions_;
  LinearOrder order_;
  std::vector<int> visited_;  // by node: twice the number of the search that met it, and 1 where its second end did
  int searches_ = 0;
  llvm::DenseMap<std::pair<int, int>, std::size_t> refused_;  // how many operations the two clusters had
};

// How operations run over a space, of shapes alone.

/// The core dims [first, second) that a reduction of a shape over `dims` reduces.
std::pair<std::size_t, std::size_t> reducedCoreDims(DimsRef shape, DimsRef dims);
/// Which dims of the space those of an operand, which broadcasts to `whole`, run along.
Dims operandMap(const Dims& align, DimsRef whole, DimsRef shape);
/// Which dims of the space are left of a reduction's that reduces its core dims [begin, end).
Dims keptMap(const Dims& align, std::size_t begin, std::size_t end);

/// Do the dims [begin, end) of a space merge into one under these strides?
bool mergesInto(const Dims& space, const Dims& strides, std::size_t begin, std::size_t end);
/// Does a kernel of rows take an input of these strides, as it is or through contiguous memory?
bool readsRows(const Target& target, const Dims& space, const Dims& strides, std::size_t begin, std::size_t end);

}  // namespace tandem::passes
