#include "runtime/base/error.h"

namespace tandem {

void failAs(const Error& e, const std::string& text) {
#define TANDEM_AGAIN(E)                                                                                                \
  if (dynamic_cast<const E*>(&e) != nullptr) throw E(text);
  TANDEM_ERRORS(TANDEM_AGAIN)
#undef TANDEM_AGAIN
  throw Error(text);
}

}  // namespace tandem
