// The kinds of operation and the fields of their records. Read this first; then ir/ops/*.td are the facts, by subject:
// a record an operation, in which all that is known of it stands.
//
// Parameters are written as in a Python signature, each with its type:
//   Tensor  Tensor?  Tensor[]          tensors; the operands of the operation, in order. Of a primitive the last one
//                                      may be a Tensor?, which it then has or has not
//   Operand                            a tensor or a number; Scalar a number. Operands too
//   int  int?  int[]  int[]?  int[2]   integers; int[2] takes one int for both
//   bool  bool?  float  dtype?  str  Scalar?  Operand?   likewise; not operands but attributes (of primitives: int to
//                                      dtype only)
//   dims                               the dims of a reduction: None (all), an int or a list; wrapped and sorted
//
// Two small languages of dags, both made of calls by name:
//   body        `(mul $input, (tanh $other))`: functions of codegen/math; `$index` is the logical linear index of the
//               element; `$dtype` the dtype of the operation, for a body that would be wrong after half types have been
//               widened to float32, and `$type` the dtype computed in; a string is a floating literal
//   derivative  the same over operations; `$g` the cotangent, `$out` the (first) result, parameters by name

// A name that dags may call: ir/opgen declares those that records do, in `functions.td`.
class Fn;

// An error beyond those that parameters and dtypes tell, and an expression that raises it.
class Raises<string e, string w, string p> {
  string error = e;
  string when = w;
  string provocation = p;
}

// The fields stand in records in this order. A record has no name beside the operation's, which is spelt one way from
// here to C++, the library and Python: where Python has several forms of one name, theirs begin with it.
class Op<string n, string k, string p> {
  string name = n;
  string kind = k;

  // The Python name where several records share it (tried in order), and other names.
  string python = n;
  list<string> aliases = [];
  // The orders in which older programs give the arguments, all of them positional: "input, alpha, other". They are
  // taken with a warning.
  list<string> older = [];
  string params = p;

  // The dtype rule (ir/schema/op_table.h, DTypeRule).
  string types = "Rule";
  // Pointwise: the dtypes its body is for: Floating, Integer, Integral (integers and bool), Number (all but bool), or
  // any.
  string domain = "Any";
  // Pointwise: what of integers has no result and is an error (ir/schema/op_table.h, OpPartial): 0 as a Divisor,
  // negative numbers as an Exponent, numbers that the result cannot hold as an Exponent or a Choice.
  string partial = "None";
  // Library: what may fail for elements that have no result (ir/schema/op_table.h, OpFailure): Never, by Values that
  // can be looked at before (an index, a class), or while Computing.
  string failure = "Never";
  // Pointwise: with half types a Python number takes part as float32, rounded nowhere; elsewhere it is rounded to the
  // half type first, as PyTorch does on the CPU.
  bit wideNumbers = 0;
  // The rule of shapes and errors, a function of ir/schema/shape_rules.h; none for views and composites.
  string shape = !cond(!eq(k, "Pointwise"): "pointwise",
                       !eq(k, "Reduction"): "reduction",
                       !or(!eq(k, "Random"), !eq(k, "Creation")): "creation",
                       true: "");
  // The combiner of a reduction: Sum, Prod, Max, Min, Any, All.
  string combine = "";
  // Updates of optimizers: the function of ir/schema/optimizer_updates.h that the bodies are.
  string update = "";
  // What passes make by themselves, look through or must not leave out (ir/schema/op_table.h, OpRole): of Pointwise
  // and Creation Copy, Convert, Fill, of Library Expect.
  string role = "None";
  // What its in-place form does with a tensor whose dims repeat elements: Refused, Taken or Warned (eager/helpers.h).
  string repeats = "Refused";

  // "Tensor", "Tensor[]" (a list), "Tensor or Tensor[]" (a list, in Python the tensor itself where it is one), or a
  // tuple.
  string results = "Tensor";
  int numResults = 1;
  // Of several results: their names in the named tuple that Python returns; a plain tuple if empty.
  list<string> fields = ["values", "indices"];
  // Where Python finds it: function, method, inplace (`name_`), inview (`name_`: the tensor becomes that view of
  // itself), property; nn, linalg, special (namespaces), hidden; out (its function of nn takes `out=`).
  list<string> forms = ["function", "method"];
  // Of how many Operands in front Python takes no number, and whether one of the first two has to be a tensor.
  int tensors = 0;
  bit needsOne = 0;
  // Adds dtype-less factory keywords: layout, device, requires_grad, pin_memory.
  bit factory = 0;
  // A factory that takes `memory_format`: one that has a tensor to look at, which else says it. One that has none
  // begins with the shape.
  bit takesFormat = !and(factory, !eq(!find(params, "Tensor input"), 0));
  // Its functions take `out=`; those of nn where `forms` says so, methods never. All but lists, most factories, views.
  bit takesOut = !and(!not(factory), !lt(!find(results, "[]"), 0), !ne(kind, "View"));
  // A factory of numbers in a row: an `out=` of as many elements is filled in the shape that it has.
  bit keepsOutShape = 0;
  // An `out=` says the dtype to compute in, as `dtype` would.
  bit outSaysDType = 0;
  // In Python the tensors of the last list may be given one by one, or none of them; else they are one list or tuple.
  bit oneByOne = 0;

  // Pointwise, Random, Creation: one dag a result.
  list<dag> body = [];

  // The derivative with respect to each tensor operand, in order: what is passed on, as calls of differentiable
  // operations, so that every order follows; `(none)` where there is nothing to pass on. Broadcasting is undone in the
  // engine. Primitives have a derivative or a rule, or are not differentiable.
  list<dag> derivative = [];
  // Or one written in C++ (autograd/rules), `refused` where asking for it is an error; `saves` names the parameters and
  // results (`out`, `out1`) it reads.
  string rule = "";
  list<string> saves = [];
  // 0 for primitives that have none, and for composites with floating results that pass none on.
  bit differentiable = 1;

  // How a Library operation runs on all examples of `vmap` at once: a function of eager/batch_rules.h. One that says
  // nothing runs one example after another. Pointwise operations, reductions, random numbers and views follow from
  // their kind.
  string batching = "";
  // What `autocast` does to the floating arguments (float64 apart) of an operation that Python calls, by PyTorch's
  // lists for CPUs: Lower (products and convolutions, which gain by the low precision and sum in float32), LowerSums
  // (the same of calls that sum products, and do not only make them), Float32 (what loses too much else), Promote
  // (to the widest that is among them). Operations inside another one are not cast again.
  string mixedPrecision = "None";
  // The same on a GPU, by the lists for those, where they say otherwise: more is Float32.
  string gpuMixedPrecision = "";

  // What users read: a line or two, and what does not follow from kind and parameters (ir/opgen/docstrings.py makes the
  // docstrings and the reference page of it). Tests run the examples and provoke the errors.
  string summary = "";
  // Shapes: Same (as the first tensor), Broadcast (of the operands), Reduced (over `dim`), Scalar (0-d), Size (what
  // `size` says), or a sentence.
  string shapes = !cond(!or(!eq(kind, "Pointwise"), !eq(kind, "Random"), !eq(kind, "Creation")):
                          !if(!lt(!find(params, ","), 0), "Same", "Broadcast"),
                        !eq(kind, "Reduction"): "Reduced",
                        true: "");
  // The dtypes taken: Any, Number (any but bool), Floating, FloatingOrInt64, Wide (float32, float64), Integer,
  // Integral. The dtype of the result: First (operand's), FirstAndIndices, Promote, Float, Sum, as the dtype rules of
  // these names; Bool, Int64, Float64; or words. Both follow from the dtype rule, where that says something of dtypes.
  bit byTypes = !not(!or(!eq(types, "Rule"), !eq(types, "Raw"), !eq(types, "Explicit")));
  string accepts = !if(byTypes, domain, "");
  string gives = !cond(!not(byTypes): "",
                       !or(!eq(types, "Compare"), !eq(types, "Logical")): "Bool",
                       !eq(types, "Select"): "Promote",
                       !eq(types, "Index"): "Int64",
                       true: types);
  list<Raises> raises = [];
  // Lines as in Python's prompt, `>>> ` and what they print, as PyTorch prints it; `tandem` and `F`
  // (tandem.nn.functional) are imported.
  code example = [{}];
  // How the in-place form is shown, where it is not the example with `_`.
  code inPlaceExample = [{}];

  // How tests make arguments, and the reference they compare with: names in tests/python/tables/samples.py and of NumPy
  // or SciPy. `none` where another test covers the operation, which then must be named.
  string samples = "";
  string reference = "";

  // What follows from these fields. It has no line in records.
  bit composite = !eq(kind, "Composite");
  bit generated = !or(!eq(kind, "Pointwise"), !eq(kind, "Random"), !eq(kind, "Creation"));
  bit visible = !empty(!filter(form, forms, !eq(form, "hidden")));
  bit derived = !or(!not(!empty(derivative)), !ne(rule, ""));
  // Has an op code: is a node of traces or tapes.
  bit coded = !or(!not(composite), !ne(rule, ""));
  // Draws random numbers: begins with the generator's state, which callers do not pass.
  bit draws = !eq(!find(params, "Scalar seed, Scalar offset"), 0);
  // Without what private forms have behind the name of what users call.
  string plain = !subst("_plain", "", name);

  // What is incomplete or contradicts itself is refused; ir/opgen refuses unknown parameters beside this.
  string subject = "`" # name # "` ";
  assert !or(!ne(kind, "Random"), draws), subject # "draws without the state of a generator";
  assert !ne(summary, ""), subject # "has no summary";
  assert !ne(samples, ""), subject # "has no samples";
  assert !or(!not(visible), !not(!empty(example))), subject # "has no example";
  assert !or(!not(visible), !ne(shapes, "")), subject # "has no statement of shapes";
  assert !or(!not(visible), !ne(gives, "")), subject # "has no statement of dtypes (accepts and gives)";
  assert !le(numResults, 8), subject # "has more results than ir/schema/op_table.h allows";
  assert !or(!not(generated), !ne(update, ""), !eq(!size(body), numResults)),
         subject # "has " # !size(body) # " bodies for " # numResults # " results";
  assert !or(!ne(kind, "Reduction"), !ne(combine, "")), subject # "has no combiner";
  assert !or(!eq(update, ""), !and(!empty(body), !not(derived))),
         subject # "is an update: its bodies are its formula, and it has no derivative";
  assert !or(composite, !ne(update, ""), derived, !not(differentiable)),
         subject # "has no derivative statement (`derivative`, `rule` or `differentiable = 0`)";
  assert !or(!not(composite), !empty(derivative)),
         subject # "is composite: its derivative follows from what it is made of, or is a `rule` for the whole";
  assert !or(!empty(derivative), !and(!eq(rule, ""), differentiable)),
         subject # "has a derivative and a rule, or one though it is not differentiable";
}

class Pointwise<string n, string t, string p> : Op<n, "Pointwise", p> {
  let types = t;
  let forms = ["function", "method", "inplace"];
}
class Unary<string n, string t> : Pointwise<n, t, "Tensor input"> { let samples = "unary"; let reference = n; }
class Binary<string n, string t> : Pointwise<n, t, "Operand input, Operand other"> {
  let needsOne = !eq(tensors, 0);
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
// A function by cases, as one step.
class Case<string n, string t, string p> : Pointwise<n, t, p> { let forms = ["hidden"]; let samples = "none"; }
class Random<string n, string p> : Op<n, "Random", p> { let types = "Raw"; let samples = "random"; }
class Creation<string n, string p> : Op<n, "Creation", p> { let types = "Explicit"; let samples = "creation"; }
class View<string n, string p> : Op<n, "View", p> { let types = "First"; let samples = "view"; let reference = n; }
// Run by the function of runtime/lib that has the operation's name, without the `_plain` that private forms of what
// users call have behind it. The kinds below say more of it than that.
class Library<string n, string p, string s> : Op<n, "Library", p> { let shape = s; let samples = "library"; }
class Contraction<string n, string p, string s> : Library<n, p, s> { let kind = "Contraction"; }
class Convolution<string n, string p, string s> : Library<n, p, s> { let kind = "Convolution"; }
class Pool<string n, string p, string s> : Library<n, p, s> { let kind = "Pool"; }
class Attention<string n, string p, string s> : Library<n, p, s> { let kind = "Attention"; }
class Gather<string n, string p, string s> : Library<n, p, s> {
  let kind = "Gather";
  let failure = "Values";
}
// The result is operand 0 changed at places: it may be computed in the memory of operand 0. The function then finds its
// input and its output there, and has failed, if it does, before it changes anything.
class Scatter<string n, string p, string s> : Library<n, p, s> {
  let kind = "Scatter";
  let failure = "Values";
}
class Scan<string n, string p, string s> : Library<n, p, s> { let kind = "Scan"; }
class Sort<string n, string p, string s> : Library<n, p, s> { let kind = "Sort"; }
class Factorisation<string n, string p, string s> : Library<n, p, s> { let kind = "Factorisation"; }
// Differentiated through what it is made of. One that has a Rule is taped as a whole instead (`tapeWhole`): where the
// sum of the parts' derivatives would cost much more than the derivative of the whole.
class Composite<string n, string p> : Op<n, "Composite", p> { let samples = "composite"; }
// One step of an optimizer, by a formula of ir/schema/optimizer_updates.h: results replace the first operands,
// `replaced`; then come the tensors it reads beside them, and numbers (0-d tensors or scalars). It takes part in no
// derivative: a step that is to be differentiated evaluates the formula over tensors.
class Update<string n, string f, list<string> replaced, list<string> tensors, list<string> numbers>
    : Op<n, "Pointwise", !interleave(!listconcat(!foreach(t, !listconcat(replaced, tensors), "Tensor " # t),
                                                 !foreach(x, numbers, "Operand " # x)), ", ")> {
  let types = "Raw";
  let update = f;
  let numResults = !size(replaced);
  let forms = ["hidden"];
  let samples = "none";
}

// The docstring of a name whose binding is written by hand (python/src): a function, a method or a property of Tensor;
// parameters as in Python, without types.
class ByHand<string o, string n, string p, code t> {
  string owner = o;
  string name = n;
  string params = p;
  code text = t;
}
