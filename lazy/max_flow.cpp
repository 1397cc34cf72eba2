#include "lazy/max_flow.h"

#include <algorithm>
#include <limits>

namespace tandem::lazy {

void MaxFlow::connect(int from, int to, std::int64_t capacity) {
  auto& forward = edges_[static_cast<std::size_t>(from)];
  auto& backward = edges_[static_cast<std::size_t>(to)];
  forward.push_back({to, backward.size(), capacity});
  backward.push_back({from, forward.size() - 1, 0});
}

void MaxFlow::run(int source, int sink) {
  while (findLevels(source, sink)) sendAlongLevels(source, sink);
}

bool MaxFlow::findLevels(int source, int sink) {
  level_.assign(edges_.size(), -1);
  level_[static_cast<std::size_t>(source)] = 0;
  std::vector<int> order{source};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int level = level_[static_cast<std::size_t>(order[i])] + 1;
    for (const Edge& e : edges_[static_cast<std::size_t>(order[i])]) {
      if (e.room <= 0 || level_[static_cast<std::size_t>(e.to)] >= 0) continue;
      level_[static_cast<std::size_t>(e.to)] = level;
      order.push_back(e.to);
    }
  }
  return level_[static_cast<std::size_t>(sink)] >= 0;
}

// One path after the other, each up to its narrowest edge; a place from which the sink is out of reach is left for
// good.
void MaxFlow::sendAlongLevels(int source, int sink) {
  next_.assign(edges_.size(), 0);
  std::vector<Edge*> path;
  int at = source;
  while (true) {
    if (at == sink) {
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      for (const Edge* e : path) least = std::min(least, e->room);
      for (Edge* e : path) {
        e->room -= least;
        edges_[static_cast<std::size_t>(e->to)][e->back].room += least;
      }
      path.clear();
      at = source;
      continue;
    }
    auto& edges = edges_[static_cast<std::size_t>(at)];
    std::size_t& next = next_[static_cast<std::size_t>(at)];
    while (next < edges.size() && (edges[next].room <= 0 || level_[static_cast<std::size_t>(edges[next].to)] !=
                                                                level_[static_cast<std::size_t>(at)] + 1))
      ++next;
    if (next < edges.size()) {
      path.push_back(&edges[next]);
      at = edges[next].to;
      continue;
    }
    if (at == source) return;
    const Edge& last = *path.back();
    path.pop_back();
    at = edges_[static_cast<std::size_t>(last.to)][last.back].to;
    ++next_[static_cast<std::size_t>(at)];
  }
}

std::vector<bool> MaxFlow::reaching(int sink) const {
  std::vector<bool> reaches(edges_.size());
  reaches[static_cast<std::size_t>(sink)] = true;
  std::vector<int> open{sink};
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    for (const Edge& e : edges_[static_cast<std::size_t>(at)]) {
      if (reaches[static_cast<std::size_t>(e.to)]) continue;
      if (edges_[static_cast<std::size_t>(e.to)][e.back].room <= 0) continue;
      reaches[static_cast<std::size_t>(e.to)] = true;
      open.push_back(e.to);
    }
  }
  return reaches;
}

}  // namespace tandem::lazy
