// The kinds of operation and the fields of their records. Read this first; then ir/ops/*.td are the facts, one record an
// operation, and ir/ops/derivatives.td what each one's derivative is.
//
// Parameters are written as in a Python signature, each with its type:
//   Tensor  Tensor?  Tensor[]          tensors; the operands of the operation, in order
//   Operand                            a tensor or a number; Scalar a number. Operands too
//   int  int?  int[]  int[]?  int[2]   integers; int[2] takes one int for both
//   bool  bool?  float  dtype?  str  Scalar?  Operand?   likewise; not operands but attributes (in primitives: int..dtype only)
//   dims                               the dims of a reduction: None (all), an int or a list; wrapped and sorted
//
// Two small languages of dags, both made of calls by name:
//   body        `(mul $input, (tanh $other))`: functions of codegen/math; `$index` is the logical linear index of the
//               element and `$type` the dtype computed in; a string is a floating literal
//   derivative  the same over operations; `$g` the cotangent, `$out` the (first) result, parameters by name

class Fn;

class Op<string n, string k, string p> {
  string name = n;
  string kind = k;
  string params = p;
  string summary = "";
  // The dtype rule (ir/schema/op_table.h, DTypeRule).
  string types = "Rule";
  // Pointwise: the dtypes its body is for: Floating, Integer, Integral (integers and bool), Number (all but bool), or
  // any.
  string domain = "Any";
  // Pointwise: of integers not every operand 1 has a result, and is an error: 0 as a Divisor, negative numbers as an
  // Exponent.
  string partial = "None";
  // Pointwise: with half types a Python number takes part as float32, rounded nowhere; elsewhere it is rounded to the
  // half type first, as PyTorch does on the CPU.
  bit wideNumbers = 0;
  // Pointwise, Random, Creation: one dag a result.
  list<dag> body = [];
  // Where shapes and errors do not follow from the kind: a function of ir/schema/shape_rules.h.
  string shape = "";
  // "Tensor", "Tensor[]" (a list), "Tensor or Tensor[]" (a list, in Python the tensor itself where it is one), or a tuple.
  string results = "Tensor";
  int numResults = 1;
  // Of several results: their names in the named tuple that Python returns; a plain tuple if empty.
  list<string> fields = ["values", "indices"];
  // Where Python finds it: function, method, inplace (`name_`), inview (`name_`: the tensor becomes that view of
  // itself), out (`out=`), property; nn, linalg, special
  // (namespaces), hidden.
  list<string> forms = ["function", "method"];
  // Other Python names, and the Python name itself where it is shared by several records (tried in order).
  list<string> aliases = [];
  string python = n;
  // Adds dtype-less factory keywords: layout, device, requires_grad, pin_memory.
  bit factory = 0;
  // A factory of numbers in a row: an `out=` of as many elements is filled in the shape that it has.
  bit keepsOutShape = 0;
  // An `out=` says the dtype to compute in, as `dtype` would.
  bit outSaysDType = 0;
  // The orders in which older programs give the arguments, all of them positional: "input, alpha, other". They are taken
  // with a warning.
  list<string> older = [];
  // The combiner of a reduction: Sum, Prod, Max, Min, Any, All.
  string combine = "";
  // Updates of optimizers: the function of ir/schema/optimizer_updates.h that the bodies are.
  string update = "";
  // The function of runtime/lib that runs a library operation.
  string function = n;
  // A library operation whose result is operand 0 changed at places: it may be computed in the memory of operand 0. The
  // function then finds its input and its output there, and has failed, if it does, before it changes anything.
  bit updates = 0;
  // What its in-place form does with a tensor whose dims repeat elements: Refused, Taken or Warned (eager/helpers.h).
  string repeats = "Refused";
  // How tests make arguments, and the reference they compare with: names in tests/python/samples.py and of NumPy or
  // SciPy. `none` where another test covers the operation, which then must be named.
  string samples = "";
  string reference = "";
}

class Pointwise<string n, string t, string p> : Op<n, "Pointwise", p> {
  let types = t;
  let forms = ["function", "method", "inplace", "out"];
}
class Unary<string n, string t> : Pointwise<n, t, "Tensor input"> { let samples = "unary"; let reference = n; }
class Binary<string n, string t> : Pointwise<n, t, "Operand input, Operand other"> {
  let samples = "binary";
  let reference = n;
}
// Two tensors, no numbers.
class TensorPair<string n, string t> : Pointwise<n, t, "Tensor input, Tensor other"> {
  let samples = "binary";
  let reference = n;
}
class Reduction<string n, string t, string c, string p> : Op<n, "Reduction", p> {
  let types = t;
  let combine = c;
  let samples = "reduction";
  let reference = n;
}
class Random<string n, string p> : Op<n, "Random", p> { let types = "Raw"; let samples = "random"; }
class Creation<string n, string p> : Op<n, "Creation", p> { let types = "Explicit"; let samples = "creation"; }
class View<string n, string p> : Op<n, "View", p> { let types = "First"; let samples = "view"; let reference = n; }
class Library<string n, string p, string s> : Op<n, "Library", p> { let shape = s; let samples = "library"; }
// Differentiated through what it is made of. One that has a Rule is taped as a whole instead (`tapeWhole`): where the
// sum of the parts' derivatives would cost much more than the derivative of the whole.
class Composite<string n, string p> : Op<n, "Composite", p> { let samples = "composite"; }
// One step of an optimizer, by a formula of ir/schema/optimizer_updates.h: results replace the first operands, `replaced`;
// then come the tensors it reads beside them, and numbers (0-d tensors or scalars). It takes part in no derivative: a step
// that is to be differentiated evaluates the formula over tensors.
class Update<string n, string f, list<string> replaced, list<string> tensors, list<string> numbers>
    : Op<n, "Pointwise", !interleave(!listconcat(!foreach(t, !listconcat(replaced, tensors), "Tensor " # t),
                                                 !foreach(x, numbers, "Operand " # x)), ", ")> {
  let types = "Raw";
  let update = f;
  let numResults = !size(replaced);
  let forms = ["hidden"];
  let samples = "none";
}

// The derivative of `op` with respect to each tensor operand, in order; `(none)` where there is nothing to pass on.
class Derivative<Op o, list<dag> ds> {
  Op op = o;
  list<dag> grads = ds;
  string rule = "";
  list<string> saves = [];
}
// Written in C++, autograd/rules; `saves` names the parameters and results (`out`, `out1`) it reads.
class Rule<Op o, string r, list<string> s> : Derivative<o, []> { let rule = r; let saves = s; }
class NotDifferentiable<Op o> : Derivative<o, []>;

// How a Library operation runs on all examples of `vmap` at once: a function of eager/batch_rules.h. One that says
// nothing runs one example after another.
class Batched<Op o, string r> {
  Op op = o;
  string rule = r;
}

// What users read of an operation beside its summary, where that does not follow from its kind and parameters
// (ir/opgen/docstrings.py makes the docstrings and the reference page of it). Tests provoke what these say.
class Example<Op o, code s> {
  Op op = o;
  // Lines as in Python's prompt, `>>> ` and what they print; `tandem` and `F` (tandem.nn.functional) are imported.
  code session = s;
}
// How the in-place form is shown, where it is not the example with `_`.
class InPlaceExample<Op o, code s> {
  Op op = o;
  code session = s;
}
// Same (as the first tensor), Broadcast (of the operands), Reduced (over `dim`), Scalar (0-d), Size (what `size` says),
// or a sentence.
class Shapes<string t, list<Op> o> {
  string text = t;
  list<Op> ops = o;
}
// The dtypes taken: Any, Number (any but bool), Floating, Wide (float32, float64), Integer, Integral. The dtype of the
// result: First (operand's), FirstAndIndices, Promote, Float, Sum, as the dtype rules of these names; Bool, Int64,
// Float64; or words.
class Dtypes<string a, string g, list<Op> o> {
  string accepts = a;
  string gives = g;
  list<Op> ops = o;
}
// An error beyond those that parameters and dtypes tell, and an expression that raises it with the first of `ops`.
class Raises<string e, string w, string p, list<Op> o> {
  string error = e;
  string when = w;
  string provocation = p;
  list<Op> ops = o;
}
// Composites with floating results that are not differentiable.
class NoGradient<list<Op> o> { list<Op> ops = o; }
// The docstring of a name whose binding is written by hand (python/src): a function, a method or a property of Tensor;
// parameters as in Python, without types.
class ByHand<string o, string n, string p, code t> {
  string owner = o;
  string name = n;
  string params = p;
  code text = t;
}
