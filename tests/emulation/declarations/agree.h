// Whether a declaration of ours is, for a caller, the vendor's: as many parameters, each as large and of the same kind.
// Handles and structures count as equal: what is in a structure is compared apart.
#pragma once

#include <cstddef>
#include <type_traits>

namespace tandem::declarations {

template <class Ours, class Theirs>
constexpr bool sameParameter() {
  if constexpr (std::is_pointer_v<Ours> != std::is_pointer_v<Theirs>) {
    return false;
  } else if constexpr (!std::is_pointer_v<Ours>) {
    return sizeof(Ours) == sizeof(Theirs) && std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
  } else {
    using To = std::remove_cv_t<std::remove_pointer_t<Ours>>;
    using There = std::remove_cv_t<std::remove_pointer_t<Theirs>>;
    if constexpr (std::is_function_v<To> || std::is_function_v<There>)
      return std::is_function_v<To> == std::is_function_v<There>;
    else if constexpr (std::is_void_v<To> || std::is_void_v<There> || std::is_class_v<To> || std::is_class_v<There>)
      return true;
    else
      return sameParameter<To, There>();
  }
}

template <class Ours, class Theirs>
constexpr bool sameResult() {
  if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>)
    return std::is_same_v<Ours, Theirs>;
  else
    return sizeof(Ours) == sizeof(Theirs);
}

template <class Ours, class... A, class Theirs, class... B>
constexpr bool sameFunction(Ours (*)(A...), Theirs (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B) || !sameResult<Ours, Theirs>())
    return false;
  else
    return (sameParameter<A, B>() && ...);
}

}  // namespace tandem::declarations

/// For a list X(result, member, symbol, parameters) of functions, or X(member, symbol, parameters) of those that give a
/// status.
#define TANDEM_SAME_FUNCTION_OF(result, member, symbol, parameters)                                                    \
  static_assert(tandem::declarations::sameFunction(static_cast<result(*) parameters>(nullptr),                         \
                                                   static_cast<decltype(&::symbol)>(nullptr)),                         \
                "not as in the vendor's header: " #symbol);
#define TANDEM_SAME_FUNCTION(member, symbol, parameters) TANDEM_SAME_FUNCTION_OF(int, member, symbol, parameters)
#define TANDEM_SAME_VALUE(ours, theirs)                                                                                \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #ours " is not " #theirs);
#define TANDEM_SAME_MEMBER(Ours, ours, Theirs, theirs)                                                                 \
  static_assert(offsetof(Ours, ours) == offsetof(Theirs, theirs) && sizeof(Ours::ours) >= sizeof(Theirs::theirs),      \
                #Ours "::" #ours " lies elsewhere");
