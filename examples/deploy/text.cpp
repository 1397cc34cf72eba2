// Continues a text, token by token: what was computed of the tokens so far is kept, so that each new one costs the same
// few products and one look at the others.
//
//   text text.tandem "Tandem is" [count [temperature [seed]]]
//
// Prints the text and `count` bytes more. The sizes of the arguments grow from call to call: `setSizes` says to what.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "tandem/program.hpp"

namespace {

/// Keys or values of the tokens so far: a call reads `now` and writes `next`.
struct Cache {
  std::vector<float> now, next;
  void make(std::size_t bytes) { next.resize(bytes / sizeof(float)); }
  void advance() { std::swap(now, next); }
};

class Writer {
 public:
  Writer(const std::string& path, double temperature, std::int64_t seed)
      : program_(path), context_(program_), temperature_{temperature} {
    context_.seed(seed);
  }

  /// The bytes that follow a text, given to `put` one by one.
  template <class Put>
  void follow(const std::string& text, std::size_t count, Put put) {
    std::vector<std::int64_t> tokens;
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    const std::size_t most = static_cast<std::size_t>(program_.size(prompt_, 0).most);
    for (std::size_t n = 0; n < count; ++n) {
      // Where there is no more room for tokens, the last few begin anew.
      if (cached_ == 0 || cached_ == most)
        begin({tokens.end() - std::min(tokens.size(), most / 2), tokens.end()});
      else
        add(tokens.back());
      tokens.push_back(token_[0]);
      put(static_cast<char>(token_[0]));
    }
  }

 private:
  void begin(std::vector<std::int64_t> tokens) {
    cached_ = tokens.size();
    context_.setSizes(prompt_, {static_cast<std::int64_t>(cached_)});
    keys_.make(context_.result(prompt_, 1).bytes);
    values_.make(context_.result(prompt_, 2).bytes);
    context_.run(prompt_, {tokens}, {token_, keys_.next, values_.next}, temperature_);
    keys_.advance();
    values_.advance();
  }
  void add(std::int64_t token) {
    context_.setSizes(next_, {static_cast<std::int64_t>(cached_)});
    keys_.make(context_.result(next_, 1).bytes);
    values_.make(context_.result(next_, 2).bytes);
    std::vector<std::int64_t> one{token};
    context_.run(next_, {one, keys_.now, values_.now}, {token_, keys_.next, values_.next}, temperature_);
    ++cached_;
    keys_.advance();
    values_.advance();
  }

  tandem::Program program_;
  tandem::Context context_;
  std::size_t prompt_ = program_.entry("prompt"), next_ = program_.entry("next");
  std::vector<double> temperature_;
  std::vector<std::int64_t> token_ = std::vector<std::int64_t>(1);
  Cache keys_, values_;
  std::size_t cached_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || *argv[2] == '\0') {
    std::fprintf(stderr, "usage: %s text.tandem \"how it begins\" [count [temperature [seed]]]\n", argv[0]);
    return 2;
  }
  try {
    Writer writer(argv[1], argc > 4 ? std::stod(argv[4]) : 0.8, argc > 5 ? std::stoll(argv[5]) : 0);
    std::fputs(argv[2], stdout);
    writer.follow(argv[2], argc > 3 ? std::stoul(argv[3]) : 300, [](char c) {
      std::putchar(c);
      std::fflush(stdout);
    });
    std::putchar('\n');
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
