// The line of the user's program that is running, for errors and explanations.
#pragma once

#include <functional>
#include <string>

namespace tandem {

/// Tells the line, as `file:line`. Set by the Python layer.
void setLineProvider(std::function<std::string()> provider);
/// Empty where nothing provides it.
std::string userLine();

}  // namespace tandem
