#include "ir/schema/library_call.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/error.h"

namespace tandem {
namespace {

// Name and parameters of each library operation, as in its record.
constexpr std::pair<std::string_view, std::string_view> kParameters[] = {
#define X(name, function, parameters) {#name, parameters},
#include "runtime/base/library_table.inc"
#undef X
};
static_assert(std::ranges::is_sorted(kParameters));

// Attributes that operations did not have from the first: who reads them takes a default (AttrReader::boolean), for
// programs that were saved before.
constexpr std::string_view kLater[] = {"allow_tf32", "bfloat", "channels_last", "cudnn_enabled", "half", "wide"};

class Parser {
 public:
  explicit Parser(const LibraryCallMeta& call) : call_(call) {}

  void run(std::string_view parameters) {
    for (std::size_t at = 0; at < parameters.size();) {
      const std::size_t end = std::min(parameters.find(", ", at), parameters.size());
      parameter(parameters.substr(at, end - at));
      at = end + 2;
    }
    need(input_ == call_.inputs.size(), "there are operands that it does not have");
    need(attr_ == call_.attrs.size(), "there are attributes that it does not have");
    need(numbers_ == call_.numbers, "it takes another number of numbers");
  }

 private:
  void need(bool holds, const char* what) const {
    if (!holds) fail<ValueError>(call_.op, ": ", what);
  }
  std::int64_t attr() {
    need(attr_ < call_.attrs.size(), "attributes are missing");
    return call_.attrs[attr_++];
  }
  bool flag() {
    const std::int64_t v = attr();
    need(v == 0 || v == 1, "an attribute is no bool");
    return v != 0;
  }
  void dim() {
    const std::int64_t v = attr();
    need(!call_.inputs.empty(), "operands are missing");
    need(v >= 0 && v < std::max<std::int64_t>(std::ssize(call_.inputs[0].shape), 1), "a dim is out of range");
  }
  void tensor() {
    need(input_ < call_.inputs.size(), "operands are missing");
    need(!call_.inputs[input_++].absent, "an operand is absent");
  }
  void list() {
    const std::int64_t n = attr();
    need(n >= 0 && static_cast<std::uint64_t>(n) <= call_.attrs.size() - attr_, "a list is longer than all there is");
    attr_ += static_cast<std::size_t>(n);
  }
  /// Type and name of one, perhaps with a default. A list of tensors takes what is left: it is the last of them.
  void parameter(std::string_view text) {
    const std::string_view type = text.substr(0, text.find(' '));
    const std::string_view name = text.substr(type.size() + 1, text.find('=') - type.size() - 1);
    if (type == "Tensor") return tensor();
    if (type == "Tensor?")
      input_ < call_.inputs.size() ? tensor() : void();
    else if (type == "Tensor[]")
      while (input_ < call_.inputs.size()) tensor();
    else if (type == "Scalar")
      ++numbers_;
    else if (type == "int")
      name == "dim" ? dim() : void(attr());
    else if (type == "int?" && name == "dim")
      flag() ? dim() : void();
    else if (type == "bool" && attr_ == call_.attrs.size() && std::ranges::find(kLater, name) != std::end(kLater))
      return;
    else if (type == "bool")
      flag();
    else if (type == "int[]" || type == "int[2]")
      list();
    else
      fail<InternalError>(call_.op, " has a parameter `", text, "`, which nothing here reads");
  }

  const LibraryCallMeta& call_;
  std::size_t input_ = 0;
  std::size_t attr_ = 0;
  std::size_t numbers_ = 0;
};

}  // namespace

bool checkLibraryCall(const LibraryCallMeta& call) {
  const auto* parameters = std::ranges::lower_bound(kParameters, call.op, {}, [](const auto& p) { return p.first; });
  if (parameters == std::end(kParameters) || parameters->first != call.op)
    fail<NotImplementedError>("`", call.op, "` is no library operation of this version of Tandem");
  Parser(call).run(parameters->second);
  const OpFacts& op = facts(*findOp(call.op));
  if (call.outputs.size() != op.numResults) fail<ValueError>(call.op, ": it has ", int{op.numResults}, " results");
  schema::checkRequirements({op, call.inputs, call.outputs, call.attrs});
  std::array<TensorMeta, kMostResults> results;
  const std::span<TensorMeta> made = std::span(results).first(op.numResults);
  op.metaRule(op, call.inputs, call.attrs, made);
  const auto same = [](const TensorMeta& a, const TensorMeta& b) {
    return !b.absent && a.dtype == b.dtype && a.shape == b.shape;
  };
  if (!std::ranges::equal(made, call.outputs, same))
    fail<ValueError>(call.op, ": the results are not of the shapes and dtypes that follow from the operands");
  return op.updates;
}

namespace {
const bool registered = (libraryCheck = &checkLibraryCall, true);
}  // namespace

}  // namespace tandem
