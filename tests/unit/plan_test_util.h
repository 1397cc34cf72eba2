// For tests of plans: traces in few words, running their plans over plain buffers, and a reference that evaluates a
// trace one node at a time, windows and writes in plain loops.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "ir/trace/graph_compiler.h"
#include "ir/trace/trace.h"

namespace tandem::test {

using Bytes = std::vector<char>;

template <class T>
Bytes bytesOf(const std::vector<T>& values) {
  Bytes b(values.size() * sizeof(T));
  if (!b.empty()) std::memcpy(b.data(), values.data(), b.size());
  return b;
}
template <class T>
std::vector<T> valuesOf(const Bytes& b) {
  std::vector<T> values(b.size() / sizeof(T));
  if (!b.empty()) std::memcpy(values.data(), b.data(), b.size());
  return values;
}

/// A trace under construction.
class Graph {
 public:
  ValueRef input(Dims shape, DType dtype = DType::Float32) {
    TensorMeta m;
    m.shape = std::move(shape);
    m.dtype = dtype;
    return trace.addInput(m);
  }
  std::int32_t scalar(Scalar value, ScalarSlot::Source source = ScalarSlot::Source::Constant, int a = -1, int b = -1) {
    return trace.addSlot({source, value, a, b});
  }
  /// Results follow from the meta rule.
  std::uint32_t node(OpCode op, const std::vector<TraceOperand>& operands,
                     const std::vector<std::int64_t>& attrs = {}) {
    const OpFacts& f = facts(op);
    std::vector<TensorMeta> metas;
    for (const TraceOperand& o : operands) metas.push_back(metaOf(o));
    std::vector<TensorMeta> results(f.numResults);
    f.metaRule(f, metas, attrs, results);
    return trace.addOp(op, operands, attrs, results);
  }
  ValueRef op(OpCode op, const std::vector<ValueRef>& operands, const std::vector<std::int64_t>& attrs = {}) {
    std::vector<TraceOperand> all;
    for (ValueRef v : operands) all.push_back(TraceOperand::of(v));
    return {node(op, all, attrs), 0};
  }
  ValueRef withScalar(OpCode op, ValueRef a, Scalar s) {
    return {node(op, {TraceOperand::of(a), TraceOperand::ofSlot(scalar(s))}), 0};
  }
  ValueRef reduce(OpCode code, ValueRef v, std::vector<std::int64_t> dims, bool keepdim = true) {
    std::vector<std::int64_t> attrs{static_cast<std::int64_t>(dims.size())};
    attrs.insert(attrs.end(), dims.begin(), dims.end());
    attrs.push_back(keepdim ? 1 : 0);
    if (facts(code).dtypeRule == DTypeRule::Sum) attrs.push_back(0);
    return op(code, {v}, attrs);
  }
  ValueRef window(ValueRef v, Dims shape, Dims strides, std::int64_t offset = 0) {
    return trace.addWindow(v, {std::move(shape), std::move(strides), offset});
  }
  TensorMeta metaOf(const TraceOperand& o) const {
    TensorMeta m;
    if (o.kind == TraceOperand::Kind::Value) return trace.meta(o.value);
    m.absent = o.kind == TraceOperand::Kind::Absent;
    if (m.absent) return m;
    const Scalar& s = trace.slots[static_cast<std::size_t>(o.slot)].value;
    m.weak = true;
    m.dtype = s.isFloat() ? DType::Float64 : s.kind == Scalar::Kind::Bool ? DType::Bool : DType::Int64;
    return m;
  }

  Trace trace;
};

inline std::size_t byteSize(const TensorMeta& m) {
  return static_cast<std::size_t>(numelOf(m.shape)) * itemSize(m.dtype);
}

struct Ran {
  std::vector<Bytes> inputs;   // as the run left them
  std::vector<Bytes> outputs;  // all of the trace's outputs, in order
};

/// Runs a plan over copies of `inputs`.
inline Ran run(const Plan& plan, const Trace& trace, const std::vector<TraceOutput>& outputs, std::vector<Bytes> inputs,
               std::vector<Scalar> arguments = {}) {
  Ran ran;
  ran.inputs = std::move(inputs);
  for (const TraceOutput& o : outputs) ran.outputs.emplace_back(byteSize(trace.meta(o.value)));
  std::vector<void*> in;
  std::vector<void*> out;
  for (Bytes& b : ran.inputs) in.push_back(b.data());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].intoInput < 0) out.push_back(ran.outputs[i].data());
  runPlan(plan, {in, out, arguments, 1234, 5, {}});
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].intoInput >= 0) ran.outputs[i] = ran.inputs[static_cast<std::size_t>(outputs[i].intoInput)];
  return ran;
}

/// Every element's place in a window, in logical order.
inline std::vector<std::int64_t> placesOf(const Window& w) {
  std::vector<std::int64_t> places;
  std::int64_t n = numelOf(w.shape);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = i;
    std::int64_t at = w.offset;
    for (std::size_t d = w.shape.size(); d-- > 0; rest /= w.shape[d]) at += rest % w.shape[d] * w.strides[d];
    places.push_back(at);
  }
  return places;
}

/// What each output must hold, by evaluating one node at a time.
inline std::vector<Bytes> evaluate(const Trace& trace, const std::vector<TraceOutput>& outputs,
                                   const std::vector<Bytes>& inputs) {
  std::vector<std::vector<Bytes>> values(trace.nodes.size());
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    const TraceNode& node = trace.nodes[i];
    const std::span<const TraceOperand> ins = trace.operands(node);
    const std::span<const TensorMeta> results = trace.results(node);
    auto value = [&](std::size_t k) -> const Bytes& { return values[ins[k].value.node][ins[k].value.result]; };
    std::size_t item = itemSize(results[0].dtype);
    switch (node.kind) {
    case TraceNode::Kind::Input:
      values[i] = {inputs[node.input]};
      break;
    case TraceNode::Kind::Window: {
      Bytes out(byteSize(results[0]));
      std::size_t at = 0;
      for (std::int64_t p : placesOf(trace.window(node))) std::memcpy(&out[item * at++], &value(0)[item * p], item);
      values[i] = {out};
      break;
    }
    case TraceNode::Kind::Write: {
      Bytes out = value(0);
      std::size_t at = 0;
      for (std::int64_t p : placesOf(trace.window(node))) std::memcpy(&out[item * p], &value(1)[item * at++], item);
      values[i] = {out};
      break;
    }
    case TraceNode::Kind::Op: {
      Trace one;
      one.slots = trace.slots;
      std::vector<TraceOperand> operands;
      std::vector<Bytes> given;
      for (std::size_t k = 0; k < ins.size(); ++k) {
        operands.push_back(ins[k]);
        if (operands[k].kind != TraceOperand::Kind::Value) continue;
        operands[k].value = one.addInput(trace.meta(operands[k].value));
        given.push_back(value(k));
      }
      std::uint32_t n = one.addOp(node.op, operands, trace.attrs(node), results);
      std::vector<TraceOutput> outs;
      for (std::uint32_t r = 0; r < results.size(); ++r) outs.push_back({{n, r}, -1});
      values[i] = run(*graphCompiler().compile(one, outs), one, outs, given).outputs;
      break;
    }
    }
  }
  std::vector<Bytes> results;
  for (const TraceOutput& o : outputs) results.push_back(values[o.value.node][o.value.result]);
  return results;
}

}  // namespace tandem::test
