#include "runtime/base/error.h"

#include <sstream>
#include <typeinfo>

namespace tandem {

void TextPart::appendTo(std::string& text) const {
  switch (size_) {
  case kTerminated:
    text += string_;
    return;
  case kLetter:
    text += letter_;
    return;
  case kReal: {
    std::ostringstream number;
    number << real_;
    text += number.str();
    return;
  }
  case kSigned:
    text += std::to_string(integer_);
    return;
  case kUnsigned:
    text += std::to_string(static_cast<std::uint64_t>(integer_));
    return;
  default:
    text.append(string_, static_cast<std::size_t>(size_));
  }
}

std::string joined(std::initializer_list<TextPart> parts) {
  std::string text;
  for (const TextPart& part : parts) part.appendTo(text);
  return text;
}

void failAs(const Error& e, const std::string& text) {
#define TANDEM_AGAIN(E)                                                                                                \
  if (dynamic_cast<const E*>(&e) != nullptr) throw E(text);
  TANDEM_ERRORS(TANDEM_AGAIN)
#undef TANDEM_AGAIN
  // A class of another layer has more to it than a text, as the exception of a user's program.
  if (typeid(e) != typeid(Error)) throw;
  throw Error(text);
}

}  // namespace tandem
