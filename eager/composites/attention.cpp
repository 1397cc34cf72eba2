// scaled_dot_product_attention: brings its operands into the form of the primitive, [B, H, rows, width].
#include <cmath>
#include <optional>

#include "eager/compute_flags.h"
#include "eager/generator.h"
#include "eager/helpers.h"
#include "eager/ops.h"

namespace tandem::ops {
namespace {

constexpr const char* kName = "scaled_dot_product_attention";

Dims leadOf(const Tensor& x, std::int64_t behind) { return {x.shape().begin(), x.shape().end() - behind}; }

/// `x` with the leading dims `lead` as batch and heads: the last of them, if any, counts heads.
Tensor asHeads(const Tensor& x, const Dims& lead) {
  Dims shape = lead;
  shape.append(x.shape().end() - 2, x.shape().end());
  Tensor y = x.shape() == shape ? x : expand(x, shape);
  if (lead.size() == 2) return y;
  std::int64_t heads = lead.empty() ? 1 : lead.back();
  std::int64_t batch = lead.empty() ? 1 : numelOf(DimsRef(lead).first(lead.size() - 1));
  return reshape(y, Dims{batch, heads, x.size(-2), x.size(-1)});
}

/// Has the memory of [B, H, rows, width] a row of all heads before the next row? As in PyTorch the output of such a
/// query has, too, so that its heads lie side by side.
bool rowsBeforeHeads(const Tensor& x) { return 0 < x.strides()[1] && x.strides()[1] < x.strides()[2]; }

void checkOperands(const Tensor& q, const Tensor& k, const Tensor& v) {
  if (q.dim() < 2 || k.dim() < 2 || v.dim() < 2)
    fail(kName, ": Expected query, key, and value to all be  at least 2 dimensional, but got shapes ",
         shapeText(q.shape()), ", ", shapeText(k.shape()), " and ", shapeText(v.shape()));
  if (q.dtype() != k.dtype() || q.dtype() != v.dtype())
    fail("Expected query, key, and value to have the same dtype, but got query.dtype: ", dtypeName(q.dtype()),
         " key.dtype: ", dtypeName(k.dtype()), " and value.dtype: ", dtypeName(v.dtype()), " instead.");
  if (!isFloating(q.dtype()))
    fail<NotImplementedError>("\"", kName, "\" not implemented for '", dtypeName(q.dtype()), "'");
  if (q.size(-1) != k.size(-1) || k.size(-2) != v.size(-2))
    fail(kName, ": shapes do not fit: query ", shapeText(q.shape()), ", key ", shapeText(k.shape()), ", value ",
         shapeText(v.shape()), "; query and key must agree in the last dim, key and value in the one before it");
}

/// Of operands that are checked. `in` is the half type in which cuDNN may multiply, float32 where it may not.
Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, double dropout,
              bool causal, std::optional<double> scale, bool grouped, DType in) {
  if (mask.defined() && mask.dtype() != DType::Bool && mask.dtype() != DType::Float32 && mask.dtype() != query.dtype())
    fail("Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ",
         dtypeName(mask.dtype()), " and  query.dtype: ", dtypeName(query.dtype()), " instead.");

  Dims lead = leadOf(query, 2);
  Dims sharedLead;
  if (grouped) {
    if (query.dim() < 3 || key.dim() != query.dim() || value.dim() != query.dim() || key.size(-3) == 0 ||
        query.size(-3) % key.size(-3) != 0 || key.size(-3) != value.size(-3))
      fail("Number of heads in key and value must divide the number of heads in query, but got shapes ",
           shapeText(query.shape()), ", ", shapeText(key.shape()), " and ", shapeText(value.shape()));
    Dims batch = broadcastShapes(kName, broadcastShapes(kName, leadOf(query, 3), leadOf(key, 3)), leadOf(value, 3));
    lead = sharedLead = batch;
    lead.push_back(query.size(-3));
    sharedLead.push_back(key.size(-3));
  } else {
    lead = broadcastShapes(kName, broadcastShapes(kName, lead, leadOf(key, 2)), leadOf(value, 2));
    sharedLead = lead;
  }
  Dims out = lead;
  out.push_back(query.size(-2));
  out.push_back(value.size(-1));
  if (numelOf(out) == 0 || key.size(-2) == 0) {
    const Tensor of[] = {query, key, value};
    return constantIn(zeros(out, query.dtype()), of);
  }

  std::vector<Tensor> extras;
  if (mask.defined()) {
    Dims full = lead;
    full.push_back(query.size(-2));
    full.push_back(key.size(-2));
    Tensor m = expand(mask.dtype() == DType::Bool ? mask : toDType(mask, computeType(query.dtype())), full);
    extras.push_back(asHeads(m, lead));
  }
  if (dropout > 0)
    extras.push_back(randint_plain(Scalar(std::int64_t{0}), Scalar(std::int64_t{1} << 62), Dims{1}, DType::Int64));
  double factor = scale ? *scale : query.size(-1) == 0 ? 1.0 : 1 / std::sqrt(static_cast<double>(query.size(-1)));
  const bool rowsFirst = lead.size() == 2 && rowsBeforeHeads(query);
  auto [y, stats] = attention_plain(asHeads(query, lead), asHeads(key, sharedLead), asHeads(value, sharedLead),
                                    Scalar(factor), Scalar(dropout), extras, causal, mask.defined(),
                                    in == DType::Float16, in == DType::BFloat16, rowsFirst);
  return rowsFirst ? transpose(y, 1, 2) : reshape(y, out);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                    double dropout, bool causal, std::optional<double> scale, bool grouped) {
  checkOperands(query, key, value);
  if (causal && mask.defined()) fail(kName, ": Explicit attn_mask should not be set when is_causal=True");
  if (!(dropout >= 0 && dropout <= 1)) fail("dropout probability has to be between 0 and 1, but got ", dropout);
  const DType in = computeFlags().cudnn ? query.dtype() : DType::Float32;
  return attend(query, key, value, mask, dropout, causal, scale, grouped, in);
}

}  // namespace tandem::ops
