#include "passes/ordering.h"

#include <queue>

#include "passes/windows.h"

namespace tandem::passes {

Ordering::Ordering(mlir::Block& block) : block_(block), line_(static_cast<int>(block.getOperations().size())) {
  for (mlir::Operation& op : block) {
    number_[&op] = static_cast<int>(ops_.size());
    ops_.push_back(&op);
  }
  after_.resize(ops_.size());
  for (int i = 0; i < static_cast<int>(ops_.size()); ++i) link(i);
}

int Ordering::number(mlir::Operation* op) { return number_.find(op)->second; }

void Ordering::link(int op) {
  for (mlir::Value v : ops_[op]->getOperands())
    if (mlir::Operation* def = v.getDefiningOp()) after_[number(def)].push_back(op);
}

void Ordering::add(mlir::Operation* op, mlir::Operation* reader) {
  number_[op] = static_cast<int>(ops_.size());
  ops_.push_back(op);
  after_.emplace_back();
  line_.addBefore(number(reader));
  link(number(op));
  after_.back().push_back(number(reader));
}

bool Ordering::tryBefore(llvm::ArrayRef<mlir::Operation*> before, mlir::Operation* op) {
  const int from = number(op);
  int last = from;
  for (mlir::Operation* b : before) {
    if (b == op || b == block_.getTerminator()) return false;
    if (line_.before(last, number(b))) last = number(b);
  }
  // What `op` leads to stands behind it. Up to the last of `before` that is none of them, or goes behind them too.
  visited_.resize(ops_.size(), 0);
  ++searches_;
  std::vector<int> behind;
  std::vector<int> open;
  if (last != from) open.push_back(from);
  while (!open.empty()) {
    int at = open.back();
    open.pop_back();
    if (visited_[at] == searches_ || line_.before(last, at)) continue;
    visited_[at] = searches_;
    behind.push_back(at);
    open.insert(open.end(), after_[at].begin(), after_[at].end());
  }
  for (mlir::Operation* b : before)
    if (visited_[number(b)] == searches_) return false;
  if (!behind.empty()) line_.moveAfter(std::move(behind), last);
  for (mlir::Operation* b : before) after_[number(b)].push_back(from);
  return true;
}

void Ordering::apply() {
  std::vector<int> place(ops_.size());
  std::vector<int> byPlace;
  for (mlir::Operation& op : block_) {
    place[number(&op)] = static_cast<int>(byPlace.size());
    byPlace.push_back(number(&op));
  }
  std::vector<int> waits(ops_.size(), 0);
  for (const auto& next : after_)
    for (int n : next) ++waits[n];
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int op : byPlace)
    if (waits[op] == 0) ready.push(place[op]);
  mlir::Operation* end = block_.getTerminator();
  while (!ready.empty()) {
    int op = byPlace[ready.top()];
    ready.pop();
    if (ops_[op] != end) ops_[op]->moveBefore(end);
    for (int n : after_[op])
      if (--waits[n] == 0) ready.push(place[n]);
  }
}

namespace {

bool mayUpdate(td::LibraryOp call, mlir::Value input) {
  if (!facts(call.getOp().getCode()).updates) return false;
  for (auto [k, v] : llvm::enumerate(call.getInputs())) {
    if (!td::isTensorType(v.getType()) || (placeOf(v).value == input) == (k == 0)) continue;
    return false;
  }
  const mlir::Value first = call.getInputs()[0];
  const Place place = placeOf(first);
  return place.offset == 0 && td::bytesOf(first.getType()) == td::bytesOf(input.getType()) &&
         isContiguous(td::shapeOf(first), place.strides);
}

bool mayOverwrite(td::RegionOp region, unsigned result, mlir::Value input) {
  mlir::ArrayAttr maps = region.getMaps();
  std::size_t numInputs = region.getInputs().size();
  mlir::Type type = region.getResult(result).getType();
  auto map = mlir::cast<mlir::DenseI64ArrayAttr>(maps[numInputs + result]);
  // Only what is stored element by element; a row's result is stored once the row is done, which others may still read.
  if (map.size() != static_cast<std::int64_t>(region.getSpace().size())) return false;
  bool any = false;
  for (std::size_t k = 0; k < numInputs; ++k) {
    mlir::Value v = region.getInputs()[k];
    if (!mlir::isa<mlir::RankedTensorType>(v.getType()) || placeOf(v).value != input) continue;
    any = true;
    if (maps[k] != map || td::bytesOf(v.getType()) != td::bytesOf(type) ||
        itemSize(td::dtypeOf(v.getType())) != itemSize(td::dtypeOf(type)))
      return false;
    Place place = placeOf(v);
    if (place.offset != 0 || !isContiguous(td::shapeOf(v), place.strides)) return false;
  }
  return any;
}

}  // namespace

bool mayOverwrite(mlir::Operation* op, unsigned result, mlir::Value input) {
  if (auto region = mlir::dyn_cast<td::RegionOp>(op)) return mayOverwrite(region, result, input);
  auto call = mlir::dyn_cast<td::LibraryOp>(op);
  return call && mayUpdate(call, input);
}

}  // namespace tandem::passes
