// Warnings to the user: said by operations, shown by whoever the program is written in.
#pragma once

#include <string>

namespace tandem {

/// Shows a warning; null until someone does. May throw, where warnings are made errors.
inline void (*warningShower)(const std::string& text) = nullptr;

inline void warn(const std::string& text) {
  if (warningShower != nullptr) warningShower(text);
}

}  // namespace tandem
