#include "runtime/program/sizes.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "runtime/base/error.h"

namespace tandem::program {

void setBits(std::int64_t& number, std::int64_t bits) { number = bits; }
void setBits(std::uint64_t& number, std::int64_t bits) {
  if (bits < 0) fail<ValueError>("a saved program contradicts itself: a number of bytes is negative");
  number = static_cast<std::uint64_t>(bits);
}
void setBits(std::uint32_t& number, std::int64_t bits) {
  if (bits < 0 || bits > std::numeric_limits<std::uint32_t>::max())
    fail<ValueError>("a saved program contradicts itself: a plan draws ", bits, " times");
  number = static_cast<std::uint32_t>(bits);
}
void setBits(Scalar& number, std::int64_t bits) {
  switch (number.kind) {
  case Scalar::Kind::Bool:
    number = bits != 0;
    return;
  case Scalar::Kind::Int:
    number = bits;
    return;
  case Scalar::Kind::Float:
    number = std::bit_cast<double>(bits);
    return;
  }
}

namespace {

/// n over k.
bool binomial(std::int64_t n, std::uint32_t k, std::int64_t& out) {
  out = 1;
  for (std::int64_t i = 0; i < k; ++i) {
    if (__builtin_mul_overflow(out, n - i, &out)) return false;
    out /= i + 1;
  }
  return true;
}

}  // namespace

std::optional<std::int64_t> tryValueOf(const SizeFunction& f, std::span<const std::int64_t> firsts,
                                       std::span<const std::int64_t> sizes) {
  constexpr std::size_t kMostSizes = 8;
  std::int64_t counts[kMostSizes];
  std::uint64_t at = 0;
  std::uint64_t terms = 1;
  for (std::size_t i = 0; i < f.along.size(); ++i) {
    const std::int64_t n = sizes[i] - firsts[i];
    const auto period = static_cast<std::int64_t>(f.along[i].period);
    if (n < 0) return std::nullopt;
    counts[i] = n / period;
    at = at * f.along[i].period + static_cast<std::uint64_t>(n % period);
    terms *= f.along[i].degree + 1;
  }
  const std::int64_t* coefficient = f.coefficients.data() + at * terms;
  std::int64_t sum = 0;
  for (std::uint64_t term = 0; term < terms; ++term) {
    std::int64_t product = coefficient[term];
    std::uint64_t rest = term;
    for (std::size_t i = f.along.size(); i-- > 0;) {
      const std::uint32_t powers = f.along[i].degree + 1;
      std::int64_t factor = 1;
      if (!binomial(counts[i], static_cast<std::uint32_t>(rest % powers), factor) ||
          __builtin_mul_overflow(product, factor, &product))
        return std::nullopt;
      rest /= powers;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

std::uint64_t combinations(const std::vector<SizeData>& sizes) {
  std::uint64_t n = 1;
  for (const SizeData& s : sizes) n *= static_cast<std::uint64_t>(s.most - s.least + 1);
  return n;
}

std::uint64_t combinationOf(const std::vector<SizeData>& sizes, std::span<const std::int64_t> values) {
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    at = at * static_cast<std::uint64_t>(sizes[i].most - sizes[i].least + 1) +
         static_cast<std::uint64_t>(values[i] - sizes[i].least);
  return at;
}

SizedEntry::Form SizedEntry::formOf(EntryData entry) {
  Form out;
  out.firsts = std::exchange(entry.firsts, {});
  out.functions = std::exchange(entry.functions, {});
  out.varying = std::exchange(entry.varying, {});
  entry.plan.explanation.clear();
  entry.tree.clear();
  out.entry = std::move(entry);
  return out;
}

SizedEntry::SizedEntry(EntryData entry) {
  main_.name = entry.name;
  main_.sizes = std::exchange(entry.sizes, {});
  main_.bound = std::exchange(entry.bound, {});
  main_.given = std::exchange(entry.given, {});
  for (const ArgumentData& a : entry.arguments)
    main_.arguments.push_back({a.name, a.dtype, a.shape, a.changes, a.onHost});
  std::uint64_t end = 0;
  for (const ChoiceData& c : std::exchange(entry.choice, {})) {
    ends_.push_back(end += c.count);
    chosen_.push_back(c.form);
  }
  std::vector<EntryData> others = std::exchange(entry.others, {});
  forms_.push_back(formOf(std::move(entry)));
  for (EntryData& other : others) forms_.push_back(formOf(std::move(other)));
}

void SizedEntry::sizesOf(std::span<const DimsRef> shapes, std::span<std::int64_t> sizes) const {
  std::ranges::fill(sizes, -1);
  std::vector<const SizedDim*> from(sizes.size());
  auto called = [&](const SizedDim& d) { return strcat(main_.arguments[d.tensor].name, "'s dim ", d.dim); };
  for (const SizedDim& d : main_.bound) {
    const SizeData& size = main_.sizes[d.size];
    const ArgumentData& a = main_.arguments[d.tensor];
    if (shapes[d.tensor].size() != a.shape.size())
      fail<ValueError>(main_.name, ": expected ", a.name, " to have ", a.shape.size(), " dims, got ",
                       shapes[d.tensor].size());
    const std::int64_t given = shapes[d.tensor][d.dim];
    // What a dim is in terms of its size, as `2 * batch + 1`.
    auto formula = [&] {
      std::string out = d.factor == 1 ? size.name : strcat(d.factor, " * ", size.name);
      if (d.add != 0) out += strcat(d.add > 0 ? " + " : " - ", d.add > 0 ? d.add : -d.add);
      return out;
    };
    std::int64_t& n = sizes[d.size];
    if (n < 0) {
      if ((given - d.add) % d.factor != 0)
        fail<ValueError>(main_.name, ": ", called(d), " is ", given, ", which is no value of ", formula());
      n = (given - d.add) / d.factor;
      from[d.size] = &d;
      if (n < size.least || n > size.most)
        fail<ValueError>(main_.name, ": ", called(d), " (", formula(), ") is ", given, ", and must be from ",
                         d.factor * (d.factor > 0 ? size.least : size.most) + d.add, " to ",
                         d.factor * (d.factor > 0 ? size.most : size.least) + d.add);
    } else if (d.factor * n + d.add != given) {
      fail<ValueError>(main_.name, ": ", called(d), " is ", given, ", and must be ", formula(), " = ",
                       d.factor * n + d.add, ", because ", called(*from[d.size]), " is ",
                       shapes[from[d.size]->tensor][from[d.size]->dim]);
    }
  }
}

void SizedEntry::checkRange(std::span<const std::int64_t> sizes) const {
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < main_.sizes[i].least || sizes[i] > main_.sizes[i].most)
      fail<ValueError>(main_.name, ": ", main_.sizes[i].name, " is ", sizes[i], ", and must be from ",
                       main_.sizes[i].least, " to ", main_.sizes[i].most);
}

const SizedEntry::Form& SizedEntry::formAt(std::span<const std::int64_t> sizes) const {
  const auto run = std::ranges::upper_bound(ends_, combinationOf(main_.sizes, sizes)) - ends_.begin();
  return forms_[chosen_[static_cast<std::size_t>(run)]];
}

EntryData SizedEntry::at(std::span<const std::int64_t> sizes) const {
  const Form& form = formAt(sizes);
  std::vector<std::int64_t> values;
  values.reserve(form.functions.size());
  for (const SizeFunction& f : form.functions) {
    const std::optional<std::int64_t> value = tryValueOf(f, form.firsts, sizes);
    if (!value) fail<ValueError>("a saved program contradicts itself: a number is too large, or of another form");
    values.push_back(*value);
  }
  EntryData out = form.entry;
  std::uint32_t position = 0;
  auto next = form.varying.begin();
  forEachNumber(out, [&](auto& number) {
    if (next != form.varying.end() && next->position == position) setBits(number, values[(next++)->function]);
    ++position;
  });
  auto agrees = [&](const std::vector<SizedDim>& dims, const auto& tensors) {
    for (const SizedDim& d : dims)
      if (tensors[d.tensor].shape[d.dim] != d.factor * sizes[d.size] + d.add)
        fail<ValueError>("a saved program contradicts itself: ", tensors[d.tensor].name, "'s dim ", d.dim,
                         " is not what its size says");
  };
  agrees(main_.bound, out.arguments);
  agrees(main_.given, out.results);
  return out;
}

}  // namespace tandem::program
