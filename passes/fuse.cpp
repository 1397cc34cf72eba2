// Fuse: operations that can share one pass over memory become one region, one kernel. Every pointwise, reducing and
// random operation ends up in a region, if alone; library calls, writes and windows stay outside, and a region reads
// through windows by strides. Without improvement every operation is a region of its own.
//
// Greedy: of all values that flow between two clusters, the one of most bytes first, if the merged cluster is legal
// (clusters.h) and closes no circle; then clusters that read the same large value. What costs less to compute twice
// than to store is (recompute.h), and all is grouped again.
#include <algorithm>
#include <queue>

#include "codegen/register.h"
#include "passes/clusters.h"
#include "passes/passes.h"
#include "passes/recompute.h"

namespace tandem::passes {

namespace {

struct Chance {
  std::int64_t bytes;
  int from;
  int to;
};

class Fuse : public mlir::PassWrapper<Fuse, FunctionPass> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Fuse)
  Fuse(bool improve, const Target& target, bool keepsAlignments)
      : improve_(improve), keepsAlignments_(keepsAlignments), target_(target) {}
  llvm::StringRef getArgument() const override { return "td-fuse"; }
  llvm::StringRef getName() const override { return "fuse"; }
  llvm::StringRef getDescription() const override { return "Operations that share a pass over memory become regions"; }

  void runOnOperation() override {
    mlir::Block& block = getOperation().getBody().front();
    for (mlir::Operation& op : llvm::make_early_inc_range(block))
      if (Clusters::isFusible(&op) && !Clusters::walkable(&op, target_)) makeDense(&op);
    Clusters clusters = clustersOf(block, {});
    if (improve_) {
      std::vector<Copied> copies = recompute(clusters);
      if (!copies.empty()) {
        takeBack(copies, clustersOf(block, copies));
        eraseUnused(block, copies);
        clusters = clustersOf(block, copies);
      }
    }
    build(clusters, block);
  }

 private:
  Clusters clustersOf(mlir::Block& block, const std::vector<Copied>& copies) const {
    Clusters clusters(block, target_);
    if (improve_) {
      joinReaders(copies, clusters);
      mergeAlong(clusters, flows(clusters));
      mergeAlong(clusters, siblings(clusters, block));
    }
    return clusters;
  }

  static void eraseUnused(mlir::Block& block, std::vector<Copied>& copies) {
    for (mlir::Operation& op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (!Clusters::isFusible(&op) || !op.use_empty()) continue;
      llvm::erase_if(copies, [&](const Copied& it) { return it.copy == &op || it.reader == &op; });
      op.erase();
    }
  }

  // Operands that no kernel can walk (too many dims that do not merge, a reduced group that does not) become copies,
  // contiguous in the shape of the iteration.
  static void makeDense(mlir::Operation* op) {
    mlir::OpBuilder b(op);
    mlir::Type domain = Clusters::domainType(op);
    DimsRef whole = mlir::cast<mlir::RankedTensorType>(domain).getShape();
    for (mlir::OpOperand& operand : op->getOpOperands()) {
      mlir::Value v = operand.get();
      auto type = mlir::dyn_cast<mlir::RankedTensorType>(v.getType());
      if (!type || (type.getShape() == mlir::ArrayRef(whole.data(), whole.size()) && placeOf(v).value == v)) continue;
      Place place = placeOf(v);
      Dims strides = broadcastStrides(td::shapeOf(v), place.strides, whole);
      type = type.clone(mlir::ArrayRef(whole.data(), whole.size()));
      mlir::Value spread = td::WindowOp::create(b, op->getLoc(), type, place.value,
                                                mlir::ArrayRef(strides.data(), strides.size()), place.offset);
      operand.set(td::CopyOp::create(b, op->getLoc(), type, spread));
    }
  }

  static std::vector<Chance> flows(const Clusters& c) {
    std::vector<Chance> chances;
    for (int to = 0; to < c.numOps(); ++to) {
      if (c.clusterOf(to) < 0) continue;
      for (mlir::Value v : c.op(to)->getOperands()) {
        if (!mlir::isa<mlir::RankedTensorType>(v.getType())) continue;
        mlir::Value root = placeOf(v).value;
        mlir::Operation* def = root.getDefiningOp();
        if (def != nullptr && c.clusterOf(c.indexOf(def)) >= 0)
          chances.push_back({td::bytesOf(root.getType()), c.indexOf(def), to});
      }
    }
    return chances;
  }

  static std::vector<Chance> siblings(const Clusters& c, mlir::Block& block) {
    std::vector<Chance> chances;
    auto visit = [&](mlir::Value v) {
      if (!mlir::isa<mlir::RankedTensorType>(v.getType()) || td::bytesOf(v.getType()) < c.target().leastSharedBytes)
        return;
      int last = -1;
      for (mlir::Operation* user : v.getUsers()) {
        int u = c.indexOf(user);
        if (c.clusterOf(u) < 0) continue;
        if (last >= 0 && c.clusterOf(last) != c.clusterOf(u)) chances.push_back({td::bytesOf(v.getType()), u, last});
        last = u;
      }
    };
    for (mlir::Value v : block.getArguments()) visit(v);
    for (mlir::Operation& op : block)
      for (mlir::Value v : op.getResults()) visit(v);
    return chances;
  }

  static void mergeAlong(Clusters& c, std::vector<Chance> chances) {
    std::stable_sort(chances.begin(), chances.end(),
                     [](const Chance& a, const Chance& b) { return a.bytes > b.bytes; });
    // A second round: what one merge forbade another may have made legal.
    for (int round = 0; round < 2; ++round) {
      bool changed = false;
      for (const Chance& chance : chances) changed |= c.merge(c.clusterOf(chance.from), c.clusterOf(chance.to));
      if (!changed) return;
    }
  }

  // Regions take the place of clusters, in an order where everything is computed before it is read.
  void build(Clusters& c, mlir::Block& block) const {
    std::vector<int> order = schedule(c);
    mlir::Operation* end = block.getTerminator();
    for (int item : order) {
      int cluster = c.clusterOf(item);
      if (cluster < 0)
        c.op(item)->moveBefore(end);
      else
        buildRegion(c, cluster, end);
    }
    // Windows that only regions read have copies inside.
    for (mlir::Operation& op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (mlir::isa<td::WindowOp>(op) && op.use_empty()) op.erase();
  }

  // First operations of clusters, and operations outside of any.
  static std::vector<int> schedule(const Clusters& c) {
    int n = c.numOps() - 1;  // without the terminator
    auto leader = [&](int op) { return c.clusterOf(op) < 0 ? op : c.all()[c.clusterOf(op)].ops.front(); };
    std::vector<int> waits(c.numOps(), 0);
    std::vector<std::vector<int>> next(c.numOps());
    for (int op = 0; op < n; ++op) {
      for (mlir::Value v : c.op(op)->getOperands()) {
        mlir::Operation* def = v.getDefiningOp();
        if (def == nullptr) continue;
        int from = leader(c.indexOf(def));
        if (from == leader(op)) continue;
        // A window inside a region is a copy of this one, which has to wait for the region.
        auto window = mlir::dyn_cast<td::WindowOp>(def);
        if (window && window.getSource().getDefiningOp() != nullptr &&
            leader(c.indexOf(window.getSource().getDefiningOp())) == leader(op))
          continue;
        next[from].push_back(leader(op));
        ++waits[leader(op)];
      }
    }
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int op = 0; op < n; ++op)
      if (leader(op) == op && waits[op] == 0) ready.push(op);
    std::vector<int> order;
    while (!ready.empty()) {
      int op = ready.top();
      ready.pop();
      order.push_back(op);
      for (int user : next[op])
        if (--waits[user] == 0) ready.push(user);
    }
    return order;
  }

  void buildRegion(Clusters& c, int number, mlir::Operation* before) const {
    const Cluster& cluster = c.all()[number];
    mlir::OpBuilder b(before);
    mlir::Location loc = c.op(cluster.ops.back())->getLoc();

    // What comes in: values with the way they run along the space; one value may run in two ways.
    llvm::SmallVector<mlir::Value> inputs;
    llvm::SmallVector<Dims> maps;
    std::vector<std::vector<int>> operandInput(cluster.ops.size());
    for (std::size_t i = 0; i < cluster.ops.size(); ++i) {
      int op = cluster.ops[i];
      for (unsigned k = 0; k < c.op(op)->getNumOperands(); ++k) {
        if (c.producerInside(op, k) >= 0) {
          operandInput[i].push_back(-1);
          continue;
        }
        mlir::Value v = c.op(op)->getOperand(k);
        Dims map = c.operandMap(op, k);
        // A frame's value and its fill, in this order, are inputs of their own.
        std::size_t at = mlir::isa<td::FrameOp>(c.op(op)) ? inputs.size() : 0;
        while (at < inputs.size() && !(inputs[at] == v && maps[at] == map)) ++at;
        if (at == inputs.size()) {
          inputs.push_back(v);
          maps.push_back(map);
        }
        operandInput[i].push_back(static_cast<int>(at));
      }
    }
    llvm::SmallVector<mlir::Value> results;
    for (int op : cluster.ops)
      for (mlir::Value r : c.op(op)->getResults())
        if (c.escapes(r, number)) {
          results.push_back(r);
          maps.push_back(c.resultMap(op));
        }

    llvm::SmallVector<mlir::Attribute> mapAttrs;
    for (const Dims& m : maps) mapAttrs.push_back(b.getDenseI64ArrayAttr({m.data(), m.size()}));
    auto region =
        td::RegionOp::create(b, loc, mlir::TypeRange(mlir::ValueRange(results)), inputs, clusterKindName(cluster.kind),
                             mlir::ArrayRef<std::int64_t>{cluster.space.data(), cluster.space.size()}, cluster.begin,
                             cluster.end, b.getArrayAttr(mapAttrs));
    if (keepsAlignments_) {
      llvm::SmallVector<mlir::Attribute> alignments;
      for (int op : cluster.ops) {
        const Dims& a = c.alignment(op);
        alignments.push_back(b.getDenseI64ArrayAttr({a.data(), a.size()}));
      }
      region->setAttr(kAlignments, b.getArrayAttr(alignments));
    }
    mlir::Block* body = b.createBlock(&region.getBody());
    for (mlir::Value v : inputs) body->addArgument(v.getType(), v.getLoc());
    auto inside = [&](mlir::Operation* user) {
      return user->getBlock() == body || std::binary_search(cluster.ops.begin(), cluster.ops.end(), c.indexOf(user));
    };
    for (std::size_t i = 0; i < cluster.ops.size(); ++i) {
      mlir::Operation* op = c.op(cluster.ops[i]);
      op->moveBefore(body, body->end());
      for (unsigned k = 0; k < op->getNumOperands(); ++k) {
        if (operandInput[i][k] >= 0) {
          op->setOperand(k, body->getArgument(static_cast<unsigned>(operandInput[i][k])));
        } else if (auto window = op->getOperand(k).getDefiningOp<td::WindowOp>()) {
          mlir::OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(op);
          op->setOperand(k, b.clone(*window)->getResult(0));
        }
      }
    }
    b.setInsertionPointToEnd(body);
    td::YieldOp::create(b, loc, results);
    for (auto [result, outer] : llvm::zip(results, region.getResults())) {
      mlir::Value(result).replaceUsesWithIf(outer, [&](mlir::OpOperand& use) { return !inside(use.getOwner()); });
    }
  }

  bool improve_;
  bool keepsAlignments_;
  const Target& target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createFuse(bool improve, Device device, bool keepsAlignments) {
  return std::make_unique<Fuse>(improve, codegen::targetOf(device), keepsAlignments);
}

}  // namespace tandem::passes
