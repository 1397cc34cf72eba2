// The largest flow from one place to another along edges of limited capacity, and so the smallest cut between them:
// E. A. Dinic, "Algorithm for solution of a problem of maximum flow in networks with power estimation", 1970.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem::lazy {

class MaxFlow {
 public:
  explicit MaxFlow(int places) : edges_(static_cast<std::size_t>(places)) {}

  void connect(int from, int to, std::int64_t capacity);
  void run(int source, int sink);
  /// From which places more could flow to this one: after `run`, what lies behind the cut nearest to the sink.
  [[nodiscard]] std::vector<bool> reaching(int sink) const;

 private:
  struct Edge {
    int to;
    std::size_t back;  // the number of the edge the other way, at `to`
    std::int64_t room;
  };
  bool findLevels(int source, int sink);
  void sendAlongLevels(int source, int sink);

  std::vector<std::vector<Edge>> edges_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;  // the first edge of each place that may have room
};

}  // namespace tandem::lazy
