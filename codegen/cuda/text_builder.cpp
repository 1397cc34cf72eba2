#include "codegen/cuda/text_builder.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "runtime/base/error.h"

namespace tandem::codegen::cuda {

namespace {

/// The integer type without sign that a dtype is added in: C++ leaves open what happens to others that overflow.
const char* unsignedOf(DType t) { return itemSize(t) == 8 ? "unsigned long long" : "unsigned"; }

/// Shortest decimal form that is read back as the same number, as a literal of its type.
template <class T>
std::string literal(T value) {
  std::array<char, 64> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  TANDEM_CHECK(error == std::errc(), "a number without digits");
  std::string text(digits.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if constexpr (sizeof(T) == 4) text += "f";
  return value < 0 || std::signbit(value) ? "(" + text + ")" : text;
}

/// Does a text have this name, which ends in a digit?
bool names(const std::string& text, const std::string& name) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const char before = at == 0 ? ' ' : text[at - 1], behind = text.c_str()[at + name.size()];
    if (std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '_' &&
        std::isdigit(static_cast<unsigned char>(behind)) == 0)
      return true;
  }
  return false;
}

}  // namespace

const char* cudaType(DType t) {
  switch (t) {
  case DType::Bool:
    return "bool";
  case DType::UInt8:
    return "unsigned char";
  case DType::Int8:
    return "signed char";
  case DType::Int16:
    return "short";
  case DType::Int32:
    return "int";
  case DType::Int64:
    return "long long";
  case DType::Float32:
    return "float";
  case DType::Float64:
    return "double";
  default:
    fail<InternalError>("values of ", dtypeName(t), " are not computed in");
  }
}

void TextBuilder::line(const std::string& code) {
  if (ahead_.whole) return lineAhead(code);
  text_.append(static_cast<std::size_t>(depth_) * 2, ' ').append(code).push_back('\n');
  ++statements_;
}
void TextBuilder::open(const std::string& head) {
  line(head.empty() ? "{" : head + " {");
  ++depth();
}
void TextBuilder::close() {
  --depth();
  line("}");
}

void TextBuilder::startAhead() {
  ahead_.isOpen = true;
  ahead_.at = text_.size();
  ahead_.depth = depth_;
}

void TextBuilder::lineAhead(const std::string& code) {
  ahead_.text.append(static_cast<std::size_t>(ahead_.depth) * 2, ' ').append(code).push_back('\n');
  ++ahead_.statements;
}

// Each once: the results of an operation that has several are computed of the same.
Text TextBuilder::letAhead(DType type, const std::string& code) {
  const std::string made = strcat(cudaType(type), " ", code);
  if (const auto it = ahead_.known.find(made); it != ahead_.known.end()) return it->second;
  const Text value{fresh("v"), type, true};
  lineAhead(strcat("const ", cudaType(type), " ", value.code, " = ", code, ";"));
  ahead_.values.push_back(value);
  if (!ahead_.whole) ahead_.known.emplace(made, value);
  return value;
}

void TextBuilder::endAhead(Ahead by) {
  const Part part = std::exchange(ahead_, Part{});
  const std::string since = text_.substr(part.at);
  text_.resize(part.at);
  if (by == Ahead::Each) {
    text_ += part.text + since;
    return;
  }
  std::vector<V> needed = part.values;
  std::erase_if(needed, [&](const V& v) { return !names(since, v.code); });
  auto shared = [](const V& v) { return "shared_" + v.code; };
  for (const V& v : needed) statement(strcat("__shared__ ", cudaType(v.type), " ", shared(v)));
  if (by == Ahead::Repeated) statement("__syncthreads()");
  open("if (threadIdx.x == 0)");
  for (std::size_t at = 0, end = 0; at < part.text.size(); at = end) {
    end = part.text.find('\n', at) + 1;
    text_.append("  ").append(part.text, at, end - at);
  }
  for (const V& v : needed) statement(strcat(shared(v), " = ", v.code));
  close();
  statement("__syncthreads()");
  for (const V& v : needed) statement(strcat("const ", cudaType(v.type), " ", v.code, " = ", shared(v)));
  text_ += since;
}

std::string TextBuilder::fresh(const char* prefix) { return prefix + std::to_string(names_++); }

Text TextBuilder::let(DType type, const std::string& code, bool uniform) {
  if (uniform && ahead_.isOpen) return letAhead(type, code);
  ahead_.isUniform = false;
  std::string name = fresh("v");
  statement(strcat("const ", cudaType(type), " ", name, " = ", code));
  return {std::move(name), type, uniform};
}
Text TextBuilder::variable(DType type, const std::string& code) {
  std::string name = fresh("v");
  statement(strcat(cudaType(type), " ", name, " = ", code));
  return {std::move(name), type};
}
std::string TextBuilder::number(const std::string& code) {
  std::string name = fresh("i");
  statement(strcat("const long long ", name, " = ", code));
  return name;
}

Text TextBuilder::constant(DType type, double value) {
  if (!isFloating(type)) return intConstant(type, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
  const bool wide = type == DType::Float64;
  const auto narrow = static_cast<float>(value);
  if (std::isfinite(wide ? value : static_cast<double>(narrow)))
    return {wide ? literal(value) : literal(narrow), type, true};
  const bool negative = std::signbit(value);
  if (wide)
    return {strcat("__longlong_as_double(0x",
                   std::isnan(value) ? "7ff8"
                   : negative        ? "fff0"
                                     : "7ff0",
                   "000000000000LL)"),
            type, true};
  return {strcat("__int_as_float(0x", std::isnan(value) ? "7fc0" : negative ? "ff80" : "7f80", "0000)"), type, true};
}

Text TextBuilder::intConstant(DType type, std::uint64_t bits) {
  if (type == DType::Bool) return {(bits & 1) != 0 ? "true" : "false", type, true};
  const int unused = 64 - static_cast<int>(itemSize(type)) * 8;
  const auto value = isSigned(type) ? static_cast<std::int64_t>(bits << unused) >> unused
                                    : static_cast<std::int64_t>(bits << unused >> unused);
  // The least number of a type has no literal.
  if (value == INT64_MIN) return {"(-0x7fffffffffffffffLL - 1)", type, true};
  if (value == INT32_MIN && type == DType::Int32) return {"(-0x7fffffff - 1)", type, true};
  const std::string digits = std::to_string(value) + (type == DType::Int64 ? "LL" : "");
  if (itemSize(type) < 4)
    return {strcat("(", cudaType(type), ")", value < 0 ? "(" + digits + ")" : digits), type, true};
  return {value < 0 ? "(" + digits + ")" : digits, type, true};
}

Text TextBuilder::bitsCst(const V& like, std::uint64_t bits) {
  return intConstant(itemSize(like.type) == 8 ? DType::Int64 : DType::Int32, bits);
}

Text TextBuilder::arithmetic(const V& a, const char* op, const V& b) {
  TANDEM_CHECK(a.type == b.type, "operands of one body operation have dtypes ", dtypeName(a.type), " and ",
               dtypeName(b.type));
  const bool uniform = a.uniform && b.uniform;
  if (isFloating(a.type)) return let(a.type, strcat(a.code, " ", op, " ", b.code), uniform);
  const char* plain = unsignedOf(a.type);
  return let(a.type, strcat("(", cudaType(a.type), ")((", plain, ")", a.code, " ", op, " (", plain, ")", b.code, ")"),
             uniform);
}

// On bool, sum and product are `or` and `and`, as in NumPy and PyTorch.
Text TextBuilder::add(const V& a, const V& b) { return a.type == DType::Bool ? or_(a, b) : arithmetic(a, "+", b); }
Text TextBuilder::sub(const V& a, const V& b) { return arithmetic(a, "-", b); }
Text TextBuilder::mul(const V& a, const V& b) { return a.type == DType::Bool ? and_(a, b) : arithmetic(a, "*", b); }

Text TextBuilder::div(const V& a, const V& b) {
  const bool uniform = a.uniform && b.uniform;
  if (isFloating(a.type)) return let(a.type, strcat(a.code, " / ", b.code), uniform);
  return let(a.type, strcat("quotient<", cudaType(a.type), ">(", a.code, ", ", b.code, ")"), uniform);
}
Text TextBuilder::rem(const V& a, const V& b) {
  const std::string function =
      isFloating(a.type) ? a.type == DType::Float64 ? "fmod" : "fmodf" : strcat("remainder<", cudaType(a.type), ">");
  return let(a.type, strcat(function, "(", a.code, ", ", b.code, ")"), a.uniform && b.uniform);
}
Text TextBuilder::fma(const V& a, const V& b, const V& c) {
  return let(a.type, strcat(a.type == DType::Float64 ? "fma(" : "fmaf(", a.code, ", ", b.code, ", ", c.code, ")"),
             a.uniform && b.uniform && c.uniform);
}

Text TextBuilder::inverse(const V& a) { return let(a.type, strcat("inverse(", a.code, ")"), a.uniform); }

Text TextBuilder::call(const char* function, const V& a) {
  return let(a.type, strcat(function, a.type == DType::Float64 ? "(" : "f(", a.code, ")"), a.uniform);
}

Text TextBuilder::neg(const V& a) {
  if (isFloating(a.type)) return let(a.type, strcat("-", a.code), a.uniform);
  return sub(cst(a, 0), a);
}
Text TextBuilder::abs(const V& a) {
  if (isFloating(a.type)) return call("fabs", a);
  if (!isSigned(a.type)) return a;
  return select(lt(a, cst(a, 0)), neg(a), a);
}

Text TextBuilder::compare(const V& a, const char* op, const V& b) {
  TANDEM_CHECK(a.type == b.type, "a comparison of ", dtypeName(a.type), " with ", dtypeName(b.type));
  return let(DType::Bool, strcat(a.code, " ", op, " ", b.code), a.uniform && b.uniform);
}
Text TextBuilder::bitwise(const V& a, const char* op, const V& b) {
  return let(a.type, strcat("(", cudaType(a.type), ")(", a.code, " ", op, " ", b.code, ")"), a.uniform && b.uniform);
}

Text TextBuilder::select(const V& c, const V& a, const V& b) {
  TANDEM_CHECK(c.type == DType::Bool && a.type == b.type, "select(", dtypeName(c.type), ", ", dtypeName(a.type), ", ",
               dtypeName(b.type), ")");
  return let(a.type, strcat(c.code, " ? ", a.code, " : ", b.code), c.uniform && a.uniform && b.uniform);
}
Text TextBuilder::not_(const V& a) {
  if (a.type == DType::Bool) return let(a.type, "!" + a.code, a.uniform);
  return let(a.type, strcat("(", cudaType(a.type), ")~", a.code), a.uniform);
}

// Bits of narrow integers are shifted as what they are, not as the int that C++ widens them to.
Text TextBuilder::shl(const V& a, int by) {
  return let(a.type, strcat("(", cudaType(a.type), ")((", unsignedOf(a.type), ")", a.code, " << ", by, ")"), a.uniform);
}
Text TextBuilder::lshr(const V& a, int by) {
  const char* bits = itemSize(a.type) == 1   ? "unsigned char"
                     : itemSize(a.type) == 2 ? "unsigned short"
                                             : unsignedOf(a.type);
  return let(a.type, strcat("(", cudaType(a.type), ")((", bits, ")", a.code, " >> ", by, ")"), a.uniform);
}
Text TextBuilder::ashr(const V& a, int by) {
  return let(a.type, strcat("(", cudaType(a.type), ")(", a.code, " >> ", by, ")"), a.uniform);
}

Text TextBuilder::bits(const V& a) {
  if (a.type == DType::Float32) return let(DType::Int32, strcat("__float_as_int(", a.code, ")"), a.uniform);
  if (a.type == DType::Float64) return let(DType::Int64, strcat("__double_as_longlong(", a.code, ")"), a.uniform);
  return a;
}
Text TextBuilder::flt(const V& a) {
  if (isFloating(a.type)) return a;
  if (a.type == DType::Int64) return let(DType::Float64, strcat("__longlong_as_double(", a.code, ")"), a.uniform);
  return let(DType::Float32, strcat("__int_as_float(", a.code, ")"), a.uniform);
}

Text TextBuilder::cast(const V& a, DType to) {
  if (a.type == to) return a;
  if (to == DType::Bool) return ne(a, cst(a, 0));
  if (isFloating(a.type) && !isFloating(to))
    return let(to, strcat("toInteger<", cudaType(to), ">(", a.code, ")"), a.uniform);
  return let(to, strcat("(", cudaType(to), ")", a.code), a.uniform);
}

Text TextBuilder::index() {
  TANDEM_CHECK(!index_.empty(), "a body asks for the index outside the inner loop");
  return {index_, DType::Int64};
}

Text TextBuilder::roundToHalf(const V& v, DType half) {
  const char* name = half == DType::Float16 ? "half" : "bfloat";
  return let(DType::Float32, strcat(name, "Value(", name, "Bits(", v.code, "))"), v.uniform);
}

}  // namespace tandem::codegen::cuda
