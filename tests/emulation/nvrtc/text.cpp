#include "tests/emulation/nvrtc/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

namespace tandem::emulation {
namespace {

struct Token {
  std::string_view text;
  std::size_t at;
  bool inDirective;  // of the preprocessor
};

bool startsWord(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool inWord(char c) { return startsWord(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Where the literal that begins at `at` with a quotation mark ends.
std::size_t endOfLiteral(std::string_view text, std::size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

/// Words, literals and single characters, without comments.
std::vector<Token> tokensOf(std::string_view text) {
  std::vector<Token> tokens;
  bool lineIsEmpty = true;
  bool inDirective = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::string_view rest = text.substr(i);
    if (c == '\n') {
      if (i == 0 || text[i - 1] != '\\') inDirective = false;
      lineIsEmpty = true;
      ++i;
    } else if (rest.starts_with("//")) {
      i += std::min(rest.find('\n'), rest.size());
    } else if (rest.starts_with("/*")) {
      i += std::min(rest.find("*/", 2), rest.size() - 2) + 2;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++i;
    } else {
      std::size_t end = i + 1;
      if (c == '"' || c == '\'') {
        end = endOfLiteral(text, i);
      } else if (inWord(c)) {
        // A number may hold ' between digits, and a word may stand before a literal: neither is in our texts.
        while (end < text.size() && inWord(text[end])) ++end;
      } else if (c == '#' && lineIsEmpty) {
        inDirective = true;
      }
      tokens.push_back({text.substr(i, end - i), i, inDirective});
      lineIsEmpty = false;
      i = end;
    }
  }
  return tokens;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), tokens_(tokensOf(text)) {}

  HostText read() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const std::string_view t = tokens_[i].text;
      if (t == "{" || t == "}") {
        brace(i);
      } else if (t == "__global__") {
        kernel(i);
      } else if (t == "extern" && is(i + 1, "__shared__")) {
        i = dynamicShared(i);
      } else if (t.starts_with("__builtin_")) {
        builtin(i);
      }
    }
    out_.text.append(text_.substr(copied_));
    return std::move(out_);
  }

 private:
  bool is(std::size_t i, std::string_view what) const { return i < tokens_.size() && tokens_[i].text == what; }
  /// The token behind the parenthesis that opens at i.
  std::size_t behindParentheses(std::size_t i) const {
    int depth = 0;
    for (; i < tokens_.size(); ++i) {
      if (is(i, "(")) ++depth;
      if (is(i, ")") && --depth == 0) return i + 1;
    }
    return i;
  }
  std::string_view between(std::size_t first, std::size_t last) const {
    if (first >= last) return {};
    return text_.substr(tokens_[first].at, tokens_[last - 1].at + tokens_[last - 1].text.size() - tokens_[first].at);
  }

  /// Whether a brace opens a namespace or `extern "C"` is told by what stands before it.
  void brace(std::size_t i) {
    if (tokens_[i].inDirective) return;
    if (is(i, "}")) {
      if (!scopes_.empty()) scopes_.pop_back();
      return;
    }
    const bool isOuter =
        i >= 1 && (tokens_[i - 1].text == "\"C\"" || is(i - 1, "namespace") || (i >= 2 && is(i - 2, "namespace")));
    scopes_.push_back(!isOuter);
  }
  bool inFunction() const { return std::find(scopes_.begin(), scopes_.end(), true) != scopes_.end(); }

  void kernel(std::size_t i) {
    if (tokens_[i].inDirective) {
      out_.kernelsInMacros = true;
      return;
    }
    KernelName found;
    for (std::size_t k = i + 1; k + 1 < tokens_.size(); ++k) {
      if (is(k, ";") || is(k, "{")) return;
      if (!is(k + 1, "(")) continue;
      const std::size_t behind = behindParentheses(k + 1);
      if (is(k, "__launch_bounds__")) {
        found.bounds = between(k + 2, behind - 1);
      } else if (!is(k, "__align__") && !is(k, "__maxnreg__") && startsWord(tokens_[k].text[0])) {
        found.name = tokens_[k].text;
        // A macro that makes a name of another: NAME(x)(parameters).
        if (is(behind, "(")) found.name = between(k, behind);
        const bool known = std::any_of(out_.kernels.begin(), out_.kernels.end(),
                                       [&](const KernelName& other) { return other.name == found.name; });
        if (!known) out_.kernels.push_back(found);
        return;
      }
      k = behind - 1;
    }
  }

  /// `extern __shared__ [__align__(n)] T name[]...;`, whose end is returned.
  std::size_t dynamicShared(std::size_t i) {
    if (tokens_[i].inDirective) return i;
    std::size_t first = i + 2;
    while (is(first, "__align__") || is(first, "alignas")) first = behindParentheses(first + 1);
    std::size_t bracket = first;
    while (bracket < tokens_.size() && !is(bracket, "[") && !is(bracket, ";")) ++bracket;
    std::size_t end = bracket;
    while (end < tokens_.size() && !is(end, ";")) ++end;
    if (end >= tokens_.size() || !is(bracket, "[") || !is(bracket + 1, "]") || bracket < first + 2) return i;
    std::size_t name = bracket - 1;
    std::size_t typeEnd = name;
    for (std::size_t k = first; k + 1 < name; ++k) {
      if (is(k, "__align__") || is(k, "alignas")) {  // behind the type
        typeEnd = k;
        break;
      }
    }
    const std::string type(between(first, typeEnd));
    const std::string more(between(bracket + 2, end));  // dims but the first
    const std::string array = more.empty() ? type : "tandem::emulation::Element<" + type + more + ">";
    copyUntil(tokens_[i].at);
    const std::string called(tokens_[name].text);
    if (inFunction())
      out_.text += array + "* const " + called + " = (" + array + "*)tandem::emulation::machine.dynamicShared;";
    else
      out_.text += "static const tandem::emulation::DynamicShared<" + array + "> " + called + "{};";
    const std::string_view replaced = between(i, end + 1);
    out_.text.append(std::count(replaced.begin(), replaced.end(), '\n'), '\n');
    copied_ = tokens_[end].at + 1;
    return end;
  }

  /// Functions of a host's compiler that NVRTC lacks.
  void builtin(std::size_t i) {
    static constexpr std::array kKnown = {"__builtin_assume", "__builtin_assume_aligned", "__builtin_expect",
                                          "__builtin_unreachable"};
    const std::string_view t = tokens_[i].text;
    if (!out_.refusal.empty() || std::find(kKnown.begin(), kKnown.end(), t) != kKnown.end()) return;
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(tokens_[i].at), '\n');
    out_.refusal.append("(").append(std::to_string(line)).append("): error: identifier \"");
    out_.refusal.append(t).append("\" is undefined\n");
  }

  void copyUntil(std::size_t at) {
    out_.text.append(text_.substr(copied_, at - copied_));
    copied_ = at;
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::vector<bool> scopes_;  // of each open brace, whether it is in a function or a type
  HostText out_;
  std::size_t copied_ = 0;
};

}  // namespace

HostText hostText(std::string_view text) { return Reader(text).read(); }

}  // namespace tandem::emulation
