// Saved programs from C++20: what program.h has, with objects that free what they hold, sizes that are checked, and
// errors as exceptions. Nothing to link beyond what the C functions need.
//
//   tandem::Program program("digits.tandem");
//   tandem::Context context(program);
//   std::vector<float> image(28 * 28), probabilities(10);
//   context.run(program.entry("forward"), {image}, {probabilities});
//
// A Program may be copied and used by any number of threads; a Context is for one thread at a time.
#ifndef TANDEM_PROGRAM_HPP
#define TANDEM_PROGRAM_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/program.h"

namespace tandem {

class Error : public std::runtime_error {
 public:
  Error(tandem_error_code code, const std::string& text) : std::runtime_error(text), code_(code) {}
  [[nodiscard]] tandem_error_code code() const { return code_; }

 private:
  tandem_error_code code_;
};

namespace detail {
inline void check(tandem_error* error) {
  if (error == nullptr) return;
  const std::unique_ptr<tandem_error, decltype(&tandem_error_free)> owner(error, &tandem_error_free);
  throw Error(tandem_error_get_code(error), tandem_error_text(error));
}
}  // namespace detail

/// The elements of an argument, contiguous and row-major: any contiguous range of them. What an entry changes must not
/// be const.
class Input {
 public:
  template <std::ranges::contiguous_range R>
    requires std::ranges::sized_range<R>
  Input(R&& elements)
      : data_(std::ranges::data(elements)), bytes_(std::ranges::size(elements) * sizeof(*std::ranges::data(elements))),
        constant_(std::is_const_v<std::remove_pointer_t<decltype(std::ranges::data(elements))>>) {}
  /// Memory of the GPU that the program runs on, cuda:`index`.
  static Input onGpu(void* data, std::size_t bytes, int index = 0) {
    Input made(std::span(static_cast<char*>(data), bytes));
    made.device_ = {TANDEM_CUDA, index};
    return made;
  }
  static Input onGpu(const void* data, std::size_t bytes, int index = 0) {
    Input made = onGpu(const_cast<void*>(data), bytes, index);
    made.constant_ = true;
    return made;
  }
  [[nodiscard]] void* data() const { return const_cast<void*>(data_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool constant() const { return constant_; }
  [[nodiscard]] tandem_memory memory() const { return {data(), device_.first, device_.second}; }

 private:
  const void* data_;
  std::size_t bytes_;
  bool constant_;
  std::pair<std::int32_t, std::int32_t> device_{TANDEM_CPU, 0};
};

/// Where the elements of a result go: as Input, and never const.
class Output {
 public:
  template <std::ranges::contiguous_range R>
    requires std::ranges::sized_range<R>
  Output(R&& elements)
      : data_(std::ranges::data(elements)), bytes_(std::ranges::size(elements) * sizeof(*std::ranges::data(elements))) {
  }
  /// As Input::onGpu.
  static Output onGpu(void* data, std::size_t bytes, int index = 0) {
    Output made(std::span(static_cast<char*>(data), bytes));
    made.device_ = {TANDEM_CUDA, index};
    return made;
  }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] tandem_memory memory() const { return {data_, device_.first, device_.second}; }

 private:
  void* data_;
  std::size_t bytes_;
  std::pair<std::int32_t, std::int32_t> device_{TANDEM_CPU, 0};
};

struct OpenOptions {
  std::span<const unsigned char> signedBy;  // an Ed25519 public key, 32 bytes; empty: the file need not be signed
  bool verify = false;                      // compare all of the file with the hashes in it
  std::string device = "cpu";               // where it runs; a GPU: "cuda", "cuda:1"
};

/// A file that was opened. Names and shapes in what it tells live as long as it or a copy of it.
class Program {
 public:
  explicit Program(const std::string& path, const OpenOptions& options = {}) {
    if (!options.signedBy.empty() && options.signedBy.size() != 32)
      throw Error(TANDEM_INVALID_ARGUMENT, "a public key has 32 bytes");
    const tandem_open_options how{options.signedBy.empty() ? nullptr : options.signedBy.data(), options.verify ? 1 : 0,
                                  options.device.c_str()};
    tandem_program* program = nullptr;
    detail::check(tandem_program_open(path.c_str(), &how, &program));
    program_ = {program, &tandem_program_close};
  }

  [[nodiscard]] std::size_t entries() const { return tandem_program_entries(get()); }
  /// The number of the entry of a name.
  [[nodiscard]] std::size_t entry(const std::string& name) const {
    std::size_t number = 0;
    detail::check(tandem_find_entry(get(), name.c_str(), &number));
    return number;
  }
  [[nodiscard]] std::string entryName(std::size_t entry) const {
    const char* name = tandem_entry_name(get(), entry);
    return name != nullptr ? name : "";
  }
  [[nodiscard]] std::size_t arguments(std::size_t entry) const { return tandem_entry_arguments(get(), entry); }
  [[nodiscard]] std::size_t results(std::size_t entry) const { return tandem_entry_results(get(), entry); }
  [[nodiscard]] std::size_t numbers(std::size_t entry) const { return tandem_entry_numbers(get(), entry); }
  [[nodiscard]] std::size_t states() const { return tandem_program_states(get()); }

  /// How many sizes of an entry a caller chooses (Context::setSizes), and what they are.
  [[nodiscard]] std::size_t sizes(std::size_t entry) const { return tandem_entry_sizes(get(), entry); }
  [[nodiscard]] tandem_size_info size(std::size_t entry, std::size_t number) const {
    tandem_size_info info{};
    detail::check(tandem_describe_size(get(), entry, number, &info));
    return info;
  }

  /// For the sizes of the example.
  [[nodiscard]] tandem_tensor_info argument(std::size_t entry, std::size_t number) const {
    return described(tandem_describe_argument, entry, number);
  }
  [[nodiscard]] tandem_tensor_info result(std::size_t entry, std::size_t number) const {
    return described(tandem_describe_result, entry, number);
  }
  [[nodiscard]] tandem_number_info number(std::size_t entry, std::size_t number) const {
    tandem_number_info info{};
    detail::check(tandem_describe_number(get(), entry, number, &info));
    return info;
  }
  [[nodiscard]] tandem_tensor_info state(std::size_t number) const {
    tandem_tensor_info info{};
    detail::check(tandem_describe_state(get(), number, &info));
    return info;
  }
  /// The number of the tensor of the state of a name.
  [[nodiscard]] std::size_t findState(const std::string& name) const {
    std::size_t number = 0;
    detail::check(tandem_find_state(get(), name.c_str(), &number));
    return number;
  }

  /// Which of the file's targets runs here; and a note of the file, empty where there is none.
  [[nodiscard]] std::string target() const { return tandem_program_target(get()); }
  [[nodiscard]] std::string note(const std::string& key) const {
    const char* text = tandem_program_note(get(), key.c_str());
    return text != nullptr ? text : "";
  }
  /// The library functions that it calls.
  [[nodiscard]] std::vector<std::string> functions() const {
    std::vector<std::string> names;
    for (std::size_t k = 0; k < tandem_program_functions(get()); ++k)
      names.emplace_back(tandem_program_function(get(), k));
    return names;
  }
  [[nodiscard]] const tandem_program* get() const { return program_.get(); }

 private:
  template <class F>
  tandem_tensor_info described(F describe, std::size_t entry, std::size_t number) const {
    tandem_tensor_info info{};
    detail::check(describe(get(), entry, number, &info));
    return info;
  }
  std::shared_ptr<tandem_program> program_;
};

/// What a program runs in: it starts with the state of the file, and keeps its own.
class Context {
 public:
  explicit Context(Program program) : program_(std::move(program)) {
    tandem_context* context = nullptr;
    detail::check(tandem_context_create(program_.get(), &context));
    context_.reset(context);
  }

  /// Which sizes the next runs of an entry have, one for each of `Program::sizes`; they begin as the example's.
  void setSizes(std::size_t entry, std::initializer_list<std::int64_t> sizes) {
    setSizes(entry, std::span(sizes.begin(), sizes.size()));
  }
  void setSizes(std::size_t entry, std::span<const std::int64_t> sizes) {
    expect(sizes.size() == program_.sizes(entry), "sizes", program_.sizes(entry), sizes.size());
    detail::check(tandem_set_sizes(get(), entry, sizes.data()));
  }
  /// For the present sizes; shapes live until sizes are set again.
  [[nodiscard]] tandem_tensor_info argument(std::size_t entry, std::size_t number) const {
    tandem_tensor_info info{};
    detail::check(tandem_context_argument(get(), entry, number, &info));
    return info;
  }
  [[nodiscard]] tandem_tensor_info result(std::size_t entry, std::size_t number) const {
    tandem_tensor_info info{};
    detail::check(tandem_context_result(get(), entry, number, &info));
    return info;
  }

  /// Runs an entry. No `numbers`: those that the program was saved with. Results overlap neither arguments nor each
  /// other.
  void run(std::size_t entry, std::initializer_list<Input> arguments, std::initializer_list<Output> results,
           std::span<const double> numbers = {}, void* stream = nullptr) {
    run(entry, std::span(arguments.begin(), arguments.size()), std::span(results.begin(), results.size()), numbers,
        stream);
  }
  /// `stream`: a CUstream of the program's GPU (tandem_run_on); null is CUDA's default stream.
  void run(std::size_t entry, std::span<const Input> arguments, std::span<const Output> results,
           std::span<const double> numbers = {}, void* stream = nullptr) {
    expect(arguments.size() == program_.arguments(entry), "arguments", program_.arguments(entry), arguments.size());
    expect(results.size() == program_.results(entry), "results", program_.results(entry), results.size());
    if (!numbers.empty())
      expect(numbers.size() == program_.numbers(entry), "numbers", program_.numbers(entry), numbers.size());
    std::vector<tandem_memory> from, to;
    for (const Input& a : arguments) {
      const tandem_tensor_info info = argument(entry, from.size());
      fits(info, a.bytes());
      if (info.changes != 0 && a.constant())
        throw Error(TANDEM_INVALID_ARGUMENT, std::string(info.name) + " is changed, and must not be const");
      from.push_back(a.memory());
    }
    for (const Output& r : results) {
      fits(result(entry, to.size()), r.bytes());
      to.push_back(r.memory());
    }
    const tandem_run_options options{sizeof options, stream};
    detail::check(
        tandem_run_on(get(), entry, from.data(), numbers.empty() ? nullptr : numbers.data(), to.data(), &options));
  }
  /// Waits for what runs have queued; throws the errors of its values.
  void wait() { detail::check(tandem_wait(get())); }

  /// Copies a tensor of the state out, or in.
  void getState(std::size_t number, const Output& to) const {
    fits(program_.state(number), to.bytes());
    detail::check(tandem_state_get(get(), number, to.data()));
  }
  void setState(std::size_t number, const Input& from) {
    fits(program_.state(number), from.bytes());
    detail::check(tandem_state_set(get(), number, from.data()));
  }
  /// All of the state as a file of the safetensors layout; and back, what such a file has of what entries change.
  void saveState(const std::string& path) const { detail::check(tandem_state_save(get(), path.c_str())); }
  void loadState(const std::string& path) { detail::check(tandem_state_load(get(), path.c_str())); }
  /// The random generator, as tandem.manual_seed.
  void seed(std::int64_t value) { tandem_seed(get(), value); }

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] tandem_context* get() const { return context_.get(); }

 private:
  struct Free {
    void operator()(tandem_context* context) const { tandem_context_free(context); }
  };
  static void expect(bool holds, const char* what, std::size_t expected, std::size_t given) {
    if (!holds)
      throw Error(TANDEM_INVALID_ARGUMENT,
                  std::string(what) + ": expected " + std::to_string(expected) + ", got " + std::to_string(given));
  }
  static void fits(const tandem_tensor_info& info, std::size_t bytes) {
    if (info.bytes != bytes)
      throw Error(TANDEM_INVALID_ARGUMENT, std::string(info.name) + ": expected " + std::to_string(info.bytes) +
                                               " bytes, got " + std::to_string(bytes));
  }
  Program program_;
  std::unique_ptr<tandem_context, Free> context_;
};

/// Threads that one run may use, the caller among them, for the whole process.
inline void setThreads(int threads) { detail::check(tandem_set_threads(threads)); }
[[nodiscard]] inline int threads() { return tandem_threads(); }

}  // namespace tandem

#endif
