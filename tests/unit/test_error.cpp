// An error with another text keeps its class, whichever of the list it is of.
#include <gtest/gtest.h>

#include "runtime/base/error.h"

namespace tandem {
namespace {

template <class E>
void keepsItsClass() {
  try {
    failAs(E("text"), "another");
    FAIL() << "nothing is thrown";
  } catch (const E& e) {
    EXPECT_EQ(typeid(e), typeid(E));
    EXPECT_STREQ(e.what(), "another");
  }
}

TEST(Errors, KeepTheirClassWithAnotherText) {
#define TANDEM_TEST(E) keepsItsClass<E>();
  TANDEM_ERRORS(TANDEM_TEST)
#undef TANDEM_TEST
  keepsItsClass<Error>();
}

}  // namespace
}  // namespace tandem
