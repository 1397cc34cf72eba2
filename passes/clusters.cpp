#include "passes/clusters.h"

#include <algorithm>
#include <queue>

#include "runtime/base/attrs.h"
#include "runtime/kernel/collapse.h"

namespace tandem::passes {

namespace {

// Nodes that a search for a path meets before it takes for granted that there is one.
constexpr std::size_t kMaxMet = 1024;

DimsRef shapeOfType(mlir::Type t) { return mlir::cast<mlir::RankedTensorType>(t).getShape(); }

std::pair<std::size_t, std::size_t> reducedCoreDims(td::ReduceOp op) {
  AttrReader attrs(op.getAttrs());
  return passes::reducedCoreDims(shapeOfType(op.getInputs()[0].getType()), attrs.list());
}

bool isFull(const Dims& map, std::size_t rank) { return map.size() == rank; }

std::int64_t product(const Dims& d, std::size_t begin, std::size_t end) {
  return numelOf(DimsRef(d).subspan(begin, end - begin));
}

}  // namespace

const char* clusterKindName(ClusterKind kind) {
  return kind == ClusterKind::Pointwise ? "pointwise" : kind == ClusterKind::Row ? "row" : "column";
}

std::pair<std::size_t, std::size_t> reducedCoreDims(DimsRef shape, DimsRef dims) {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t core = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (std::ranges::find(dims, static_cast<std::int64_t>(d)) != dims.end()) {
      if (end == 0) begin = core;
      end = core + 1;
    }
    ++core;
  }
  return {begin, end};
}

Dims operandMap(const Dims& align, DimsRef whole, DimsRef shape) {
  Dims map;
  std::size_t core = 0;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    if (whole[d] == 1) continue;
    const std::size_t missing = whole.size() - shape.size();
    if (d >= missing && shape[d - missing] != 1) map.push_back(align[core]);
    ++core;
  }
  return map;
}

Dims keptMap(const Dims& align, std::size_t begin, std::size_t end) {
  Dims map;
  for (std::size_t k = 0; k < align.size(); ++k)
    if (k < begin || k >= end) map.push_back(align[k]);
  return map;
}

bool mergesInto(const Dims& space, const Dims& strides, std::size_t begin, std::size_t end) {
  for (std::size_t d = begin; d + 1 < end; ++d)
    if (strides[d] != strides[d + 1] * space[d + 1]) return false;
  return true;
}

bool readsRows(const Target& target, const Dims& space, const Dims& strides, std::size_t begin, std::size_t end) {
  if (mergesInto(space, strides, begin, end)) return true;
  // What is there once for many elements is better stored with what it is taken into.
  return target.takesStridedRows &&
         llvm::none_of(DimsRef(strides).subspan(begin, end - begin), [](auto s) { return s == 0; });
}

bool Clusters::isFusible(mlir::Operation* op) {
  return mlir::isa<td::PointwiseOp, td::ReduceOp, td::RandomOp, td::FrameOp>(op);
}

mlir::Type Clusters::domainType(mlir::Operation* op) {
  return mlir::isa<td::ReduceOp>(op) ? op->getOperand(0).getType() : op->getResult(0).getType();
}

bool Clusters::walkable(mlir::Operation* op, const Target& target) {
  if (mlir::isa<td::FrameOp>(op)) return true;
  DimsRef whole = shapeOfType(domainType(op));
  Dims shape(whole);
  std::vector<Dims> strides{contiguousStrides(whole)};
  for (mlir::Value v : op->getOperands())
    if (mlir::isa<mlir::RankedTensorType>(v.getType()))
      strides.push_back(broadcastStrides(td::shapeOf(v), placeOf(v).strides, whole));
  auto reduce = mlir::dyn_cast<td::ReduceOp>(op);
  if (!reduce) {
    collapsePointwise(shape, strides);
    return shape.size() <= kMaxOuterRank + 1;
  }
  // What is stored moves along the kept dims only, whose order it keeps.
  AttrReader attrs(reduce.getAttrs());
  DimsRef dims = attrs.list();
  for (std::int64_t d : dims) strides[0][static_cast<std::size_t>(d)] = 0;
  auto [begin, end] = reducedCoreDims(reduce);
  Dims core = coreDims(whole);
  for (Dims& s : strides) s = coreStrides(whole, s);
  if (end == core.size()) {
    for (Dims& s : strides)
      if (!mergesInto(core, s, begin, end) && readsRows(target, core, s, begin, end)) s = contiguousStrides(core);
    return collapseRow(core, strides, begin) && core.size() <= kMaxOuterRank + 1;
  }
  return collapseColumn(core, strides, begin, end) && core.size() <= kMaxOuterRank + 2;
}

Clusters::Clusters(mlir::Block& block, const Target& target)
    : target_(&target), order_(static_cast<int>(block.getOperations().size())) {
  for (mlir::Operation& op : block) {
    int i = numOps();
    index_[&op] = i;
    ops_.push_back(&op);
    clusterOf_.push_back(-1);
    align_.emplace_back();
    if (!isFusible(&op)) continue;
    Cluster c;
    c.ops = {i};
    c.node = i;
    c.space = coreDims(shapeOfType(domainType(&op)));
    c.begin = c.end = c.space.size();
    if (auto reduce = mlir::dyn_cast<td::ReduceOp>(op)) {
      std::tie(c.begin, c.end) = reducedCoreDims(reduce);
      c.kind = c.end == c.space.size() ? ClusterKind::Row : ClusterKind::Column;
    }
    for (std::size_t d = 0; d < c.space.size(); ++d) align_[i].push_back(static_cast<std::int64_t>(d));
    clusterOf_[i] = static_cast<int>(clusters_.size());
    clusters_.push_back(std::move(c));
  }
  users_.resize(ops_.size());
  definitions_.resize(ops_.size());
  for (int i = 0; i < numOps(); ++i) {
    for (mlir::Value v : ops_[i]->getOperands()) {
      mlir::Operation* def = v.getDefiningOp();
      if (def == nullptr) continue;
      int from = indexOf(def);
      if (!definitions_[i].empty() && definitions_[i].back() == from) continue;
      definitions_[i].push_back(from);
      users_[from].push_back(i);
    }
  }
  visited_.resize(ops_.size(), 0);
}

Dims Clusters::operandMap(int op, unsigned operand) const { return operandMap(op, operand, align_[op]); }
Dims Clusters::resultMap(int op) const { return resultMap(op, align_[op]); }

Dims Clusters::operandMap(int op, unsigned operand, const Dims& align) const {
  mlir::Type type = ops_[op]->getOperand(operand).getType();
  // The value of a frame is found by its place in the whole.
  if (mlir::isa<td::ReduceOp>(ops_[op]) || (mlir::isa<td::FrameOp>(ops_[op]) && operand == 0)) return align;
  if (!mlir::isa<mlir::RankedTensorType>(type)) return {};
  return passes::operandMap(align, shapeOfType(domainType(ops_[op])), shapeOfType(type));
}

Dims Clusters::operandStrides(const Dims& space, int op, unsigned operand, const Dims& align) const {
  Dims map = operandMap(op, operand, align);
  if (mlir::isa<td::FrameOp>(ops_[op]) && operand == 0)
    return spread(space, map, contiguousStrides(coreDims(shapeOfType(domainType(ops_[op])))));
  return stridesOver(space, map, ops_[op]->getOperand(operand));
}

bool Clusters::couldTake(int cluster, int op, const Dims& align) const {
  const Cluster& m = clusters_[static_cast<std::size_t>(cluster)];
  if (m.kind == ClusterKind::Pointwise) return true;
  for (unsigned k = 0; k < ops_[op]->getNumOperands(); ++k)
    if (mlir::isa<mlir::RankedTensorType>(ops_[op]->getOperand(k).getType()) &&
        !mergesInto(m.space, operandStrides(m.space, op, k, align), m.begin, m.end))
      return false;
  return true;
}

Dims Clusters::resultMap(int op, const Dims& align) const {
  auto reduce = mlir::dyn_cast<td::ReduceOp>(ops_[op]);
  if (!reduce) return align;
  auto [begin, end] = reducedCoreDims(reduce);
  return keptMap(align, begin, end);
}

int Clusters::producerInside(int op, unsigned operand) const {
  mlir::Value v = ops_[op]->getOperand(operand);
  if (auto window = v.getDefiningOp<td::WindowOp>()) {
    if (!broadcastMap(window)) return -1;
    v = window.getSource();
  }
  mlir::Operation* def = v.getDefiningOp();
  if (def == nullptr) return -1;
  int producer = indexOf(def);
  return producer >= 0 && clusterOf_[producer] >= 0 && clusterOf_[producer] == clusterOf_[op] ? producer : -1;
}

namespace {
// Is a value read by operations that are not `inside`, or through a window that rearranges it?
template <class Inside>
bool leaves(mlir::Value value, const Inside& inside) {
  return llvm::any_of(value.getUsers(), [&](mlir::Operation* user) {
    if (auto window = mlir::dyn_cast<td::WindowOp>(user))
      return !broadcastMap(window) || leaves(window.getResult(), inside);
    return !inside(user);
  });
}
}  // namespace

bool Clusters::escapes(mlir::Value result, int cluster) const {
  return leaves(result, [&](mlir::Operation* user) { return clusterOf(indexOf(user)) == cluster; });
}

// The two clusters as if they were one. `align` of the operations of either, in the larger space.
struct Clusters::Candidate {
  Cluster merged;
  int a = -1;
  int b = -1;
  llvm::DenseMap<int, Dims> moved;  // alignments that differ from align_
  std::size_t inputs = 0;

  [[nodiscard]] bool has(const Clusters& c, int op) const { return c.clusterOf_[op] == a || c.clusterOf_[op] == b; }
  [[nodiscard]] const Dims& align(const Clusters& c, int op) const {
    auto it = moved.find(op);
    return it == moved.end() ? c.align_[op] : it->second;
  }
};

// Pairs (map in the producer's space, map in the consumer's space) of every value that flows from one to the other.
// False where one is read through a window that rearranges it, or by a frame: the whole value must exist first.
bool Clusters::gatherFlows(int producer, int consumer, std::vector<std::pair<Dims, Dims>>& flows) const {
  for (int op : clusters_[consumer].ops) {
    for (unsigned k = 0; k < ops_[op]->getNumOperands(); ++k) {
      mlir::Value v = ops_[op]->getOperand(k);
      Dims map;
      std::optional<Dims> window;
      if (auto w = v.getDefiningOp<td::WindowOp>()) {
        v = w.getSource();
        window = broadcastMap(w);
        if (!window) {
          mlir::Operation* def = v.getDefiningOp();
          if (def != nullptr && clusterOf_[indexOf(def)] == producer) return false;
          continue;
        }
      }
      mlir::Operation* def = v.getDefiningOp();
      if (def == nullptr || clusterOf_[indexOf(def)] != producer) continue;
      if (mlir::isa<td::FrameOp>(ops_[op])) return false;
      Dims use = operandMap(op, k);
      if (window) {
        Dims through;
        for (std::size_t d = 0; d < window->size(); ++d)
          if ((*window)[d] >= 0) through.push_back(use[d]);
        use = through;
      }
      flows.emplace_back(resultMap(indexOf(def)), use);
    }
  }
  return true;
}

// Completes `known` (-1: open) to a strictly increasing map of all dims of `from` to dims of `to` of the same size.
bool Clusters::mapSpaces(const Cluster& from, const Cluster& to, const Dims& known, Dims& map) const {
  map = known;
  auto bound = static_cast<std::int64_t>(to.space.size());
  for (std::size_t d = from.space.size(); d-- > 0;) {
    if (map[d] < 0) {
      std::int64_t least = -1;
      for (std::size_t e = 0; e < d; ++e) least = std::max(least, known[e]);
      for (std::int64_t t = bound - 1; t > least && map[d] < 0; --t)
        if (to.space[static_cast<std::size_t>(t)] == from.space[d]) map[d] = t;
    }
    if (map[d] < 0 || map[d] >= bound) return false;
    bound = map[d];
  }
  return true;
}

bool Clusters::merge(int a, int b) {
  if (a == b) return false;
  std::size_t operations = clusters_[a].ops.size() + clusters_[b].ops.size();
  if (operations > static_cast<std::size_t>(target_->mostOperations)) return false;
  auto refused = refused_.find({a, b});
  if (refused != refused_.end() && refused->second == operations) return false;
  if (tryMerge(a, b)) return true;
  refused_[{a, b}] = operations;
  return false;
}

bool Clusters::tryMerge(int a, int b) {
  std::vector<std::pair<Dims, Dims>> flows;
  if (!gatherFlows(a, b, flows)) return false;
  if (flows.empty()) {
    if (!gatherFlows(b, a, flows)) return false;
    if (!flows.empty()) {
      std::swap(a, b);
    } else if (!(clusters_[a].space == clusters_[b].space)) {
      return false;
    }
  }
  bool aLarger = numelOf(clusters_[a].space) > numelOf(clusters_[b].space) ||
                 (numelOf(clusters_[a].space) == numelOf(clusters_[b].space) &&
                  clusters_[a].space.size() > clusters_[b].space.size());
  int large = aLarger ? a : b;
  int small = aLarger ? b : a;
  Dims known(clusters_[small].space.size(), -1);
  for (const auto& [produced, used] : flows) {
    const Dims& from = aLarger ? used : produced;
    const Dims& to = aLarger ? produced : used;
    for (std::size_t k = 0; k < from.size(); ++k) {
      std::int64_t& slot = known[static_cast<std::size_t>(from[k])];
      if (slot >= 0 && slot != to[k]) return false;
      slot = to[k];
    }
  }
  Candidate c;
  c.merged = clusters_[large];
  c.a = a;
  c.b = b;
  Dims map;
  if (!mapSpaces(clusters_[small], clusters_[large], known, map)) return false;
  for (int op : clusters_[small].ops) {
    Dims align;
    for (std::int64_t d : align_[op]) align.push_back(map[static_cast<std::size_t>(d)]);
    c.moved[op] = align;
  }
  c.merged.ops.insert(c.merged.ops.end(), clusters_[small].ops.begin(), clusters_[small].ops.end());
  std::sort(c.merged.ops.begin(), c.merged.ops.end());
  if (!legal(c) || !isWorthIt(c)) return false;
  int first = clusters_[a].node;
  int second = clusters_[b].node;
  if (order_.before(second, first)) std::swap(first, second);
  Between between = searchBetween(first, second);
  if (between.connected) return false;
  // The first goes behind the second, with all that must stay behind it; or the second before the first.
  between.nodes.push_back(between.forward ? first : second);
  if (between.forward)
    order_.moveAfter(std::move(between.nodes), second);
  else
    order_.moveBefore(std::move(between.nodes), first);

  for (auto& [op, align] : c.moved) align_[op] = align;
  for (int op : clusters_[small].ops) clusterOf_[op] = large;
  clusters_[small].ops.clear();
  clusters_[large] = std::move(c.merged);
  return true;
}

bool Clusters::legal(Candidate& c) {
  Cluster& m = c.merged;
  std::size_t rank = m.space.size();
  if (rank > kMaxOuterRank + 1) return false;
  m.kind = ClusterKind::Pointwise;
  m.begin = m.end = rank;
  for (int op : m.ops) {
    auto reduce = mlir::dyn_cast<td::ReduceOp>(ops_[op]);
    if (!reduce) continue;
    auto [begin, end] = reducedCoreDims(reduce);
    if (!isFull(c.align(*this, op), rank)) return false;
    ClusterKind kind = end == rank ? ClusterKind::Row : ClusterKind::Column;
    if (m.kind != ClusterKind::Pointwise && (m.kind != kind || m.begin != begin || m.end != end)) return false;
    m.kind = kind;
    m.begin = begin;
    m.end = end;
  }
  return std::all_of(m.ops.begin(), m.ops.end(), [&](int op) { return legalOperation(c, op); }) &&
         c.inputs <= static_cast<std::size_t>(target_->mostInputs);
}

namespace {
/// Is the place of an element in its own shape part of its value (random numbers, ramps)?
bool readsIndex(mlir::Operation* op) {
  if (auto pointwise = mlir::dyn_cast<td::PointwiseOp>(op)) return facts(pointwise.getOp().getCode()).usesIndex;
  return mlir::isa<td::RandomOp>(op);
}
}  // namespace

bool Clusters::legalOperation(Candidate& c, int op) {
  const Cluster& m = c.merged;
  std::size_t rank = m.space.size();
  const Dims& align = c.align(*this, op);
  bool full = isFull(align, rank);
  bool reduces = mlir::isa<td::ReduceOp>(ops_[op]);
  if (!full) {
    std::size_t inner = m.kind == ClusterKind::Pointwise ? (rank == 0 ? 0 : rank - 1) : m.begin;
    bool uniform =
        std::all_of(align.begin(), align.end(), [&](std::int64_t d) { return d < static_cast<std::int64_t>(inner); });
    if (!uniform || m.kind == ClusterKind::Column || readsIndex(ops_[op])) return false;
  }
  // A column kernel may walk its outer dims in another order than the logical one.
  if (m.kind == ClusterKind::Column && readsIndex(ops_[op])) return false;
  bool frames = mlir::isa<td::FrameOp>(ops_[op]);
  if (frames && !full) return false;
  for (unsigned k = 0; k < ops_[op]->getNumOperands(); ++k) {
    mlir::Value v = ops_[op]->getOperand(k);
    if (!mlir::isa<mlir::RankedTensorType>(v.getType())) continue;
    mlir::Value root = placeOf(v).value;
    mlir::Operation* def = root.getDefiningOp();
    if (def != nullptr && c.has(*this, indexOf(def))) {
      if (frames) return false;
      // A finished column is stored and read again.
      if (mlir::isa<td::ReduceOp>(def) && m.kind == ClusterKind::Column) return false;
      continue;
    }
    ++c.inputs;
    if (m.kind == ClusterKind::Pointwise) continue;
    Dims strides = operandStrides(m.space, op, k, align);
    if (m.kind == ClusterKind::Row ? !readsRows(*target_, m.space, strides, m.begin, m.end)
                                   : !mergesInto(m.space, strides, m.begin, m.end))
      return false;
  }
  for (mlir::Value result : ops_[op]->getResults()) {
    bool escapes = false;
    auto visit = [&](mlir::Value v, auto&& self) -> bool {
      for (mlir::Operation* user : v.getUsers()) {
        auto window = mlir::dyn_cast<td::WindowOp>(user);
        if (!window) {
          escapes |= !c.has(*this, indexOf(user));
        } else if (broadcastMap(window)) {
          if (!self(window.getResult(), self)) return false;
        } else {
          escapes = true;
          // What the window rearranges must be complete before it is read.
          for (mlir::Operation* reader : window->getUsers())
            if (c.has(*this, indexOf(reader))) return false;
        }
      }
      return true;
    };
    if (!visit(result, visit)) return false;
    if (!escapes) continue;
    if (m.kind == ClusterKind::Column) {
      if (!reduces) return false;
    } else if (m.kind == ClusterKind::Row) {
      // Either elementwise or one a row.
      if (!reduces && !full && align.size() != m.begin) return false;
    } else if (!full) {
      return false;
    }
  }
  return true;
}

// Of few long rows the target reduces blocks, where nothing is left to do with a finished row but to store it: it is
// then worth more than a pass over memory to leave out what follows a reduction, and what is not one.
bool Clusters::isWorthIt(const Candidate& c) const {
  const Cluster& m = c.merged;
  if (m.kind != ClusterKind::Row ||
      !target_->splitsRows(product(m.space, 0, m.begin), product(m.space, m.begin, m.space.size())))
    return true;
  auto inside = [&](mlir::Operation* op) { return c.has(*this, indexOf(op)); };
  return llvm::all_of(m.ops, [&](int op) {
    bool readsFinished = llvm::any_of(ops_[op]->getOperands(), [&](mlir::Value v) {
      if (!mlir::isa<mlir::RankedTensorType>(v.getType())) return false;
      mlir::Operation* def = placeOf(v).value.getDefiningOp();
      return def != nullptr && mlir::isa<td::ReduceOp>(def) && inside(def);
    });
    return !readsFinished && (mlir::isa<td::ReduceOp>(ops_[op]) ||
                              llvm::none_of(ops_[op]->getResults(), [&](mlir::Value v) { return leaves(v, inside); }));
  });
}

// Is this a window on what the node computes? Its readers in that node have copies of it inside.
bool Clusters::returns(int window, int node) const {
  return mlir::isa<td::WindowOp>(ops_[window]) && !definitions_[window].empty() &&
         nodeOf(definitions_[window].front()) == node;
}

template <class Visit>
void Clusters::visitSuccessors(int node, Visit visit) const {
  auto from = [&](int op) {
    for (int user : users_[op])
      if (int next = nodeOf(user); next != node && !returns(op, next)) visit(op, next);
  };
  if (clusterOf_[node] < 0) return from(node);
  for (int op : clusters_[clusterOf_[node]].ops) from(op);
}

template <class Visit>
void Clusters::visitPredecessors(int node, Visit visit) const {
  auto to = [&](int op) {
    for (int def : definitions_[op])
      if (int previous = nodeOf(def); previous != node && !returns(def, node)) visit(def, previous);
  };
  if (clusterOf_[node] < 0) return to(node);
  for (int op : clusters_[clusterOf_[node]].ops) to(op);
}

// Does a path lead from `first` to `second` through anything else? Merging them would then close a circle. All of it
// stands between them. Windows are no detour: they cost nothing and are copied into the region. The search goes on from
// both ends, from what is nearest the other end, until one of them has met all that it can.
Clusters::Between Clusters::searchBetween(int first, int second) {
  using Open = std::pair<std::uint64_t, int>;
  std::priority_queue<Open> ahead;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> back;
  std::vector<int> metAhead;
  std::vector<int> metBack;
  const int mark = 2 * ++searches_;
  Between connected;
  connected.connected = true;
  bool meets = false;
  auto goAhead = [&](int node) {
    visitSuccessors(node, [&](int op, int next) {
      if (next == second) {
        meets |= node != first && !returns(op, first);
      } else if (order_.before(next, second)) {
        int& visited = visited_[static_cast<std::size_t>(next)];
        meets |= visited == mark + 1;
        if (visited >= mark) return;
        visited = mark;
        metAhead.push_back(next);
        ahead.emplace(order_.place(next), next);
      }
    });
  };
  auto goBack = [&](int node) {
    visitPredecessors(node, [&](int op, int previous) {
      if (previous == first) {
        meets |= node != second;
      } else if (order_.before(first, previous) && !(node == second && returns(op, first))) {
        int& visited = visited_[static_cast<std::size_t>(previous)];
        meets |= visited == mark;
        if (visited >= mark) return;
        visited = mark + 1;
        metBack.push_back(previous);
        back.emplace(order_.place(previous), previous);
      }
    });
  };
  goAhead(first);
  goBack(second);
  while (!meets && metAhead.size() + metBack.size() < kMaxMet) {
    if (ahead.empty()) return {false, true, std::move(metAhead)};
    int node = ahead.top().second;
    ahead.pop();
    goAhead(node);
    if (meets) break;
    if (back.empty()) return {false, false, std::move(metBack)};
    node = back.top().second;
    back.pop();
    goBack(node);
  }
  return connected;
}

}  // namespace tandem::passes
