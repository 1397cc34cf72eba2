// einsum and tensordot: sums of products over named dims.
//
// A `Term` is a tensor whose dims have labels, numbers below 64. `contract` joins two terms: labels that nothing else
// needs and one of them has are summed first; then those both have are either kept (a batch dim) or summed over, and
// the rest belongs to the left or to the right. That is one batched matrix product, whose operands are views wherever
// strides allow: the dims of a group are merged in the order in which they lie in memory, or, of the last product, in
// which they are wanted. Which pair is joined next
// follows from the sizes alone, so every mode makes the same products.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "eager/compute_flags.h"
#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/helpers.h"
#include "eager/ops.h"

namespace tandem::ops {
namespace {

constexpr int kMostLabels = 64;
constexpr int kLetters = 52;
using Labels = SmallVector<std::int64_t, 6>;
using Mask = std::uint64_t;
using Sizes = std::array<std::int64_t, kMostLabels>;

struct Term {
  Tensor t;
  Labels labels;  // of the dims of t, in order; all different

  [[nodiscard]] Mask mask() const {
    Mask m = 0;
    for (auto l : labels) m |= Mask{1} << l;
    return m;
  }
  [[nodiscard]] std::int64_t dimOf(std::int64_t label) const {
    return std::find(labels.begin(), labels.end(), label) - labels.begin();
  }
};

bool has(Mask m, std::int64_t label) { return (m >> label & 1) != 0; }

/// The labels of `x` that are in `m`, those that lie farther apart in memory first.
Labels ordered(const Term& x, Mask m) {
  Labels found;
  for (auto l : x.labels)
    if (has(m, l)) found.push_back(l);
  std::stable_sort(found.begin(), found.end(), [&](std::int64_t a, std::int64_t b) {
    return x.t.strides()[x.dimOf(a)] > x.t.strides()[x.dimOf(b)];
  });
  return found;
}

/// `x` with its dims in the order of `labels`.
Tensor arranged(const Term& x, const Labels& labels) {
  if (labels == x.labels) return x.t;
  Dims order;
  for (auto l : labels) order.push_back(x.dimOf(l));
  return permute(x.t, order);
}

/// Without the labels in `m`: dropped where their size is 1, summed over elsewhere.
Term without(const Term& x, Mask m) {
  Dims dims;
  bool sums = false;
  Term y;
  for (std::size_t d = 0; d < x.labels.size(); ++d) {
    if (has(m, x.labels[d])) {
      dims.push_back(static_cast<std::int64_t>(d));
      sums |= x.t.shape()[d] != 1;
    } else {
      y.labels.push_back(x.labels[d]);
    }
  }
  y.t = dims.empty() ? x.t : sums ? toDType(sum(x.t, dims), x.t.dtype()) : squeeze_dims(x.t, dims);
  return y;
}

std::int64_t product(const Labels& labels, const Sizes& sizes) {
  std::int64_t n = 1;
  for (auto l : labels) n *= sizes[l];
  return n;
}
void appendSizes(Dims& shape, const Labels& labels, const Sizes& sizes) {
  for (auto l : labels) shape.push_back(sizes[l]);
}

/// The elementwise product: dims of one operand alone are spread over the other.
Term multiplied(const Term& a, const Term& b, const Labels& labels) {
  auto aligned = [&](const Term& x) {
    Labels own;
    Dims missing;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (x.dimOf(labels[i]) < static_cast<std::int64_t>(x.labels.size()))
        own.push_back(labels[i]);
      else
        missing.push_back(static_cast<std::int64_t>(i));
    }
    Tensor t = arranged(x, own);
    for (auto d : missing) t = unsqueeze(t, d);
    return t;
  };
  return {mul(aligned(a), aligned(b)), labels};
}

Labels joined(std::initializer_list<const Labels*> groups) {
  Labels all;
  for (const Labels* g : groups) all.append(g->begin(), g->end());
  return all;
}

/// The sum of products of a and b over every label that is not in `kept`. If `output` is given, in which order its
/// labels are wanted: those of a group are merged so, and their product lies so as far as its groups do.
Term contract(Term a, Term b, Mask kept, const Labels* output) {
  // A size of 1 meets another size by broadcasting: that operand has the same value for all.
  Mask common = a.mask() & b.mask();
  Mask dropA = a.mask() & ~common & ~kept;
  Mask dropB = b.mask() & ~common & ~kept;
  for (auto l : a.labels) {
    if (!has(common, l)) continue;
    std::int64_t sa = a.t.shape()[a.dimOf(l)];
    std::int64_t sb = b.t.shape()[b.dimOf(l)];
    if (sa == sb) continue;
    (sa == 1 ? dropA : dropB) |= Mask{1} << l;
    // Summed over, what the other has is summed at once.
    if (!has(kept, l)) (sa == 1 ? dropB : dropA) |= Mask{1} << l;
  }
  a = without(a, dropA);
  b = without(b, dropB);
  common = a.mask() & b.mask();
  const Mask ownA = a.mask() & ~common, ownB = b.mask() & ~common;
  if ((ownA == 0) != (ownB == 0)) {
    // A matrix and a vector, whose product lies the same either way: the matrix is on the left where it is dense along
    // what is summed.
    const bool dense = has(common, ordered(ownA != 0 ? a : b, ~(common & kept)).back());
    if (dense != (ownA != 0)) std::swap(a, b);
  } else if (output != nullptr && !output->empty() && has(ownA, output->back())) {
    std::swap(a, b);
  }

  Sizes sizes{};
  for (const Term* x : {&a, &b})
    for (std::size_t d = 0; d < x->labels.size(); ++d) sizes[x->labels[d]] = x->t.shape()[d];
  const Term& larger = a.t.numel() >= b.t.numel() ? a : b;
  const auto wanted = [&](const Term& x, Mask m) {
    if (output == nullptr) return ordered(x, m);
    Labels found;
    for (auto l : *output)
      if (has(m, l)) found.push_back(l);
    return found;
  };
  Labels batch = wanted(larger, common & kept);
  Labels summed = ordered(larger, common & ~kept);
  Labels left = wanted(a, a.mask() & ~common);
  Labels right = wanted(b, b.mask() & ~common);
  Labels outer = joined({&batch, &left, &right});
  if (summed.empty()) return multiplied(a, b, output != nullptr ? wanted(a, a.mask() | b.mask()) : outer);
  if (left.empty() && right.empty() && isFloating(a.t.dtype()) && !isHalf(a.t.dtype()) && a.t.dtype() == b.t.dtype()) {
    FusedScope fused(a.t);
    Term p = multiplied(a, b, joined({&batch, &summed}));
    Dims dims;
    for (std::size_t i = 0; i < summed.size(); ++i) dims.push_back(static_cast<std::int64_t>(batch.size() + i));
    return {sum(p.t, dims), batch};
  }

  auto matrices = [&](const Term& x, const Labels& rows, const Labels& columns) {
    Tensor t = arranged(x, joined({&batch, &rows, &columns}));
    if (rows.size() == 1 && columns.size() == 1) return t;
    Dims shape;
    appendSizes(shape, batch, sizes);
    shape.push_back(product(rows, sizes));
    shape.push_back(product(columns, sizes));
    return reshape(t, shape);
  };
  Tensor z = matrixProduct(matrices(a, left, summed), matrices(b, summed, right));
  if (left.size() == 1 && right.size() == 1) return {z, outer};
  Dims shape;
  appendSizes(shape, outer, sizes);
  return {view(z, shape), outer};
}

/// Which two of the terms left to join next, again and again: pairs of places in the list, from which both are taken
/// and to whose end their product goes.
using Path = std::vector<std::pair<std::size_t, std::size_t>>;

struct Costs {
  std::array<double, kMostLabels> sizes;

  [[nodiscard]] double of(Mask m) const {
    double n = 1;
    for (; m != 0; m &= m - 1) n *= sizes[std::countr_zero(m)];
    return n;
  }
};

/// The path of fewest multiplications, by the best way to make each subset of the terms.
Path bestPath(const std::vector<Mask>& terms, Mask output, const Costs& costs) {
  std::size_t n = terms.size();
  std::size_t all = (std::size_t{1} << n) - 1;
  std::vector<Mask> seen(all + 1, 0);
  std::vector<Mask> result(all + 1, 0);
  std::vector<double> cost(all + 1, 0);
  std::vector<std::size_t> left(all + 1, 0);
  for (std::size_t s = 1; s <= all; ++s)
    for (std::size_t i = 0; i < n; ++i)
      if ((s >> i & 1) != 0) seen[s] |= terms[i];
  for (std::size_t s = 1; s <= all; ++s) {
    result[s] = std::has_single_bit(s) ? seen[s] : seen[s] & (output | seen[all & ~s]);
    if (std::has_single_bit(s)) continue;
    cost[s] = std::numeric_limits<double>::infinity();
    for (std::size_t part = (s - 1) & s; part > (s & ~part); part = (part - 1) & s) {
      std::size_t rest = s & ~part;
      double c = cost[part] + cost[rest] + costs.of(result[part] | result[rest]);
      if (c < cost[s]) cost[s] = c, left[s] = part;
    }
  }
  Path path;
  std::vector<std::size_t> list;  // the subsets that the list of terms holds
  for (std::size_t i = 0; i < n; ++i) list.push_back(std::size_t{1} << i);
  auto join = [&](auto&& self, std::size_t s) -> void {
    if (std::has_single_bit(s)) return;
    self(self, left[s]);
    self(self, s & ~left[s]);
    auto place = [&](std::size_t x) { return static_cast<std::size_t>(std::ranges::find(list, x) - list.begin()); };
    std::size_t i = place(left[s]);
    std::size_t j = place(s & ~left[s]);
    path.emplace_back(std::min(i, j), std::max(i, j));
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
    list.push_back(s);
  };
  join(join, all);
  return path;
}

/// For many terms: next is the pair whose product is smallest against what it replaces.
Path greedyPath(std::vector<Mask> terms, Mask output, const Costs& costs) {
  Path path;
  while (terms.size() > 1) {
    double best = std::numeric_limits<double>::infinity();
    std::pair<std::size_t, std::size_t> chosen{0, 1};
    Mask made = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      for (std::size_t j = i + 1; j < terms.size(); ++j) {
        Mask needed = output;
        for (std::size_t k = 0; k < terms.size(); ++k)
          if (k != i && k != j) needed |= terms[k];
        Mask result = (terms[i] | terms[j]) & needed;
        double gain = costs.of(result) - costs.of(terms[i]) - costs.of(terms[j]);
        if (gain < best) best = gain, chosen = {i, j}, made = result;
      }
    }
    path.push_back(chosen);
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(chosen.second));
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(chosen.first));
    terms.push_back(made);
  }
  return path;
}

Term contractAll(std::vector<Term> terms, const Labels& output) {
  constexpr std::size_t kMostForBest = 8;
  Mask wanted = Term{{}, output}.mask();
  if (terms.size() == 1) return without(terms[0], terms[0].mask() & ~wanted);
  Path path{{0, 1}};
  if (terms.size() > 2) {
    Costs costs{};
    costs.sizes.fill(1);
    std::vector<Mask> masks;
    for (const Term& x : terms) {
      masks.push_back(x.mask());
      for (std::size_t d = 0; d < x.labels.size(); ++d)
        costs.sizes[x.labels[d]] = std::max(costs.sizes[x.labels[d]], static_cast<double>(x.t.shape()[d]));
    }
    path = terms.size() <= kMostForBest ? bestPath(masks, wanted, costs) : greedyPath(masks, wanted, costs);
  }
  for (auto [i, j] : path) {
    Mask kept = wanted;
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (k != i && k != j) kept |= terms[k].mask();
    Term made = contract(terms[i], terms[j], kept, terms.size() == 2 ? &output : nullptr);
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(j));
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i));
    terms.push_back(std::move(made));
  }
  return terms[0];
}

// ---- equations ------------------------------------------------------------------------------------------------------

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/// Capitals first, as results without `->` are sorted.
std::int64_t labelOf(char c) { return c <= 'Z' ? c - 'A' : c - 'a' + 26; }
std::string nameOf(std::int64_t label) {
  if (label >= kLetters) return "...";
  return {static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26)};
}

/// One side of a comma: letters, and where the ellipsis stands.
struct Subscripts {
  static constexpr std::int64_t kEllipsis = -1;
  Labels labels;
  bool ellipsis = false;
};

Subscripts readSubscripts(std::string_view equation, std::size_t begin, std::size_t end, const std::string& where) {
  Subscripts s;
  for (std::size_t i = begin; i < end; ++i) {
    char c = equation[i];
    if (c == ' ') continue;
    if (c == '.') {
      if (s.ellipsis) fail("einsum(): found '.' for ", where, " for which an ellipsis was already found");
      if (i + 2 >= end || equation[i + 1] != '.' || equation[i + 2] != '.')
        fail("einsum(): found '.' for ", where, " that is not part of any ellipsis");
      i += 2;
      s.ellipsis = true;
      s.labels.push_back(Subscripts::kEllipsis);
    } else if (isLetter(c)) {
      s.labels.push_back(labelOf(c));
    } else {
      fail("einsum(): invalid subscript given at index ", i, " in the equation string, subscripts must be in [a-zA-Z]");
    }
  }
  return s;
}

/// The term of one operand: the ellipsis stands for the dims that no letter names, the last of which has the highest
/// label; a letter that occurs twice is a diagonal.
Term termOf(Tensor t, const Subscripts& s, std::size_t place) {
  std::int64_t named = static_cast<std::int64_t>(s.labels.size()) - (s.ellipsis ? 1 : 0);
  if (s.ellipsis ? t.dim() < named : t.dim() != named)
    fail("einsum(): the number of subscripts in the equation (", named, ") ",
         s.ellipsis ? "is more than the number of dimensions (" : "does not match the number of dimensions (", t.dim(),
         ") for operand ", place, s.ellipsis ? "" : " and no ellipsis was given");
  Labels all;
  for (auto l : s.labels) {
    if (l != Subscripts::kEllipsis) {
      all.push_back(l);
      continue;
    }
    std::int64_t covered = t.dim() - named;
    if (covered > kMostLabels - kLetters) fail("einsum(): too many dimensions are covered by an ellipsis: ", covered);
    for (std::int64_t i = 0; i < covered; ++i) all.push_back(kMostLabels - covered + i);
  }
  Term x{std::move(t), {}};
  for (std::size_t d = 0; d < all.size(); ++d) {
    std::int64_t first = x.dimOf(all[d]);
    auto here = static_cast<std::int64_t>(x.labels.size());
    if (first == here) {
      x.labels.push_back(all[d]);
      continue;
    }
    if (x.t.shape()[first] != x.t.shape()[here])
      fail("einsum(): subscript ", nameOf(all[d]), " is repeated for operand ", place, " but the sizes don't match, ",
           x.t.shape()[here], " != ", x.t.shape()[first]);
    x.t = movedim(diagonal(x.t, 0, first, here), Dims{-1}, Dims{first});
  }
  return x;
}

Labels implicitOutput(const std::vector<Subscripts>& inputs, std::int64_t ellipsisDims) {
  std::array<int, kLetters> count{};
  for (const auto& s : inputs)
    for (auto l : s.labels)
      if (l != Subscripts::kEllipsis) ++count[l];
  Labels output;
  for (std::int64_t i = kMostLabels - ellipsisDims; i < kMostLabels; ++i) output.push_back(i);
  for (int l = 0; l < kLetters; ++l)
    if (count[l] == 1) output.push_back(l);
  return output;
}

Labels explicitOutput(std::string_view equation, std::size_t begin, Mask known, std::int64_t ellipsisDims) {
  Labels output;
  for (auto l : readSubscripts(equation, begin, equation.size(), "the output").labels) {
    if (l == Subscripts::kEllipsis) {
      for (std::int64_t i = kMostLabels - ellipsisDims; i < kMostLabels; ++i) output.push_back(i);
      continue;
    }
    if (std::find(output.begin(), output.end(), l) != output.end())
      fail("einsum(): output subscript ", nameOf(l), " appears more than once in the output");
    if (!has(known, l))
      fail("einsum(): output subscript ", nameOf(l), " does not appear in the equation for any input operand");
    output.push_back(l);
  }
  return output;
}

void checkSizes(const std::vector<Term>& terms) {
  Sizes seen;
  seen.fill(1);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t d = 0; d < terms[i].labels.size(); ++d) {
      std::int64_t l = terms[i].labels[d];
      std::int64_t size = terms[i].t.shape()[d];
      if (seen[l] != 1 && size != 1 && size != seen[l])
        fail("einsum(): subscript ", nameOf(l), " has size ", size, " for operand ", i,
             " which does not broadcast with previously seen size ", seen[l]);
      if (size != 1) seen[l] = size;
    }
  }
}

}  // namespace

namespace {
/// Integers are summed in int64, as `sum` does, where an operand is summed by itself: products of operands keep their
/// dtype. Operands of several dtypes stay what they are.
void widenWhereSummedAlone(std::vector<Term>& terms, const Labels& output) {
  const DType type = terms[0].t.dtype();
  if (isFloating(type) || type == DType::Int64) return;
  bool alone = false;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].t.dtype() != type) return;
    Mask elsewhere = 0;
    for (auto l : output) elsewhere |= Mask{1} << l;
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (k != i) elsewhere |= terms[k].mask();
    for (std::size_t d = 0; d < terms[i].labels.size(); ++d)
      alone |= !has(elsewhere, terms[i].labels[d]) && (terms.size() == 1 || terms[i].t.shape()[d] != 1);
  }
  if (!alone) return;
  for (Term& term : terms) term.t = toDType(term.t, DType::Int64);
}
}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> operands) {
  if (operands.empty()) fail("einsum(): must provide at least one operand");
  std::size_t arrow = equation.find("->");
  std::size_t end = arrow == std::string_view::npos ? equation.size() : arrow;
  std::vector<Subscripts> inputs;
  for (std::size_t begin = 0; begin <= end;) {
    std::size_t comma = std::min(equation.find(',', begin), end);
    inputs.push_back(readSubscripts(equation, begin, comma, strcat("operand ", inputs.size())));
    begin = comma + 1;
  }
  if (inputs.size() > operands.size()) fail("einsum(): fewer operands were provided than specified in the equation");
  if (inputs.size() < operands.size()) fail("einsum(): more operands were provided than specified in the equation");

  std::vector<Term> terms;
  Mask known = 0;
  std::int64_t ellipsisDims = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    terms.push_back(termOf(operands[i], inputs[i], i));
    known |= terms.back().mask();
    if (inputs[i].ellipsis)
      ellipsisDims = std::max(ellipsisDims, operands[i].dim() + 1 - static_cast<std::int64_t>(inputs[i].labels.size()));
  }
  checkSizes(terms);
  Labels output = arrow == std::string_view::npos ? implicitOutput(inputs, ellipsisDims)
                                                  : explicitOutput(equation, arrow + 2, known, ellipsisDims);
  widenWhereSummedAlone(terms, output);
  Tensor result = arranged(contractAll(std::move(terms), output), output);
  return result == operands[0] ? alias(result) : result;
}

Tensor tensordot(const Tensor& a, const Tensor& b, DimsRef dimsA, DimsRef dimsB) {
  if (dimsA.size() != dimsB.size()) fail("both dimension lists should have same length");
  if (a.dtype() != b.dtype())
    fail("tensordot: expected both operands to have the same dtype, but got ", dtypeName(a.dtype()), " and ",
         dtypeName(b.dtype()));
  if (a.dim() + b.dim() > kMostLabels) fail("tensordot: too many dimensions: ", a.dim(), " and ", b.dim());
  Term x{a, {}};
  Term y{b, {}};
  for (std::int64_t d = 0; d < a.dim(); ++d) x.labels.push_back(d);
  for (std::int64_t d = 0; d < b.dim(); ++d) y.labels.push_back(a.dim() + d);
  Mask summed = 0;
  for (std::size_t i = 0; i < dimsA.size(); ++i) {
    std::int64_t da = wrapDim(dimsA[i], a.dim());
    std::int64_t db = wrapDim(dimsB[i], b.dim());
    if (has(summed, da) || y.labels[db] < a.dim())
      fail("tensordot: a dim appears multiple times in ", shapeText(dimsA), " or ", shapeText(dimsB));
    std::int64_t sa = a.size(da);
    std::int64_t sb = b.size(db);
    if (sa != sb && sa != 1 && sb != 1)
      fail("contracted dimensions need to match, but first has size ", sa, " in dim ", dimsA[i],
           " and second has size ", sb, " in dim ", dimsB[i]);
    y.labels[db] = da;
    summed |= Mask{1} << da;
  }
  Labels output;
  for (auto l : x.labels)
    if (!has(summed, l)) output.push_back(l);
  for (auto l : y.labels)
    if (!has(summed, l)) output.push_back(l);
  return arranged(contractAll({x, y}, output), output);
}

}  // namespace tandem::ops
