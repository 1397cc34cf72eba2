#include "runtime/base/user_line.h"

#include <utility>

namespace tandem {
namespace {

std::function<std::string()> lineProvider;

}  // namespace

void setLineProvider(std::function<std::string()> provider) { lineProvider = std::move(provider); }
std::string userLine() { return lineProvider ? lineProvider() : std::string(); }

}  // namespace tandem
