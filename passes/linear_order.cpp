#include "passes/linear_order.h"

#include <algorithm>

namespace tandem::passes {

namespace {
constexpr std::uint64_t kGap = std::uint64_t{1} << 32;
}

LinearOrder::LinearOrder(int numNodes) {
  std::size_t slots = slot(numNodes);
  places_.resize(slots);
  next_.resize(slots);
  previous_.resize(slots);
  for (std::size_t s = 0; s < slots; ++s) {
    next_[s] = s + 1 == slots ? 0 : s + 1;
    previous_[s] = s == 0 ? slots - 1 : s - 1;
  }
  renumber();
}

void LinearOrder::renumber() {
  std::uint64_t place = 0;
  std::size_t s = 0;
  do {
    places_[s] = place;
    place += kGap;
    s = next_[s];
  } while (s != 0);
}

void LinearOrder::link(std::size_t s, std::size_t after) {
  previous_[s] = after;
  next_[s] = next_[after];
  previous_[next_[s]] = s;
  next_[after] = s;
}

void LinearOrder::unlink(std::size_t s) {
  next_[previous_[s]] = next_[s];
  previous_[next_[s]] = previous_[s];
}

void LinearOrder::insert(const std::vector<int>& nodes, std::size_t after) {
  std::size_t end = next_[after];
  std::size_t last = after;
  for (int node : nodes) {
    link(slot(node), last);
    last = slot(node);
  }
  std::uint64_t room = end == 0 ? kGap * (nodes.size() + 1) : places_[end] - places_[after];
  std::uint64_t step = room / (nodes.size() + 1);
  if (step == 0) return renumber();
  std::uint64_t place = places_[after];
  for (int node : nodes) places_[slot(node)] = place += step;
}

void LinearOrder::sortByPlace(std::vector<int>& nodes) const {
  std::sort(nodes.begin(), nodes.end(), [&](int a, int b) { return before(a, b); });
}

void LinearOrder::addBefore(int node) {
  int added = static_cast<int>(places_.size()) - 1;
  places_.push_back(0);
  next_.push_back(0);
  previous_.push_back(0);
  insert({added}, previous_[slot(node)]);
}

void LinearOrder::moveAfter(std::vector<int> nodes, int node) {
  sortByPlace(nodes);
  for (int n : nodes) unlink(slot(n));
  insert(nodes, slot(node));
}

void LinearOrder::moveBefore(std::vector<int> nodes, int node) {
  sortByPlace(nodes);
  for (int n : nodes) unlink(slot(n));
  insert(nodes, previous_[slot(node)]);
}

}  // namespace tandem::passes
