// From a text with the shim around it to an object of the host, by the host's compiler; kept on the disk by content.
#pragma once

#include <string>
#include <vector>

namespace tandem::emulation {

struct Compiled {
  std::string object;  // empty: it failed
  std::string log;     // what the compiler said
};

/// The object of a text, from $TANDEM_CACHE_DIR/emulated if it is there. Thread-safe; any number of processes may share
/// the folder.
Compiled compileForHost(const std::string& text, const std::vector<std::string>& options);

/// The text as the preprocessor leaves it; empty where it failed.
Compiled preprocess(const std::string& text, const std::vector<std::string>& options);

}  // namespace tandem::emulation
