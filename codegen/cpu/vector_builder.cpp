#include "codegen/cpu/vector_builder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "llvm/ADT/SmallVector.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "runtime/base/error.h"

namespace tandem::codegen {

namespace arith = mlir::arith;
namespace math = mlir::math;
namespace LLVM = mlir::LLVM;

namespace {

constexpr std::int64_t kWidestLanes = 16;  // of AVX-512

int bitWidth(DType t) { return t == DType::Bool ? 1 : static_cast<int>(itemSize(t)) * 8; }
DType signedOfWidth(DType t) { return itemSize(t) == 8 ? DType::Int64 : DType::Int32; }

/// Does the value consist of one constant, and of which bits?
bool constantBits(mlir::Value v, std::uint64_t& bits) {
  while (auto cast = v.getDefiningOp<arith::BitcastOp>()) v = cast.getIn();
  mlir::Attribute attr;
  if (!mlir::matchPattern(v, mlir::m_Constant(&attr))) return false;
  if (auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(attr)) {
    if (!dense.isSplat()) return false;
    attr = dense.getSplatValue<mlir::Attribute>();
  }
  if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(attr)) {
    bits = integer.getValue().getZExtValue();
    return true;
  }
  auto number = llvm::dyn_cast<mlir::FloatAttr>(attr);
  if (number) bits = number.getValue().bitcastToAPInt().getZExtValue();
  return static_cast<bool>(number);
}

/// How many of the last bits of 32 are certainly zero, as far as a few steps back tell.
int zeroBits(mlir::Value v, int steps = 8) {
  std::uint64_t bits = 0;
  if (constantBits(v, bits)) return std::countr_zero(static_cast<std::uint32_t>(bits));
  mlir::Operation* op = v.getDefiningOp();
  if (op == nullptr || steps == 0) return 0;
  auto of = [&](unsigned operand) { return zeroBits(op->getOperand(operand), steps - 1); };
  if (llvm::isa<arith::BitcastOp, arith::NegFOp, math::AbsFOp, mlir::vector::BroadcastOp>(op)) return of(0);
  if (llvm::isa<arith::AndIOp>(op)) return std::max(of(0), of(1));
  if (llvm::isa<arith::OrIOp, arith::XOrIOp>(op)) return std::min(of(0), of(1));
  if (llvm::isa<arith::SelectOp>(op)) return std::min(of(1), of(2));
  if (llvm::isa<arith::ShLIOp>(op) && constantBits(op->getOperand(1), bits)) return static_cast<int>(bits);
  return 0;
}

}  // namespace

mlir::Type VectorBuilder::registerType(DType t) {
  if (t == DType::Float32) return ops.getF32Type();
  if (t == DType::Float64) return ops.getF64Type();
  TANDEM_CHECK(!isHalf(t), "half types are not computed in");
  return ops.getIntegerType(bitWidth(t));
}

mlir::Type VectorBuilder::withLength(mlir::Type scalar, std::int64_t length) {
  return length == 0 ? scalar : mlir::VectorType::get({length}, scalar);
}

mlir::Value VectorBuilder::intConstant(mlir::Type scalar, std::int64_t length, std::uint64_t bits) {
  const unsigned width = scalar.getIntOrFloatBitWidth();
  auto attr = ops.getIntegerAttr(scalar, llvm::APInt(width, bits, false, /*implicitTrunc=*/true));
  if (length == 0) return arith::ConstantOp::create(ops, loc(), attr);
  auto type = mlir::VectorType::get({length}, scalar);
  return arith::ConstantOp::create(ops, loc(), mlir::DenseElementsAttr::get(type, mlir::Attribute(attr)));
}

Val VectorBuilder::constant(DType type, std::int64_t length, double value) {
  const mlir::Type scalar = registerType(type);
  if (!isFloating(type)) {
    return {intConstant(scalar, length, static_cast<std::uint64_t>(static_cast<std::int64_t>(value))), type};
  }
  const mlir::FloatAttr attr = ops.getFloatAttr(scalar, value);
  if (length == 0) return {arith::ConstantOp::create(ops, loc(), attr), type};
  auto vector = mlir::VectorType::get({length}, scalar);
  return {arith::ConstantOp::create(ops, loc(), mlir::DenseElementsAttr::get(vector, mlir::Attribute(attr))), type};
}

Val VectorBuilder::bitsCst(Val like, std::uint64_t bits) {
  const DType type = signedOfWidth(like.type);
  return {intConstant(registerType(type), like.length(), bits), type};
}

Val VectorBuilder::widen(Val v, std::int64_t length) {
  if (v.isVector()) return v;
  auto type = mlir::VectorType::get({length}, v.value.getType());
  // A constant becomes a dense one, which spares the passes a shuffle to fold.
  if (auto constant = v.value.getDefiningOp<arith::ConstantOp>()) {
    auto dense = mlir::DenseElementsAttr::get(type, mlir::Attribute(constant.getValue()));
    return {arith::ConstantOp::create(ops, loc(), dense), v.type};
  }
  return {mlir::vector::BroadcastOp::create(ops, loc(), type, v.value), v.type};
}

void VectorBuilder::match(Val& a, Val& b) {
  if (a.isVector() && !b.isVector()) b = widen(b, a.length());
  if (b.isVector() && !a.isVector()) a = widen(a, b.length());
}

template <class Op>
Val VectorBuilder::binary(Val a, Val b) {
  TANDEM_CHECK(a.type == b.type, "operands of one body operation have dtypes ", dtypeName(a.type), " and ",
               dtypeName(b.type));
  match(a, b);
  return {Op::create(ops, loc(), a.value, b.value), a.type};
}

// On bool, sum and product are `or` and `and`, as in NumPy and PyTorch.
Val VectorBuilder::add(Val a, Val b) {
  if (a.type == DType::Bool) return or_(a, b);
  return isFloating(a.type) ? binary<arith::AddFOp>(a, b) : binary<arith::AddIOp>(a, b);
}
Val VectorBuilder::sub(Val a, Val b) {
  return isFloating(a.type) ? binary<arith::SubFOp>(a, b) : binary<arith::SubIOp>(a, b);
}
Val VectorBuilder::mul(Val a, Val b) {
  if (a.type == DType::Bool) return and_(a, b);
  return isFloating(a.type) ? binary<arith::MulFOp>(a, b) : binary<arith::MulIOp>(a, b);
}

Val VectorBuilder::div(Val a, Val b) {
  if (isFloating(a.type)) return binary<arith::DivFOp>(a, b);
  match(a, b);
  const Val zero = cst(b, 0);
  const Val one = cst(b, 1);
  const Val byZero = eq(b, zero);
  if (!isSigned(a.type)) return select(byZero, zero, binary<arith::DivUIOp>(a, select(byZero, one, b)));
  // The machine traps on x / 0 and on MIN / -1: both divide by one instead and are put right afterwards.
  const Val minusOne = eq(b, cst(b, -1));
  const Val quotient = binary<arith::DivSIOp>(a, select(or_(byZero, minusOne), one, b));
  return select(byZero, zero, select(minusOne, neg(a), quotient));
}

Val VectorBuilder::rem(Val a, Val b) {
  match(a, b);
  if (isFloating(a.type)) return a.isVector() ? floatRem(a, b) : binary<arith::RemFOp>(a, b);
  const Val zero = cst(b, 0);
  return select(eq(b, zero), zero, sub(a, mul(div(a, b), b)));
}

// x - n y for the integer n = trunc(x / y) of positive x and y. The rounded quotient may be one too large, never more
// while it is below 2^24 (2^53), and both remainders are multiples of y's last bit no larger than y: exact.
Val VectorBuilder::remStep(Val x, Val y, Val quotient) {
  const Val r = fma(neg(trunc(quotient)), y, x);
  return select(lt(r, cst(r, 0)), add(r, y), r);
}

// Larger quotients are taken apart: the remainder of x by y times a power of two, then by smaller ones, each an exact
// step; the lanes that need none keep still.
Val VectorBuilder::floatRem(Val x, Val y) {
  const bool wide = x.type == DType::Float64;
  const Val ax = abs(x);
  const Val ay = abs(y);
  const Val quotient = abs(div(x, y));  // one division with that of floor_divide
  Val r = select(lt(ax, ay), ax, remStep(ax, ay, quotient));
  const Val finite = and_(lt(ax, cst(x, std::numeric_limits<double>::infinity())), gt(ay, cst(y, 0)));
  const Val far = and_(ge(quotient, cst(x, wide ? 0x1p53 : 0x1p24)), finite);
  const Val apart = ifAny(
      far,
      [&] {
        const Val numerator = select(far, ax, cst(ax, 0));
        const Val divisor = select(far, ay, cst(ay, 1));
        const Val scaledDown = mul(numerator, cst(ax, wide ? 0x1p-52 : 0x1p-23));
        const auto [top] = whileAny<1>(
            {divisor}, [&](const std::array<Val, 1>& at) { return ge(scaledDown, at[0]); },
            [&](const std::array<Val, 1>& at) {
              const Val larger = mul(at[0], cst(ay, wide ? 0x1p51 : 0x1p22));
              return std::array{select(ge(scaledDown, at[0]), larger, at[0])};
            });
        const auto [rest, last] = whileAny<2>(
            {numerator, top}, [&](const std::array<Val, 2>& at) { return gt(at[1], divisor); },
            [&](const std::array<Val, 2>& at) {
              const Val smaller = mul(at[1], cst(ay, wide ? 0x1p-51 : 0x1p-22));
              return std::array{remStep(at[0], at[1], div(at[0], at[1])), select(gt(at[1], divisor), smaller, at[1])};
            });
        return std::array{remStep(rest, last, div(rest, last))};
      },
      std::array{r})[0];
  r = select(far, apart, r);
  return flt(or_(bits(r), and_(bits(x), bits(cst(x, -0.0)))));
}

Val VectorBuilder::fma(Val a, Val b, Val c) {
  match(a, b);
  match(a, c);
  match(b, c);
  return {math::FmaOp::create(ops, loc(), a.value, b.value, c.value), a.type};
}

// Whole vectors of AVX-512.
bool VectorBuilder::scales(Val y) const {
  return y.type == DType::Float32 && y.length() == kWidestLanes && lanes_ == kWidestLanes;
}
Val VectorBuilder::scale(Val y, Val k) {
  match(y, k);
  const mlir::Type i16 = ops.getI16Type(), i32 = ops.getI32Type();
  const mlir::Value all = LLVM::ConstantOp::create(ops, loc(), i16, ops.getIntegerAttr(i16, -1));
  const mlir::Value asSet = LLVM::ConstantOp::create(ops, loc(), i32, ops.getIntegerAttr(i32, 4));  // how it rounds
  auto call = LLVM::CallIntrinsicOp::create(ops, loc(), y.value.getType(),
                                            ops.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
                                            mlir::ValueRange{y.value, k.value, y.value, all, asSet});
  return {call.getResult(0), y.type};
}

Val VectorBuilder::sqrt(Val a) { return {math::SqrtOp::create(ops, loc(), a.value), a.type}; }
Val VectorBuilder::floor(Val a) { return {math::FloorOp::create(ops, loc(), a.value), a.type}; }
Val VectorBuilder::ceil(Val a) { return {math::CeilOp::create(ops, loc(), a.value), a.type}; }
Val VectorBuilder::trunc(Val a) { return {math::TruncOp::create(ops, loc(), a.value), a.type}; }
Val VectorBuilder::roundeven(Val a) { return {math::RoundEvenOp::create(ops, loc(), a.value), a.type}; }

Val VectorBuilder::neg(Val a) {
  if (isFloating(a.type)) return {arith::NegFOp::create(ops, loc(), a.value), a.type};
  return sub(cst(a, 0), a);
}
Val VectorBuilder::abs(Val a) {
  if (isFloating(a.type)) return {math::AbsFOp::create(ops, loc(), a.value), a.type};
  if (!isSigned(a.type)) return a;
  return select(lt(a, cst(a, 0)), neg(a), a);
}

Val VectorBuilder::compare(Val a, Val b, arith::CmpFPredicate f, arith::CmpIPredicate s, arith::CmpIPredicate u) {
  TANDEM_CHECK(a.type == b.type, "a comparison of ", dtypeName(a.type), " with ", dtypeName(b.type));
  match(a, b);
  if (isFloating(a.type)) return {arith::CmpFOp::create(ops, loc(), f, a.value, b.value), DType::Bool};
  const arith::CmpIPredicate predicate = isSigned(a.type) ? s : u;
  return {arith::CmpIOp::create(ops, loc(), predicate, a.value, b.value), DType::Bool};
}
Val VectorBuilder::lt(Val a, Val b) {
  return compare(a, b, arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt, arith::CmpIPredicate::ult);
}
Val VectorBuilder::le(Val a, Val b) {
  return compare(a, b, arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle, arith::CmpIPredicate::ule);
}
Val VectorBuilder::gt(Val a, Val b) {
  return compare(a, b, arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt, arith::CmpIPredicate::ugt);
}
Val VectorBuilder::ge(Val a, Val b) {
  return compare(a, b, arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge, arith::CmpIPredicate::uge);
}
Val VectorBuilder::eq(Val a, Val b) {
  return compare(a, b, arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq, arith::CmpIPredicate::eq);
}
Val VectorBuilder::ne(Val a, Val b) {
  return compare(a, b, arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne, arith::CmpIPredicate::ne);
}

Val VectorBuilder::select(Val c, Val a, Val b) {
  TANDEM_CHECK(c.type == DType::Bool && a.type == b.type, "select(", dtypeName(c.type), ", ", dtypeName(a.type), ", ",
               dtypeName(b.type), ")");
  match(a, b);
  match(c, a);
  match(a, b);
  return {arith::SelectOp::create(ops, loc(), c.value, a.value, b.value), a.type};
}

Val VectorBuilder::and_(Val a, Val b) { return binary<arith::AndIOp>(a, b); }
Val VectorBuilder::or_(Val a, Val b) { return binary<arith::OrIOp>(a, b); }
Val VectorBuilder::xor_(Val a, Val b) { return binary<arith::XOrIOp>(a, b); }
Val VectorBuilder::not_(Val a) { return xor_(a, cst(a, a.type == DType::Bool ? 1 : -1)); }

Val VectorBuilder::shl(Val a, int by) { return binary<arith::ShLIOp>(a, cst(a, by)); }
Val VectorBuilder::lshr(Val a, int by) { return binary<arith::ShRUIOp>(a, cst(a, by)); }
Val VectorBuilder::ashr(Val a, int by) { return binary<arith::ShRSIOp>(a, cst(a, by)); }

Val VectorBuilder::bits(Val a) {
  if (!isFloating(a.type)) return a;
  const DType type = signedOfWidth(a.type);
  return {arith::BitcastOp::create(ops, loc(), withLength(registerType(type), a.length()), a.value), type};
}
Val VectorBuilder::flt(Val a) {
  if (isFloating(a.type)) return a;
  const DType type = a.type == DType::Int64 ? DType::Float64 : DType::Float32;
  return {arith::BitcastOp::create(ops, loc(), withLength(registerType(type), a.length()), a.value), type};
}

Val VectorBuilder::cast(Val a, DType to) {
  if (a.type == to) return a;
  if (to == DType::Bool) return ne(a, cst(a, 0));
  const mlir::Type type = withLength(registerType(to), a.length());
  const mlir::Value v = a.value;
  if (isFloating(to)) {
    if (isFloating(a.type)) {
      if (to == DType::Float64) return {arith::ExtFOp::create(ops, loc(), type, v), to};
      return {arith::TruncFOp::create(ops, loc(), type, v), to};
    }
    if (a.type == DType::Int64 && a.isVector() && lanes_ < 16) return longToFloat(a, to);
    if (a.type == DType::Bool) return select(a, constant(to, a.length(), 1), constant(to, a.length(), 0));
    if (isSigned(a.type)) return {arith::SIToFPOp::create(ops, loc(), type, v), to};
    return {arith::UIToFPOp::create(ops, loc(), type, v), to};
  }
  if (isFloating(a.type)) return floatToInt(a, to);
  const int from = bitWidth(a.type);
  const int wanted = bitWidth(to);
  if (from == wanted) return {v, to};
  if (from > wanted) return {arith::TruncIOp::create(ops, loc(), type, v), to};
  if (isSigned(a.type)) return {arith::ExtSIOp::create(ops, loc(), type, v), to};
  return {arith::ExtUIOp::create(ops, loc(), type, v), to};
}

// AVX2 has no instruction for it, and a lane at a time takes thrice as long. The halves of the integer become digits of
// two numbers whose exponents place them, 2^84 + 2^63 + high 2^32 and 2^52 + low; only the last addition rounds.
Val VectorBuilder::longToFloat(Val a, DType to) {
  if (to == DType::Float32) {
    // Beyond 2^53 the conversion on the way must not round, or the number would be rounded twice: of the last 11 bits,
    // all below what a float32 keeps, only whether any is set matters.
    const Val last = bitsCst(a, 0x7ff);
    const Val marked = and_(or_(add(and_(a, last), last), a), bitsCst(a, ~std::uint64_t{0x7ff}));
    const Val high = ashr(a, 53);
    const Val small = or_(eq(high, cst(a, 0)), eq(high, cst(a, -1)));
    return cast(longToFloat(select(small, a, marked), DType::Float64), to);
  }
  const Val low = or_(and_(a, bitsCst(a, 0xffffffff)), bitsCst(a, 0x4330000000000000));
  const Val high = xor_(lshr(a, 32), bitsCst(a, 0x4530000080000000));
  return add(sub(flt(high), flt(bitsCst(a, 0x4530000080100000))), flt(low));
}

// Truncates and saturates, NaN to 0, whatever the machine does outside the range: the operand is brought into it
// before the conversion. Both bounds are powers of two (or zero), hence exact.
Val VectorBuilder::floatToInt(Val a, DType to) {
  const int width = bitWidth(to);
  const double above = std::ldexp(1.0, isSigned(to) ? width - 1 : width);
  const double least = isSigned(to) ? -above : 0.0;
  const Val low = cst(a, least);
  const Val tooBig = ge(a, cst(a, above));
  Val inRange = select(gt(a, low), a, low);  // NaN becomes `low`, and 0 below
  inRange = select(tooBig, low, inRange);
  const DType via = width == 64 ? DType::Int64 : DType::Int32;
  const mlir::Type viaType = withLength(registerType(via), a.length());
  Val result = {arith::FPToSIOp::create(ops, loc(), viaType, inRange.value), via};
  if (via != to) result = cast(result, to);
  const std::uint64_t largest = isSigned(to) ? (std::uint64_t{1} << (width - 1)) - 1 : (std::uint64_t{1} << width) - 1;
  const Val max = {intConstant(registerType(to), a.length(), largest), to};
  result = select(tooBig, max, result);
  return select(ne(a, a), cst(result, 0), result);
}

Val VectorBuilder::index() {
  TANDEM_CHECK(rowIndex_, "a body asks for the index outside the inner loop");
  const mlir::Value first = arith::AddIOp::create(ops, loc(), rowIndex_, innerIndex_);
  llvm::SmallVector<std::int64_t> offsets;
  for (int lane = 0; lane < lanes_; ++lane) offsets.push_back(lane);
  const Val iota = {arith::ConstantOp::create(ops, loc(), ops.getI64VectorAttr(offsets)), DType::Int64};
  return add(toVector({first, DType::Int64}), iota);
}

Val VectorBuilder::slice(Val v, std::int64_t from, std::int64_t length) {
  llvm::SmallVector<std::int64_t> lanes;
  for (std::int64_t i = 0; i < length; ++i) lanes.push_back(from + i);
  return {mlir::vector::ShuffleOp::create(ops, loc(), v.value, v.value, lanes), v.type};
}

Val VectorBuilder::element(Val v, std::int64_t at) {
  return {mlir::vector::ExtractOp::create(ops, loc(), v.value, at), v.type};
}

// The memory form of a constant that is a number of the half type, or null.
mlir::Value VectorBuilder::constantForm(mlir::Value v, DType half) {
  std::uint64_t bits = 0;
  if (!constantBits(v, bits)) return {};
  llvm::APFloat number(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits));
  bool inexact = false;
  number.convert(half == DType::Float16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(),
                 llvm::APFloat::rmNearestTiesToEven, &inexact);
  auto vector = llvm::dyn_cast<mlir::VectorType>(v.getType());
  if (inexact) return {};
  return intConstant(ops.getI16Type(), vector ? vector.getNumElements() : 0, number.bitcastToAPInt().getZExtValue());
}

// A number that was read and differs in its sign alone, made where numbers are narrow: as many instructions, each of
// half the width, and no conversion.
mlir::Value VectorBuilder::inMemoryForm(mlir::Value v, DType half) {
  mlir::Operation* op = v.getDefiningOp();
  if (op == nullptr) return {};
  auto vector = llvm::dyn_cast<mlir::VectorType>(v.getType());
  const std::int64_t length = vector ? vector.getNumElements() : 0;
  const mlir::Type narrow = withLength(ops.getI16Type(), length);
  auto masked = [&](mlir::Value from, std::uint64_t bits) -> mlir::Value {
    const mlir::Value form = inMemoryForm(from, half);
    return form ? mlir::Value(arith::AndIOp::create(ops, loc(), form, intConstant(ops.getI16Type(), length, bits)))
                : form;
  };
  if (auto wide = llvm::dyn_cast<arith::ExtFOp>(op)) {
    if (half != DType::Float16 || wide.getIn().getType() != withLength(ops.getF16Type(), length)) return {};
    return arith::BitcastOp::create(ops, loc(), narrow, wide.getIn());
  }
  if (auto minus = llvm::dyn_cast<arith::NegFOp>(op)) {
    const mlir::Value form = inMemoryForm(minus.getOperand(), half);
    if (!form) return {};
    return arith::XOrIOp::create(ops, loc(), form, intConstant(ops.getI16Type(), length, 0x8000));
  }
  if (auto size = llvm::dyn_cast<math::AbsFOp>(op)) return masked(size.getOperand(), 0x7fff);
  if (auto choice = llvm::dyn_cast<arith::SelectOp>(op)) {
    const mlir::Value first = constantForm(choice.getTrueValue(), half);
    const mlir::Value second = first ? constantForm(choice.getFalseValue(), half) : first;
    return second ? mlir::Value(arith::SelectOp::create(ops, loc(), choice.getCondition(), first, second)) : second;
  }
  auto cast = llvm::dyn_cast<arith::BitcastOp>(op);
  if (!cast) return {};
  if (auto shift = cast.getIn().getDefiningOp<arith::ShLIOp>()) {
    auto wide = shift.getLhs().getDefiningOp<arith::ExtUIOp>();
    const bool read = half == DType::BFloat16 && wide && wide.getIn().getType() == narrow;
    return read ? wide.getIn() : mlir::Value();
  }
  // The size of one number with the sign of another.
  auto either = cast.getIn().getDefiningOp<arith::OrIOp>();
  auto size = either ? either.getLhs().getDefiningOp<arith::BitcastOp>() : arith::BitcastOp();
  auto sign = either ? either.getRhs().getDefiningOp<arith::AndIOp>() : arith::AndIOp();
  auto signed_ = sign ? sign.getLhs().getDefiningOp<arith::BitcastOp>() : arith::BitcastOp();
  std::uint64_t bits = 0;
  if (!size || !size.getIn().getDefiningOp<math::AbsFOp>() || !signed_ || !constantBits(sign.getRhs(), bits) ||
      bits != 0x80000000)
    return {};
  const mlir::Value first = inMemoryForm(size.getIn(), half);
  const mlir::Value second = first ? masked(signed_.getIn(), 0x8000) : first;
  return second ? mlir::Value(arith::OrIOp::create(ops, loc(), first, second)) : second;
}

Val VectorBuilder::roundToHalf(Val v, DType half) {
  if (const mlir::Value form = inMemoryForm(v.value, half)) {
    if (half == DType::BFloat16) return widenHalf(form, half);
    return widenHalf(arith::BitcastOp::create(ops, loc(), withLength(ops.getF16Type(), v.length()), form), half);
  }
  if (half == DType::Float16) {
    const mlir::Type f16 = withLength(ops.getF16Type(), v.length());
    const mlir::Value narrow = arith::TruncFOp::create(ops, loc(), f16, v.value);
    return {arith::ExtFOp::create(ops, loc(), v.value.getType(), narrow), DType::Float32};
  }
  if (zeroBits(v.value) >= 16) return v;  // chosen among such numbers, or one with another sign
  // Integer arithmetic: the conversion instructions for bfloat16 flush denormals.
  const Val b = bits(v);
  const Val odd = and_(lshr(b, 16), bitsCst(v, 1));
  const Val rounded = add(b, add(odd, bitsCst(v, 0x7fff)));
  const Val quieted = or_(b, bitsCst(v, 0x00400000));
  return flt(and_(select(ne(v, v), quieted, rounded), bitsCst(v, 0xffff0000)));
}

mlir::Value VectorBuilder::narrowHalf(Val rounded, DType half) {
  if (half == DType::Float16) {
    return arith::TruncFOp::create(ops, loc(), withLength(ops.getF16Type(), rounded.length()), rounded.value);
  }
  const Val high = lshr(bits(rounded), 16);
  return arith::TruncIOp::create(ops, loc(), withLength(ops.getI16Type(), rounded.length()), high.value);
}

Val VectorBuilder::widenHalf(mlir::Value memory, DType half) {
  auto vector = llvm::dyn_cast<mlir::VectorType>(memory.getType());
  const std::int64_t length = vector ? vector.getNumElements() : 0;
  if (half == DType::Float16) {
    return {arith::ExtFOp::create(ops, loc(), withLength(ops.getF32Type(), length), memory), DType::Float32};
  }
  const Val wide = {arith::ExtUIOp::create(ops, loc(), withLength(ops.getI32Type(), length), memory), DType::Int32};
  return flt(shl(wide, 16));
}

mlir::scf::IfOp VectorBuilder::openIf(Val mask, std::span<const Val> otherwise) {
  std::int64_t length = mask.length();
  for (const Val& v : otherwise) length = std::max(length, v.length());
  llvm::SmallVector<mlir::Type> types;
  for (const Val& v : otherwise) types.push_back(withLength(registerType(v.type), length));
  return mlir::scf::IfOp::create(ops, loc(), types, anyLane(mask), /*withElseRegion=*/true);
}

mlir::Value VectorBuilder::anyLane(Val mask) {
  if (!mask.isVector()) return mask.value;
  return mlir::vector::ReductionOp::create(ops, loc(), mlir::vector::CombiningKind::OR, mask.value);
}

void VectorBuilder::closeIf(mlir::scf::IfOp op, std::span<const Val> then, std::span<const Val> otherwise) {
  auto yield = [&](std::span<const Val> values) {
    llvm::SmallVector<mlir::Value> yielded;
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto vector = llvm::dyn_cast<mlir::VectorType>(op.getResultTypes()[i]);
      yielded.push_back(vector ? widen(values[i], vector.getNumElements()).value : values[i].value);
    }
    mlir::scf::YieldOp::create(ops, loc(), yielded);
  };
  yield(then);
  ops.setInsertionPointToStart(&op.getElseRegion().front());
  yield(otherwise);
}

}  // namespace tandem::codegen
