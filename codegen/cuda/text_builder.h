// The builder of codegen/math/builder.h as CUDA C++ text: each method appends one statement, `const float v7 = v3 *
// v6;`, and a value is its name, or a literal. A thread computes one lane: `ifAny` is a branch of each thread.
//
// Nothing is contracted (NVRTC is called with --fmad=false) and nothing of C++ is left undefined: integers wrap because
// they are added as unsigned ones, quotients and conversions go through functions of the prelude (prelude.cu).
//
// What a body computes of uniform values alone (the rates of an optimizer's step) can be written ahead of a loop, once,
// instead of for each element.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/dtype.h"

namespace tandem::codegen::cuda {

/// A value of a body: an expression without side effects that can stand anywhere.
struct Text {
  std::string code;
  DType type = DType::Float32;
  bool uniform = false;  // the same at every point of the loops to come, as what is made of numbers alone
};

/// `float`, `long long`, ...: what values of a dtype are in a thread. Half types have none.
const char* cudaType(DType t);

class TextBuilder {
 public:
  using V = Text;

  // The vocabulary of bodies; codegen/math/builder.h is its documentation.
  DType dtype(const V& v) const { return v.type; }
  V cst(const V& like, double value) { return constant(like.type, value); }
  V bitsCst(const V& like, std::uint64_t bits);
  V add(const V& a, const V& b);
  V sub(const V& a, const V& b);
  V mul(const V& a, const V& b);
  V div(const V& a, const V& b);
  V rem(const V& a, const V& b);
  V fma(const V& a, const V& b, const V& c);
  V inverse(const V& a);
  static bool scales(const V&) { return false; }
  static V scale(const V& y, const V&) { return y; }
  V sqrt(const V& a) { return call("sqrt", a); }
  V neg(const V& a);
  V abs(const V& a);
  V floor(const V& a) { return call("floor", a); }
  V ceil(const V& a) { return call("ceil", a); }
  V trunc(const V& a) { return call("trunc", a); }
  V roundeven(const V& a) { return call("rint", a); }
  V lt(const V& a, const V& b) { return compare(a, "<", b); }
  V le(const V& a, const V& b) { return compare(a, "<=", b); }
  V gt(const V& a, const V& b) { return compare(a, ">", b); }
  V ge(const V& a, const V& b) { return compare(a, ">=", b); }
  V eq(const V& a, const V& b) { return compare(a, "==", b); }
  V ne(const V& a, const V& b) { return compare(a, "!=", b); }
  V select(const V& c, const V& a, const V& b);
  V and_(const V& a, const V& b) { return bitwise(a, "&", b); }
  V or_(const V& a, const V& b) { return bitwise(a, "|", b); }
  V xor_(const V& a, const V& b) { return bitwise(a, "^", b); }
  V not_(const V& a);
  V shl(const V& a, int by);
  V lshr(const V& a, int by);
  V ashr(const V& a, int by);
  V bits(const V& a);
  V flt(const V& a);
  V cast(const V& a, DType to);
  V index();
  template <class F, std::size_t N>
  std::array<V, N> ifAny(const V& mask, F then, std::array<V, N> otherwise) {
    const bool uniform = mask.uniform && std::ranges::all_of(otherwise, &V::uniform);
    if (!uniform || !ahead_.isOpen || ahead_.whole) return branch(mask, then, otherwise);
    // Ahead as a whole, or, where it turns out to be of points, not.
    const TextBuilder before = *this;
    ahead_.whole = ahead_.isUniform = true;
    const std::array<V, N> results = branch(mask, then, otherwise);
    ahead_.whole = false;
    if (ahead_.isUniform) return results;
    *this = before;
    return branch(mask, then, otherwise);
  }

  // What the emitter needs beyond it.
  V constant(DType type, double value);
  V intConstant(DType type, std::uint64_t bits);
  /// A constant of a name of its own, and a variable that is written again.
  V let(DType type, const std::string& code, bool uniform = false);
  V variable(DType type, const std::string& code);
  /// A number of addresses and loops, 64 bits with sign; the same name for the same expression is not looked for.
  std::string number(const std::string& code);
  /// Names that no other value has.
  std::string fresh(const char* prefix);
  void statement(const std::string& code) { line(code + ";"); }
  void assign(const std::string& variable, const V& value) { statement(variable + " = " + value.code); }
  void line(const std::string& code);
  /// `head {`, its lines set in, and `}`.
  void open(const std::string& head);
  void close();
  /// The linear index (an expression) of the point from here on; empty where there is none.
  void setIndex(std::string index) { index_ = std::move(index); }
  /// From here to endAhead, at the same depth, statements of uniform values are put here.
  void startAhead();
  /// How many they are.
  [[nodiscard]] std::size_t statementsAhead() const { return ahead_.statements; }
  /// `Shared`: one thread of a block computes them, and gives the others what they need of it. All threads come by,
  /// where they are `Repeated` several times.
  enum class Ahead : std::uint8_t { Each, Shared, Repeated };
  void endAhead(Ahead by);
  /// A float32 rounded to a half type and held as float32 again.
  V roundToHalf(const V& v, DType half);

  /// What was written so far.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// How many statements that is, but those that go ahead.
  [[nodiscard]] std::size_t statements() const { return statements_; }

 private:
  /// What goes ahead: where, and the names of its values.
  struct Part {
    bool isOpen = false;
    bool whole = false;      // everything goes there
    bool isUniform = false;  // and was of uniform values so far
    std::size_t at = 0;
    int depth = 0;
    std::string text;
    std::size_t statements = 0;
    std::vector<V> values;
    std::unordered_map<std::string, V> known;  // by what they are made of
  };
  template <class F, std::size_t N>
  std::array<V, N> branch(const V& mask, F& then, const std::array<V, N>& otherwise) {
    std::array<V, N> results;
    bool uniform = mask.uniform;
    for (std::size_t i = 0; i < N; ++i) {
      results[i] = variable(otherwise[i].type, otherwise[i].code);
      uniform = uniform && otherwise[i].uniform;
    }
    open("if (" + mask.code + ")");
    const std::array<V, N> computed = then();
    for (std::size_t i = 0; i < N; ++i) {
      statement(results[i].code + " = " + computed[i].code);
      uniform = uniform && computed[i].uniform;
    }
    close();
    if (ahead_.isOpen) {
      ahead_.isUniform &= uniform;
      uniform = uniform && ahead_.whole;
    }
    for (V& result : results) {
      result.uniform = uniform;
      if (uniform && ahead_.isOpen) ahead_.values.push_back(result);
    }
    return results;
  }
  void lineAhead(const std::string& code);
  V letAhead(DType type, const std::string& code);
  [[nodiscard]] int& depth() { return ahead_.whole ? ahead_.depth : depth_; }
  V call(const char* function, const V& a);
  V compare(const V& a, const char* op, const V& b);
  V bitwise(const V& a, const char* op, const V& b);
  V arithmetic(const V& a, const char* op, const V& b);

  std::string text_;
  Part ahead_;
  std::string index_;
  int depth_ = 0;
  int names_ = 0;
  std::size_t statements_ = 0;
};

}  // namespace tandem::codegen::cuda
