// What a type that the parameters of records have is elsewhere.
class ParamType<string n, string c, string s, string a, string g, string w = "", bit o = 0> {
  string name = n;
  string cpp = c;         // as a parameter of a C++ operation function
  string spec = s;        // how the Python bindings parse it (python/src/arg_parser.h)
  string annotation = a;  // in the stubs
  string getter = g;      // how the caller reads it, with or without a default
  string writer = w;      // how primitives write such an attribute (runtime/base/attrs.h); empty where they have none
  bit operand = o;        // an operand of primitives, no attribute
}
class OperandType<string n, string c, string s, string a, string g> : ParamType<n, c, s, a, g, "", 1>;

def : OperandType<"Tensor", "const Tensor&", "Tensor", "Tensor", "tensor">;
def : OperandType<"Tensor?", "const Tensor&", "OptionalTensor", "Tensor | None", "tensor">;
def : OperandType<"Tensor[]", "std::span<const Tensor>", "TensorList", "Sequence[Tensor]", "tensors">;
def : OperandType<"Operand", "const Operand&", "Operand", "Tensor | Number", "operand">;
def : OperandType<"Operand?", "const std::optional<Operand>&", "Operand", "Tensor | Number | None", "optionalOperand">;
def : OperandType<"Scalar", "Scalar", "Scalar", "Number", "scalar">;
def : ParamType<"Scalar?", "std::optional<Scalar>", "OptionalScalar", "Number | None", "optionalScalar">;
def : ParamType<"int", "std::int64_t", "Int", "_int", "integer", "integer">;
def : ParamType<"int?", "std::optional<std::int64_t>", "OptionalInt", "_int | None", "optionalInteger",
                "optionalInteger">;
def : ParamType<"int[]", "DimsRef", "IntList", "Sequence[_int] | _int", "ints", "list">;
def : ParamType<"int[]?", "const std::optional<Dims>&", "OptionalIntList", "_int | Sequence[_int] | None",
                "optionalInts">;
def : ParamType<"int[2]", "DimsRef", "IntList2", "_int | Sequence[_int]", "ints", "list">;
def : ParamType<"int[2]?", "const std::optional<Dims>&", "IntList2", "_int | Sequence[_int] | None", "optionalInts">;
def : ParamType<"dims", "const std::optional<Dims>&", "OptionalIntList", "_int | Sequence[_int] | None", "optionalInts",
                "list">;
// One of them alone; None cannot be given.
def : ParamType<"dim", "const std::optional<Dims>&", "Int", "_int", "optionalInts", "list">;
def : ParamType<"bool", "bool", "Bool", "_bool", "boolean", "boolean">;
def : ParamType<"bool?", "std::optional<bool>", "OptionalBool", "_bool | None", "optionalBoolean">;
def : ParamType<"dtype", "DType", "OptionalDType", "_dtype", "dtype", "dtype">;
def : ParamType<"dtype?", "std::optional<DType>", "OptionalDType", "_dtype | None", "dtype", "optionalDType">;
def : ParamType<"str", "std::string_view", "Str", "_str", "str">;
def : ParamType<"str?", "std::optional<std::string_view>", "OptionalStr", "_str | None", "optionalStr">;
def : ParamType<"float", "double", "Float", "_float", "number">;
def : ParamType<"float?", "std::optional<double>", "OptionalFloat", "_float | None", "optionalNumber">;
def : ParamType<"generator?", "Generator*", "Generator", "_Generator | None", "generator">;

// What factories take beside the parameters of their record, in this order.
class FactoryKeyword<int i, string n, string s, string a, string d> {
  int place = i;
  string name = n;
  string spec = s;
  string annotation = a;
  string default = d;
}
def : FactoryKeyword<0, "layout", "Layout", "Any", "None">;
def : FactoryKeyword<1, "device", "Device", "_Device", "None">;
def : FactoryKeyword<2, "requires_grad", "Bool", "_bool", "False">;
def : FactoryKeyword<3, "pin_memory", "Any", "_bool", "False">;
// Of those only that take a format.
def : FactoryKeyword<4, "memory_format", "Any", "Any", "None">;

// How docstrings say what a word in `shapes`, `accepts` or `gives` means. `{first}` is the first tensor, `{theirs}` its
// dtype or the promoted one of several.
class Wording<string f, string w, string t> {
  string about = f;
  string word = w;
  string text = t;
}
def : Wording<"shapes", "Same", "the result has the shape of `{first}`">;
def : Wording<"shapes", "Broadcast", "the operands broadcast to the shape of the result">;
def : Wording<"shapes", "Reduced", "`{first}` without the dims of `dim`{keep}">;
def : Wording<"shapes", "Scalar", "any; the result is 0-d">;
def : Wording<"shapes", "Size", "the result has the shape `size`">;
def : Wording<"accepts", "Any", "any">;
def : Wording<"accepts", "Number", "any but bool">;
def : Wording<"accepts", "Floating", "floating-point">;
def : Wording<"accepts", "FloatingOrInt64", "floating-point or int64">;
def : Wording<"accepts", "Wide", "float32 or float64">;
def : Wording<"accepts", "Integer", "integers, not bool">;
def : Wording<"accepts", "Integral", "integers or bool">;
def : Wording<"gives", "First", "the result has that of `{first}`">;
def : Wording<"gives", "FirstAndIndices", "elements have that of `{first}`, places are int64">;
def : Wording<"gives", "Promote", "the result has {theirs}">;
def : Wording<"gives", "Float", "the result has {theirs}, for integers and bool the default dtype">;
def : Wording<"gives", "Sum", "the result has {theirs}, for integers and bool int64">;
def : Wording<"gives", "Bool", "the result is bool">;
def : Wording<"gives", "Int64", "the result is int64">;
def : Wording<"gives", "Float64", "the result is float64">;
