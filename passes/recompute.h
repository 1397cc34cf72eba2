// Values that cost less to compute again than to store and read: a centred row, which its variance needs and whoever
// scales it in another region. The reader gets a copy of the few cheap operations that make such a value of what it
// reads anyway. Which these are shows in clusters: within one nothing is stored.
#pragma once

#include <vector>

#include "passes/clusters.h"

namespace tandem::passes {

/// An operation computed again for one that read its result from another cluster.
struct Copied {
  mlir::Operation* original;
  mlir::Operation* copy;
  mlir::Operation* reader;
};

/// Inserts copies where they save bytes, and gives them to the readers. The originals stay.
std::vector<Copied> recompute(const Clusters& clusters);

/// Puts copies into their readers' clusters, where that is legal: before others, which may have more to share.
void joinReaders(const std::vector<Copied>& copies, Clusters& clusters);

/// Gives the original again to the users of each copy that is not in its reader's cluster, and forgets that copy.
void takeBack(std::vector<Copied>& copies, const Clusters& clusters);

}  // namespace tandem::passes
