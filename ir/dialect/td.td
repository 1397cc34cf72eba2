// The dialect `td`: what a recorded graph is inside the compiler. One operation a *kind*; which addition or reduction it
// is says an attribute from the op table (`td.pointwise<add>`), so passes work on kinds and ask the table for facts.
//
// A program is a `func.func` whose arguments are the inputs and whose terminator is `td.return`. Values are tensors of
// static shape, contiguous in row-major order, or scalars (i1, i64, f64: run-time numbers, weakly typed as Python's).
// Operands of pointwise operations broadcast and convert implicitly, by the rules of ir/schema.
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TD_Dialect : Dialect {
  let name = "td";
  let cppNamespace = "::tandem::td";
  let summary = "Recorded tensor programs, before and after fusion.";
  let useDefaultAttributePrinterParser = 1;
}

def TD_OpAttr : AttrDef<TD_Dialect, "Op"> {
  let mnemonic = "op";
  let summary = "An operation of the op table, printed by name.";
  let parameters = (ins "::tandem::OpCode":$code);
  let hasCustomAssemblyFormat = 1;
}

def TD_Tensor : Type<CPred<"::tandem::td::isTensorType($_self)">, "tensor of static shape and a dtype of ours">;
def TD_Scalar : AnyTypeOf<[I1, I64, F64], "run-time scalar">;
def TD_Operand : AnyTypeOf<[TD_Tensor, TD_Scalar, NoneType], "tensor, scalar or absent operand">;

class TD_Op<string mnemonic, list<Trait> traits = []> : Op<TD_Dialect, mnemonic, traits>;

// The operations of the op table: an attribute for which one, and its attributes in the record's encoding.
class TD_TableOp<string mnemonic> : TD_Op<mnemonic, [Pure]> {
  let arguments = (ins TD_OpAttr:$op, Variadic<TD_Operand>:$inputs,
                   DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$attrs);
  let results = (outs Variadic<TD_Tensor>:$results);
  let assemblyFormat = "`` $op `(` $inputs `)` custom<Attrs>($attrs) attr-dict `:` functional-type($inputs, $results)";
  let hasVerifier = 1;
}

def TD_PointwiseOp : TD_TableOp<"pointwise"> {
  let summary = "One result element from the operands' elements at the same (broadcast) place; also full and ramps.";
}
def TD_ReduceOp : TD_TableOp<"reduce"> {
  let summary = "A reduction; attributes: the dims' count, the dims, keepdim, and what the record adds.";
}
def TD_RandomOp : TD_TableOp<"random"> {
  let summary = "Random numbers of (seed, offset, ...) and the element's index.";
}
def TD_LibraryOp : TD_TableOp<"library"> {
  let summary = "A function of runtime/lib, alone in its instruction.";
}

def TD_SlotOp : TD_Op<"slot", [Pure]> {
  let summary = "Run-time scalar number `index` of the plan.";
  let arguments = (ins I64Attr:$index);
  let results = (outs TD_Scalar:$result);
  let assemblyFormat = "$index attr-dict `:` type($result)";
}

def TD_ConstantOp : TD_Op<"constant", [Pure]> {
  let summary = "An integer that a pass brought in: the identity of an empty reduction.";
  let arguments = (ins I64Attr:$value);
  let results = (outs I64:$result);
  let assemblyFormat = "$value attr-dict";
}

def TD_AbsentOp : TD_Op<"absent", [Pure]> {
  let summary = "An optional operand that was not given.";
  let results = (outs NoneType:$result);
  let assemblyFormat = "attr-dict";
}

def TD_WindowOp : TD_Op<"window", [Pure]> {
  let summary = "A strided window on a value, read as a value. It never costs a copy by itself.";
  let arguments = (ins TD_Tensor:$source, DenseI64ArrayAttr:$strides, I64Attr:$offset);
  let results = (outs TD_Tensor:$result);
  let assemblyFormat = [{
    $source `strides` $strides `offset` $offset attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def TD_WriteOp : TD_Op<"write", [Pure, AllTypesMatch<["base", "result"]>]> {
  let summary = "`base` with a window of it, of the shape of `value`, replaced by `value`.";
  let arguments = (ins TD_Tensor:$base, TD_Tensor:$value, DenseI64ArrayAttr:$strides, I64Attr:$offset);
  let results = (outs TD_Tensor:$result);
  let assemblyFormat = [{
    $value `into` $base `strides` $strides `offset` $offset attr-dict `:` type($value) `into` type($base)
  }];
  let hasVerifier = 1;
}

def TD_FrameOp : TD_Op<"frame", [Pure]> {
  let summary = "The elements of `value`, in order, from element `begin` on; all others are the one of `fill`.";
  let arguments = (ins TD_Tensor:$value, TD_Tensor:$fill, I64Attr:$begin);
  let results = (outs TD_Tensor:$result);
  let assemblyFormat = [{
    $value `in` $fill `begin` $begin attr-dict `:` type($value) `in` type($fill) `->` type($result)
  }];
  let hasVerifier = 1;
}

def TD_CopyOp : TD_Op<"copy", [Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "The same value in memory of its own.";
  let arguments = (ins TD_Tensor:$source);
  let results = (outs TD_Tensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

def TD_RegionOp : TD_Op<"region", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "Operations that become one kernel. Windows inside only broadcast or drop and add dims of size 1.";
  let description = [{
    `kind` is `pointwise`, `row` (with reductions over trailing dims and what is broadcast back) or `column` (reductions
    over leading or middle dims, with their producers). The iteration space is `space`; a row region reduces its dims
    from `begin` on, a column region the dims [begin, end). Block arguments are the operands. The space has no dims of
    size 1; `maps` has for every input and then every result a list: the dim of the space that each of its dims of other
    sizes runs along.
  }];
  let arguments = (ins Variadic<TD_Operand>:$inputs, StrAttr:$kind, DenseI64ArrayAttr:$space, I64Attr:$begin,
                   I64Attr:$end, TypedArrayAttrBase<DenseI64ArrayAttr, "list of dim lists">:$maps);
  let results = (outs Variadic<TD_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $kind $space `reduce` `[` $begin `,` $end `]` `(` $inputs `)` $body attr-dict `:` functional-type($inputs, $results)
  }];
  let hasVerifier = 1;
}

def TD_YieldOp : TD_Op<"yield", [Pure, Terminator, HasParent<"RegionOp">]> {
  let summary = "The results of a region.";
  let arguments = (ins Variadic<TD_Tensor>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def TD_ReturnOp : TD_Op<"return", [Pure, Terminator, HasParent<"::mlir::func::FuncOp">]> {
  let summary = "The values that leave the program.";
  let description = [{
    `into[i]` is -1 where value i goes to a fresh buffer, else the number of the argument whose memory it becomes.
  }];
  let arguments = (ins Variadic<TD_Tensor>:$values, DenseI64ArrayAttr:$into);
  let assemblyFormat = "$values `into` $into attr-dict `:` type($values)";
  let hasVerifier = 1;
}
