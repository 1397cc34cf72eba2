// The builder of codegen/math/builder.h over MLIR: each method appends one operation of arith, math, vector or scf.
// A value is a scalar (row-uniform: the same for every lane) or a vector of any length; operands of different kinds
// meet by broadcasting the scalar. Nothing here carries a fast-math flag, and fma is only what a body asks for.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "codegen/math/builder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "runtime/base/dtype.h"

namespace tandem::codegen {

/// A value of a body. Bool is i1, integers are signless of their width, half types never occur.
struct Val {
  mlir::Value value;
  DType type = DType::Float32;

  [[nodiscard]] bool isVector() const { return llvm::isa<mlir::VectorType>(value.getType()); }
  /// 0 for a scalar.
  [[nodiscard]] std::int64_t length() const {
    auto vector = llvm::dyn_cast<mlir::VectorType>(value.getType());
    return vector ? vector.getNumElements() : 0;
  }
};

class VectorBuilder {
 public:
  using V = Val;

  VectorBuilder(mlir::OpBuilder& ops, int lanes) : ops(ops), lanes_(lanes) {}

  // The vocabulary of bodies; codegen/math/builder.h is its documentation.
  DType dtype(V v) const { return v.type; }
  V cst(V like, double value) { return constant(like.type, like.length(), value); }
  V bitsCst(V like, std::uint64_t bits);
  V add(V a, V b);
  V sub(V a, V b);
  V mul(V a, V b);
  V div(V a, V b);
  V rem(V a, V b);
  V fma(V a, V b, V c);
  V inverse(V a) { return div(cst(a, 1), a); }
  bool scales(V y) const;
  V scale(V y, V k);
  V sqrt(V a);
  V neg(V a);
  V abs(V a);
  V floor(V a);
  V ceil(V a);
  V trunc(V a);
  V roundeven(V a);
  V lt(V a, V b);
  V le(V a, V b);
  V gt(V a, V b);
  V ge(V a, V b);
  V eq(V a, V b);
  V ne(V a, V b);
  V select(V c, V a, V b);
  V and_(V a, V b);
  V or_(V a, V b);
  V xor_(V a, V b);
  V not_(V a);
  V shl(V a, int by);
  V lshr(V a, int by);
  V ashr(V a, int by);
  V bits(V a);
  V flt(V a);
  V cast(V a, DType to);
  V index();
  template <class F, std::size_t N>
  std::array<V, N> ifAny(V mask, F then, std::array<V, N> otherwise);

  // What the emitter needs beyond it.
  [[nodiscard]] int lanes() const { return lanes_; }
  /// The linear index (i64) of lane 0 of the points from here on is the sum of these two; null where there is none.
  void setIndexBase(mlir::Value row, mlir::Value inner) {
    rowIndex_ = row;
    innerIndex_ = inner;
  }
  V constant(DType type, std::int64_t length, double value);
  /// then() where any lane of the mask is set, else otherwise().
  template <class F, class G>
  V ifAnyElse(V mask, F then, G otherwise);
  /// As a vector of the builder's length.
  V toVector(V v) { return widen(v, lanes_); }
  V widen(V v, std::int64_t length);
  /// Elements [from, from + length) of a vector.
  V slice(V v, std::int64_t from, std::int64_t length);
  V element(V v, std::int64_t at);
  /// A float32 rounded to a half type and held as float32 again. Rounds to nearest even; denormals are kept.
  V roundToHalf(V v, DType half);
  /// Between a half type's memory form (i16 or f16) and float32.
  mlir::Value narrowHalf(V rounded, DType half);
  V widenHalf(mlir::Value memory, DType half);

  /// The MLIR type of a scalar of `t` in registers; bool is i1.
  mlir::Type registerType(DType t);
  /// `scalar`, or a vector of it as long as `like` (0: scalar).
  static mlir::Type withLength(mlir::Type scalar, std::int64_t length);
  mlir::Value intConstant(mlir::Type scalar, std::int64_t length, std::uint64_t bits);
  mlir::Location loc() const { return ops.getUnknownLoc(); }

  mlir::OpBuilder& ops;

 private:
  template <class Op>
  V binary(V a, V b);
  V compare(V a, V b, mlir::arith::CmpFPredicate f, mlir::arith::CmpIPredicate s, mlir::arith::CmpIPredicate u);
  /// A float32 in the memory form of a half type (i16), if that needs no rounding: it was read so, but for its sign, or
  /// is one of two constants. Else null.
  mlir::Value inMemoryForm(mlir::Value v, DType half);
  mlir::Value constantForm(mlir::Value v, DType half);
  V longToFloat(V a, DType to);
  V floatToInt(V a, DType to);
  void match(V& a, V& b);
  V floatRem(V x, V y);
  V remStep(V x, V y, V quotient);
  mlir::Value anyLane(V mask);
  /// Runs next(state) while more(state) holds in any lane. The state's dtypes and lengths stay.
  template <std::size_t N, class More, class Next>
  std::array<V, N> whileAny(std::array<V, N> state, More more, Next next);
  /// The two parts of ifAny that do not depend on its callback.
  mlir::scf::IfOp openIf(V mask, std::span<const V> otherwise);
  void closeIf(mlir::scf::IfOp op, std::span<const V> then, std::span<const V> otherwise);

  int lanes_;
  mlir::Value rowIndex_;
  mlir::Value innerIndex_;
};

template <class F, std::size_t N>
std::array<Val, N> VectorBuilder::ifAny(Val mask, F then, std::array<Val, N> otherwise) {
  mlir::OpBuilder::InsertionGuard guard(ops);
  mlir::scf::IfOp op = openIf(mask, otherwise);
  ops.setInsertionPointToStart(&op.getThenRegion().front());
  std::array<Val, N> computed = then();
  closeIf(op, computed, otherwise);
  for (std::size_t i = 0; i < N; ++i) otherwise[i].value = op.getResult(i);
  return otherwise;
}

template <class F, class G>
Val VectorBuilder::ifAnyElse(Val mask, F then, G otherwise) {
  Val value = mask;
  auto region = [&](auto make) {
    return [&, make](mlir::OpBuilder&, mlir::Location) {
      value = make();
      mlir::scf::YieldOp::create(ops, loc(), value.value);
    };
  };
  value.value = mlir::scf::IfOp::create(ops, loc(), anyLane(mask), region(then), region(otherwise)).getResult(0);
  return value;
}

template <std::size_t N, class More, class Next>
std::array<Val, N> VectorBuilder::whileAny(std::array<Val, N> state, More more, Next next) {
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::Type> types;
  for (const Val& v : state) {
    values.push_back(v.value);
    types.push_back(v.value.getType());
  }
  auto at = [&](mlir::ValueRange now) {
    std::array<Val, N> all = state;
    for (std::size_t i = 0; i < N; ++i) all[i].value = now[i];
    return all;
  };
  auto op = mlir::scf::WhileOp::create(
      ops, loc(), types, values,
      [&](mlir::OpBuilder&, mlir::Location, mlir::ValueRange now) {
        mlir::scf::ConditionOp::create(ops, loc(), anyLane(more(at(now))), now);
      },
      [&](mlir::OpBuilder&, mlir::Location, mlir::ValueRange now) {
        llvm::SmallVector<mlir::Value> yielded;
        for (const Val& v : next(at(now))) yielded.push_back(v.value);
        mlir::scf::YieldOp::create(ops, loc(), yielded);
      });
  return at(op.getResults());
}

}  // namespace tandem::codegen
