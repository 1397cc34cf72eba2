// Nodes 0, 1, ... in one line, kept while some of them move: which of two comes first is one comparison, and a move
// costs what moves, not what lies between. Passes keep a topological order of a graph in it. Then a path from x to y
// can lead only over what stands between them, and where there is none, y or x moves with what a search met.
//
// Places are numbers with gaps; where a gap has no room left all are numbered again.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem::passes {

class LinearOrder {
 public:
  explicit LinearOrder(int numNodes);

  [[nodiscard]] bool before(int a, int b) const { return place(a) < place(b); }
  [[nodiscard]] std::uint64_t place(int node) const { return places_[slot(node)]; }

  /// A new node right before one that is there. Its number is the next one.
  void addBefore(int node);
  /// Moves nodes, in the order they have among themselves, to right behind or right before one that is none of them.
  void moveAfter(std::vector<int> nodes, int node);
  void moveBefore(std::vector<int> nodes, int node);

 private:
  static std::size_t slot(int node) { return static_cast<std::size_t>(node) + 1; }
  void link(std::size_t slot, std::size_t after);
  void unlink(std::size_t slot);
  void insert(const std::vector<int>& nodes, std::size_t after);
  void sortByPlace(std::vector<int>& nodes) const;
  void renumber();

  // A ring through slot 0, which is the head; a node's slot is its number + 1.
  std::vector<std::uint64_t> places_;
  std::vector<std::size_t> next_;
  std::vector<std::size_t> previous_;
};

}  // namespace tandem::passes
