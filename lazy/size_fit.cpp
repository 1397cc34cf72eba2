#include "lazy/size_fit.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/program/sizes.h"

namespace tandem::lazy {

using program::EntryData;
using program::SizeFunction;

namespace {

/// All of an entry but its numbers, as bytes.
std::string structureOf(EntryData e) {
  program::forEachNumber(e, [](auto& number) { program::setBits(number, 0); });
  e.plan.explanation.clear();
  for (program::ArgumentData& a : e.arguments) a.changes = a.onHost = false;
  program::ProgramData alone;
  alone.entries.push_back(std::move(e));
  return program::encodeManifest(alone);
}

std::vector<std::int64_t> numbersOf(const EntryData& e) {
  std::vector<std::int64_t> out;
  program::forEachNumber(e, [&](const auto& number) { out.push_back(program::bitsOf(number)); });
  return out;
}

/// The members of a form, by their sizes, and functions that give a column of values at them.
class Fit {
 public:
  Fit(std::vector<std::vector<std::int64_t>> members, std::size_t numSizes)
      : members_(std::move(members)), firsts_(members_[0]), lasts_(members_[0]) {
    for (const auto& m : members_)
      for (std::size_t i = 0; i < numSizes; ++i) {
        firsts_[i] = std::min(firsts_[i], m[i]);
        lasts_[i] = std::max(lasts_[i], m[i]);
      }
    for (std::size_t i = 0; i < numSizes; ++i) {
      const auto whole = static_cast<std::uint32_t>(lasts_[i] - firsts_[i] + 1);
      // Sizes in bytes that are rounded up to 64 have a period: of 16 elements of four bytes, of 64 of one.
      std::vector<SizeFunction::Along> ways{{1, 0}};
      for (const std::uint32_t period : {1, 2, 4, 8, 16, 32, 64})
        for (const std::uint32_t degree : {1, 2})
          if (period * degree < whole) ways.push_back({period, degree});
      for (const std::uint32_t period : {2, 4, 8, 16})
        if (period < whole) ways.push_back({period, 0});
      if (whole > 1) ways.push_back({whole, 0});
      ways_.push_back(std::move(ways));
    }
    std::vector<SizeFunction::Along> chosen;
    combine(chosen);
    std::ranges::stable_sort(candidates_, {}, [](const auto& c) { return coefficients(c); });
  }

  [[nodiscard]] const std::vector<std::int64_t>& firsts() const { return firsts_; }

  [[nodiscard]] SizeFunction function(const std::vector<std::int64_t>& values) const {
    for (const auto& along : candidates_)
      if (std::optional<SizeFunction> f = solve(along, values)) return std::move(*f);
    TANDEM_CHECK(false, "a table gives all values");
  }

 private:
  static std::uint64_t coefficients(const std::vector<SizeFunction::Along>& along) {
    std::uint64_t n = 1;
    for (const auto& a : along) n *= std::uint64_t{a.period} * (a.degree + 1);
    return n;
  }

  /// All combinations of ways that are no larger than a table.
  // NOLINTNEXTLINE(misc-no-recursion): one level a size
  void combine(std::vector<SizeFunction::Along>& chosen) {
    if (chosen.size() < ways_.size()) {
      for (const auto& way : ways_[chosen.size()]) {
        chosen.push_back(way);
        combine(chosen);
        chosen.pop_back();
      }
      return;
    }
    std::uint64_t table = 1;
    for (std::size_t i = 0; i < firsts_.size(); ++i) table *= static_cast<std::uint64_t>(lasts_[i] - firsts_[i] + 1);
    if (coefficients(chosen) <= table) candidates_.push_back(chosen);
  }

  /// The function of that kind which has these values; nothing where there is none. Coefficients are solved for in
  /// floating point and rounded, and what comes of them is compared with every value.
  [[nodiscard]] std::optional<SizeFunction> solve(const std::vector<SizeFunction::Along>& along,
                                                  const std::vector<std::int64_t>& values) const {
    std::uint64_t terms = 1, residues = 1;
    for (const auto& a : along) {
      terms *= a.degree + 1;
      residues *= a.period;
    }
    SizeFunction f{along, std::vector<std::int64_t>(terms * residues)};
    std::vector<std::vector<std::uint32_t>> groups(residues);
    for (std::uint32_t k = 0; k < members_.size(); ++k) groups[residueOf(along, members_[k])].push_back(k);
    for (std::uint64_t r = 0; r < residues; ++r) {
      if (groups[r].empty()) continue;
      if (terms == 1)
        f.coefficients[r] = values[groups[r][0]];
      else if (!solveGroup(along, values, groups[r], {f.coefficients.data() + r * terms, terms}))
        return std::nullopt;
      for (const std::uint32_t k : groups[r])
        if (program::tryValueOf(f, firsts_, members_[k]) != values[k]) return std::nullopt;
    }
    return f;
  }

  [[nodiscard]] std::uint64_t residueOf(const std::vector<SizeFunction::Along>& along,
                                        const std::vector<std::int64_t>& sizes) const {
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < along.size(); ++i)
      at = at * along[i].period + static_cast<std::uint64_t>(sizes[i] - firsts_[i]) % along[i].period;
    return at;
  }

  using Row = std::vector<long double>;  // the terms of a member, and its value

  [[nodiscard]] Row rowOf(const std::vector<SizeFunction::Along>& along, std::uint32_t member,
                          std::int64_t value) const {
    Row row{1};
    for (std::size_t i = 0; i < along.size(); ++i) {
      const auto k = static_cast<long double>((members_[member][i] - firsts_[i]) / along[i].period);
      const long double powers[] = {1, k, k * (k - 1) / 2};
      Row longer;
      for (const long double term : row)
        for (std::uint32_t d = 0; d <= along[i].degree; ++d) longer.push_back(term * powers[d]);
      row = std::move(longer);
    }
    row.push_back(static_cast<long double>(value));
    return row;
  }

  /// By elimination over as many members as it takes.
  bool solveGroup(const std::vector<SizeFunction::Along>& along, const std::vector<std::int64_t>& values,
                  const std::vector<std::uint32_t>& group, std::span<std::int64_t> out) const {
    const std::size_t terms = out.size();
    std::vector<Row> reduced(terms);  // by the first term that is not zero
    std::size_t rank = 0;
    for (std::size_t g = 0; g < group.size() && rank < terms; ++g) {
      Row row = rowOf(along, group[g], values[group[g]]);
      for (std::size_t t = 0; t < terms; ++t) {
        if (std::fabs(row[t]) < 1e-9L) continue;
        if (reduced[t].empty()) {
          const long double by = row[t];
          for (long double& x : row) x /= by;
          reduced[t] = std::move(row);
          ++rank;
          break;
        }
        const long double by = row[t];
        for (std::size_t u = t; u <= terms; ++u) row[u] -= by * reduced[t][u];
      }
    }
    Row solution(terms);
    for (std::size_t t = terms; t-- > 0;) {
      if (reduced[t].empty()) continue;
      solution[t] = reduced[t][terms];
      for (std::size_t u = t + 1; u < terms; ++u) solution[t] -= reduced[t][u] * solution[u];
      solution[t] = std::round(solution[t]);
      if (std::fabs(solution[t]) > 1e18L) return false;
      out[t] = static_cast<std::int64_t>(solution[t]);
    }
    return true;
  }

  std::vector<std::vector<std::int64_t>> members_;
  std::vector<std::int64_t> firsts_, lasts_;
  std::vector<std::vector<SizeFunction::Along>> ways_;  // for each size how a function may follow from it
  std::vector<std::vector<SizeFunction::Along>> candidates_;
};

}  // namespace

std::vector<std::int64_t> SizeFit::combination(std::uint64_t number) const {
  std::vector<std::int64_t> out(sizes_.size());
  for (std::size_t i = sizes_.size(); i-- > 0;) {
    const auto range = static_cast<std::uint64_t>(sizes_[i].most - sizes_[i].least + 1);
    out[i] = sizes_[i].least + static_cast<std::int64_t>(number % range);
    number /= range;
  }
  return out;
}

std::vector<std::int64_t> SizeFit::next() const { return combination(formOf_.size()); }

std::string SizeFit::named(std::uint64_t number) const {
  std::string out;
  const std::vector<std::int64_t> values = combination(number);
  for (std::size_t i = 0; i < values.size(); ++i)
    out += strcat(out.empty() ? "" : ", ", sizes_[i].name, " = ", values[i]);
  return out;
}

void SizeFit::checkAlike(const EntryData& e) const {
  const EntryData& first = forms_[0].entry;
  auto refuse = [&](const std::string& what) {
    fail("export: ", e.name, ": for ", named(formOf_.size()), " ", what, " for ", named(0));
  };
  for (std::size_t k = 0; k < e.results.size(); ++k) {
    const program::ResultData &now = e.results[k], &then = first.results[k];
    if (now.dtype != then.dtype || now.shape.size() != then.shape.size())
      refuse(strcat(now.name, " is ", dtypeName(now.dtype), " ", shapeText(now.shape), ", and it is ",
                    dtypeName(then.dtype), " ", shapeText(then.shape)));
  }
  bool same = e.numbers.size() == first.numbers.size();
  for (std::size_t k = 0; same && k < e.numbers.size(); ++k) {
    const program::NumberData &now = e.numbers[k], &then = first.numbers[k];
    same = now.name == then.name && now.freedom == then.freedom && now.value.kind == then.value.kind &&
           now.value.bits() == then.value.bits();
  }
  if (!same) refuse("it reads other numbers than");
}

void SizeFit::add(EntryData e) {
  const std::uint64_t number = formOf_.size();
  if (number == 0) changes_.resize(e.arguments.size());
  for (std::size_t k = 0; k < e.arguments.size(); ++k)
    if (e.arguments[k].changes) changes_[k] = true;
  if (std::ranges::equal(combination(number), sizes_, {}, {}, &program::SizeData::example))
    explanation_ = e.plan.explanation;
  e.plan.explanation.clear();
  if (number != 0) checkAlike(e);
  std::vector<Dims>& shapes = results_.emplace_back();
  for (const program::ResultData& r : e.results) shapes.push_back(r.shape);
  const auto [it, isNew] = known_.emplace(structureOf(e), static_cast<std::uint32_t>(forms_.size()));
  formOf_.push_back(it->second);
  std::vector<std::int64_t> numbers = numbersOf(e);
  if (isNew) {
    if (forms_.size() == kMostForms)
      fail<NotImplementedError>("export: ", e.name, ": its plans have more than ", kMostForms,
                                " structures from its least sizes to ", named(number),
                                ", too many to save: narrow the sizes' ranges, or save entries of their own");
    Form& form = forms_.emplace_back();
    form.entry = std::move(e);
    form.classes.resize(numbers.size());
    // In one class until a member tells them apart: numbers that are alike here.
    std::unordered_map<std::int64_t, std::uint32_t> byValue;
    for (std::size_t p = 0; p < numbers.size(); ++p) {
      const auto [found, first] = byValue.emplace(numbers[p], static_cast<std::uint32_t>(form.columns.size()));
      if (first) form.columns.push_back({numbers[p]});
      form.classes[p] = found->second;
    }
    form.members.push_back(number);
    return;
  }
  Form& form = forms_[it->second];
  const std::size_t before = form.columns.size();
  // Of each class the value of the first number met, and for others the classes that split off.
  std::vector<bool> met(before);
  std::vector<std::unordered_map<std::int64_t, std::uint32_t>> split(before);
  for (std::size_t p = 0; p < numbers.size(); ++p) {
    const std::uint32_t own = form.classes[p];
    if (!met[own]) {
      met[own] = true;
      form.columns[own].push_back(numbers[p]);
    }
    if (form.columns[own].back() == numbers[p]) continue;
    const auto [found, first] = split[own].emplace(numbers[p], static_cast<std::uint32_t>(form.columns.size()));
    if (first) {
      std::vector<std::int64_t> column = form.columns[own];
      column.back() = numbers[p];
      form.columns.push_back(std::move(column));
    }
    form.classes[p] = found->second;
  }
  form.members.push_back(number);
}

void SizeFit::fit(Form& form) const {
  std::vector<std::vector<std::int64_t>> members;
  members.reserve(form.members.size());
  for (const std::uint64_t m : form.members) members.push_back(combination(m));
  const Fit fit(std::move(members), sizes_.size());
  EntryData& e = form.entry;
  e.firsts = fit.firsts();
  std::vector<std::int64_t> functionOf(form.columns.size(), -1);
  for (std::size_t c = 0; c < form.columns.size(); ++c) {
    const std::vector<std::int64_t>& column = form.columns[c];
    if (std::ranges::all_of(column, [&](std::int64_t v) { return v == column[0]; })) continue;
    functionOf[c] = static_cast<std::int64_t>(e.functions.size());
    e.functions.push_back(fit.function(column));
  }
  for (std::size_t p = 0; p < form.classes.size(); ++p)
    if (const std::int64_t f = functionOf[form.classes[p]]; f >= 0)
      e.varying.push_back({static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(f)});
}

/// The dims of results that are factor * size + add for all combinations; those that never change have the factor 0.
std::vector<program::SizedDim> SizeFit::given() const {
  std::vector<program::SizedDim> out;
  auto add = [&](std::uint32_t r, std::uint32_t d, std::uint32_t size, std::int64_t factor) {
    const std::int64_t rest = results_[0][r][d] - factor * sizes_[size].least;
    for (std::uint64_t c = 0; c < results_.size(); ++c)
      if (results_[c][r][d] != factor * combination(c)[size] + rest) return false;
    out.push_back({r, d, size, factor, rest});
    return true;
  };
  for (std::uint32_t r = 0; r < results_[0].size(); ++r)
    for (std::uint32_t d = 0; d < results_[0][r].size(); ++d) {
      bool found = add(r, d, 0, 0);
      std::uint64_t step = 1;  // combinations from one value of a size to the next
      for (std::size_t i = sizes_.size(); i-- > 0 && !found;) {
        if (sizes_[i].most > sizes_[i].least)
          found = add(r, d, static_cast<std::uint32_t>(i), results_[step][r][d] - results_[0][r][d]);
        step *= static_cast<std::uint64_t>(sizes_[i].most - sizes_[i].least + 1);
      }
    }
  return out;
}

EntryData SizeFit::finish() && {
  TANDEM_CHECK(formOf_.size() == program::combinations(sizes_), formOf_.size());
  for (Form& form : forms_) {
    fit(form);
    for (std::size_t k = 0; k < changes_.size(); ++k) form.entry.arguments[k].changes = changes_[k];
  }
  // The example's form is the entry itself, with the example's numbers.
  std::vector<std::int64_t> example;
  for (const program::SizeData& s : sizes_) example.push_back(s.example);
  const std::uint64_t at = program::combinationOf(sizes_, example);
  const std::uint32_t own = formOf_[at];
  Form& form = forms_[own];
  EntryData out = std::move(form.entry);
  const auto member = static_cast<std::size_t>(std::ranges::lower_bound(form.members, at) - form.members.begin());
  std::size_t position = 0;
  program::forEachNumber(
      out, [&](auto& number) { program::setBits(number, form.columns[form.classes[position++]][member]); });
  out.plan.explanation = std::move(explanation_);
  auto renumbered = [&](std::uint32_t f) { return f == own ? 0 : f < own ? f + 1 : f; };
  for (std::uint32_t f = 0; f < forms_.size(); ++f)
    if (f != own) out.others.push_back(std::move(forms_[f].entry));
  for (const std::uint32_t f : formOf_) {
    if (out.choice.empty() || out.choice.back().form != renumbered(f)) out.choice.push_back({renumbered(f), 0});
    ++out.choice.back().count;
  }
  out.given = given();
  out.sizes = std::move(sizes_);
  out.bound = std::move(bound_);
  return out;
}

}  // namespace tandem::lazy
