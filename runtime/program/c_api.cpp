// The C functions of include/tandem/program.h.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "runtime/base/error.h"
#include "runtime/device/executor.h"
#include "runtime/device/gpu_control.h"
#include "runtime/device/thread_pool.h"
#include "runtime/program/program.h"
#include "runtime/program/state_file.h"
#include "tandem/program.h"

using tandem::fail;
using tandem::TypeError;
using tandem::program::Archive;
using tandem::program::Context;
using tandem::program::Located;
using tandem::program::OpenOptions;
using tandem::program::Program;

struct tandem_error {
  tandem_error_code code;
  std::string text;
};
struct tandem_program {
  std::shared_ptr<const Program> program;
};
struct tandem_context {
  explicit tandem_context(const std::shared_ptr<const Program>& program) : context(program) {}
  Context context;
  std::vector<tandem::Scalar> numbers;
};

namespace {

static_assert(static_cast<int>(TANDEM_FLOAT64) == static_cast<int>(tandem::DType::Float64));

// Where there is no memory for an error either.
tandem_error noMemory{TANDEM_OUT_OF_MEMORY, "out of memory"};

tandem_error* makeError(tandem_error_code code, const char* text) {
  try {
    return new tandem_error{code, text};
  } catch (const std::bad_alloc&) {
    return &noMemory;
  }
}

/// Runs `body`; its exception becomes the error, of the class that `ValueError` stands for here.
template <class F>
tandem_error* guarded(tandem_error_code value, F&& body) {
  try {
    body();
    return nullptr;
  } catch (const tandem::OutOfMemoryError& e) {
    return makeError(TANDEM_OUT_OF_MEMORY, e.what());
  } catch (const std::bad_alloc&) {
    return makeError(TANDEM_OUT_OF_MEMORY, "out of memory");
  } catch (const TypeError& e) {
    return makeError(TANDEM_INVALID_ARGUMENT, e.what());
  } catch (const tandem::NotImplementedError& e) {
    return makeError(TANDEM_NOT_SUPPORTED, e.what());
  } catch (const tandem::IndexError& e) {
    return makeError(TANDEM_INVALID_VALUE, e.what());
  } catch (const tandem::LinAlgError& e) {
    return makeError(TANDEM_INVALID_VALUE, e.what());
  } catch (const tandem::ValueError& e) {
    return makeError(value, e.what());
  } catch (const tandem::InternalError& e) {
    return makeError(value == TANDEM_INVALID_FILE ? value : TANDEM_ERROR, e.what());
  } catch (const std::exception& e) {
    return makeError(TANDEM_ERROR, e.what());
  }
}

const tandem::program::ProgramData& dataOf(const tandem_program* p) { return p->program->data(); }

const tandem::program::EntryData* entryOf(const tandem_program* p, std::size_t entry) {
  return entry < dataOf(p).entries.size() ? &dataOf(p).entries[entry] : nullptr;
}

template <class T>
const T& item(const std::vector<T>& all, std::size_t number, const char* what) {
  if (number >= all.size()) fail<TypeError>("there is no ", what, " ", number, ": there are ", all.size());
  return all[number];
}

const tandem::program::EntryData& entryAt(const tandem_program* p, std::size_t entry) {
  return item(dataOf(p).entries, entry, "entry");
}

template <class T>
tandem_tensor_info tensorInfo(const T& t, bool changes) {
  return {t.name.c_str(),
          static_cast<tandem_dtype>(t.dtype),
          t.shape.size(),
          t.shape.data(),
          static_cast<std::size_t>(tandem::numelOf(t.shape)) * tandem::itemSize(t.dtype),
          changes ? 1 : 0};
}

tandem_tensor_info argumentInfo(const tandem::program::EntryData& e, std::size_t number) {
  const auto& a = item(e.arguments, number, "argument");
  return tensorInfo(a, a.changes);
}
tandem_tensor_info resultInfo(const tandem::program::EntryData& e, std::size_t number) {
  return tensorInfo(item(e.results, number, "result"), false);
}
/// An entry for the context's present sizes.
const tandem::program::EntryData& entryAt(const tandem_context* c, std::size_t entry) {
  item(c->context.program().data().entries, entry, "entry");
  return c->context.entry(entry);
}

/// What the caller must give; TypeError where that is null.
template <class T>
T* given(T* pointer, const char* what) {
  if (pointer == nullptr) fail<TypeError>(what, " is a null pointer");
  return pointer;
}
/// Likewise of several, of which there may be none.
template <class T>
std::span<T> given(T* all, std::size_t count, const char* what) {
  return {count > 0 ? given(all, what) : nullptr, count};
}

template <class T>
std::size_t find(const std::vector<T>& all, const char* name, const char* what) {
  const auto it = std::ranges::find(all, std::string_view(given(name, "the name")), &T::name);
  if (it == all.end()) fail<TypeError>("the program has no ", what, " called `", name, "`");
  return static_cast<std::size_t>(it - all.begin());
}

/// A number of the caller's in the kind that the program wants.
tandem::Scalar numberLike(const tandem::program::NumberData& n, double value) {
  if (n.value.isFloat()) return value;
  if (value != std::floor(value) || std::abs(value) >= 0x1p63) fail<TypeError>(n.name, " is an integer, not ", value);
  return static_cast<std::int64_t>(value);
}

void takeNumbers(tandem_context* context, const tandem::program::EntryData& e, const double* numbers) {
  context->numbers.clear();
  for (std::size_t k = 0; k < e.numbers.size(); ++k)
    context->numbers.push_back(numbers != nullptr ? numberLike(e.numbers[k], numbers[k]) : e.numbers[k].value);
}

constexpr const char* kArguments = "the array of arguments";
constexpr const char* kResults = "the array of results";

std::vector<Located> located(std::span<const tandem_memory> all) {
  std::vector<Located> found;
  for (const tandem_memory& m : all) {
    tandem::Device device;
    if (m.device_kind == TANDEM_CUDA)
      device = tandem::parseDevice(tandem::strcat("cuda:", m.device_index));
    else if (m.device_kind != TANDEM_CPU)
      fail<TypeError>("memory of a device of kind ", m.device_kind, ": expected 1, the CPU, or 2, CUDA");
    found.push_back({m.data, device});
  }
  return found;
}

/// The caller's stream. Options of a later version may say what this one does not know.
void* streamOf(const tandem_run_options* options) {
  if (options == nullptr) return nullptr;
  if (options->size < sizeof *options)
    fail<TypeError>("the options of a run have ", options->size, " bytes, and should have ", sizeof *options);
  const auto* bytes = reinterpret_cast<const unsigned char*>(options);
  if (std::any_of(bytes + sizeof *options, bytes + options->size, [](unsigned char b) { return b != 0; }))
    fail<tandem::NotImplementedError>("the options of a run are of a later version, and ask for what this one lacks");
  return options->stream;
}

/// For the time of its life the thread's work on a GPU is queued in a stream; null is the default one.
class InStream {
 public:
  InStream(tandem::Device device, void* stream) : gpu_(device.isCpu() ? nullptr : tandem::executor(device).gpu()) {
    if (gpu_ == nullptr && stream != nullptr) fail<TypeError>("a stream was given, and the program runs on no GPU");
    if (gpu_ != nullptr) before_ = &gpu_->setCurrentStream(gpu_->externalStream(stream));
  }
  ~InStream() {
    if (gpu_ != nullptr) gpu_->setCurrentStream(*before_);
  }
  InStream(const InStream&) = delete;
  InStream& operator=(const InStream&) = delete;

 private:
  tandem::GpuControl* gpu_;
  tandem::Stream* before_ = nullptr;
};

}  // namespace

extern "C" {

tandem_error_code tandem_error_get_code(const tandem_error* error) { return error->code; }
const char* tandem_error_text(const tandem_error* error) { return error->text.c_str(); }
void tandem_error_free(tandem_error* error) {
  if (error != &noMemory) delete error;
}

tandem_error* tandem_program_open(const char* path, const tandem_open_options* options, tandem_program** program) {
  *program = nullptr;
  return guarded(TANDEM_INVALID_FILE, [&] {
    OpenOptions how;
    if (options != nullptr && options->signed_by != nullptr)
      how.signedBy.assign(reinterpret_cast<const char*>(options->signed_by), 32);
    how.verify = options != nullptr && options->verify != 0;
    how.device = tandem::parseDevice(options != nullptr && options->device != nullptr ? options->device : "cpu");
    *program = new tandem_program{Program::open(Archive::open(given(path, "the path")), how)};
  });
}
void tandem_program_close(tandem_program* program) { delete program; }

size_t tandem_program_entries(const tandem_program* program) { return dataOf(program).entries.size(); }
const char* tandem_entry_name(const tandem_program* program, size_t entry) {
  const auto* e = entryOf(program, entry);
  return e != nullptr ? e->name.c_str() : nullptr;
}
tandem_error* tandem_find_entry(const tandem_program* program, const char* name, size_t* entry) {
  return guarded(TANDEM_INVALID_ARGUMENT, [&] { *entry = find(dataOf(program).entries, name, "entry"); });
}
size_t tandem_entry_arguments(const tandem_program* program, size_t entry) {
  const auto* e = entryOf(program, entry);
  return e != nullptr ? e->arguments.size() : 0;
}
size_t tandem_entry_results(const tandem_program* program, size_t entry) {
  const auto* e = entryOf(program, entry);
  return e != nullptr ? e->results.size() : 0;
}
size_t tandem_entry_numbers(const tandem_program* program, size_t entry) {
  const auto* e = entryOf(program, entry);
  return e != nullptr ? e->numbers.size() : 0;
}
tandem_error* tandem_describe_argument(const tandem_program* program, size_t entry, size_t number,
                                       tandem_tensor_info* info) {
  return guarded(TANDEM_INVALID_ARGUMENT, [&] { *info = argumentInfo(entryAt(program, entry), number); });
}
tandem_error* tandem_describe_result(const tandem_program* program, size_t entry, size_t number,
                                     tandem_tensor_info* info) {
  return guarded(TANDEM_INVALID_ARGUMENT, [&] { *info = resultInfo(entryAt(program, entry), number); });
}
tandem_error* tandem_describe_number(const tandem_program* program, size_t entry, size_t number,
                                     tandem_number_info* info) {
  return guarded(TANDEM_INVALID_ARGUMENT, [&] {
    const auto& n = item(entryAt(program, entry).numbers, number, "number");
    *info = {n.name.c_str(), n.value.asDouble()};
  });
}
size_t tandem_entry_sizes(const tandem_program* program, size_t entry) {
  const auto* e = entryOf(program, entry);
  return e != nullptr ? e->sizes.size() : 0;
}
tandem_error* tandem_describe_size(const tandem_program* program, size_t entry, size_t number, tandem_size_info* info) {
  return guarded(TANDEM_INVALID_ARGUMENT, [&] {
    const auto& s = item(entryAt(program, entry).sizes, number, "size");
    *info = {s.name.c_str(), s.least, s.most, s.example};
  });
}
size_t tandem_program_states(const tandem_program* program) { return dataOf(program).state.size(); }
tandem_error* tandem_describe_state(const tandem_program* program, size_t number, tandem_tensor_info* info) {
  return guarded(TANDEM_INVALID_ARGUMENT, [&] {
    const auto& s = item(dataOf(program).state, number, "tensor of the state");
    *info = tensorInfo(s, dataOf(program).memories[s.memory].changes);
  });
}
tandem_error* tandem_find_state(const tandem_program* program, const char* name, size_t* number) {
  return guarded(TANDEM_INVALID_ARGUMENT, [&] { *number = find(dataOf(program).state, name, "tensor"); });
}
const char* tandem_program_target(const tandem_program* program) { return program->program->target().c_str(); }
const char* tandem_program_note(const tandem_program* program, const char* key) {
  for (const auto& [name, value] : dataOf(program).notes)
    if (key != nullptr && name == key) return value.c_str();
  return nullptr;
}
size_t tandem_program_functions(const tandem_program* program) { return program->program->functions().size(); }
const char* tandem_program_function(const tandem_program* program, size_t number) {
  const auto& all = program->program->functions();
  return number < all.size() ? all[number].c_str() : nullptr;
}

tandem_error* tandem_context_create(const tandem_program* program, tandem_context** context) {
  *context = nullptr;
  return guarded(TANDEM_ERROR, [&] { *context = new tandem_context(program->program); });
}
void tandem_context_free(tandem_context* context) { delete context; }

tandem_error* tandem_run(tandem_context* context, size_t entry, void* const* arguments, const double* numbers,
                         void* const* results) {
  return guarded(TANDEM_INVALID_VALUE, [&] {
    const auto& e = item(context->context.program().data().entries, entry, "entry");
    takeNumbers(context, e, numbers);
    context->context.run(entry, given(arguments, e.arguments.size(), kArguments), context->numbers,
                         given(results, e.results.size(), kResults));
  });
}

tandem_error* tandem_run_on(tandem_context* context, size_t entry, const tandem_memory* arguments,
                            const double* numbers, const tandem_memory* results, const tandem_run_options* options) {
  return guarded(TANDEM_INVALID_VALUE, [&] {
    const auto& e = item(context->context.program().data().entries, entry, "entry");
    const InStream here(context->context.program().device(), streamOf(options));
    const std::vector<Located> from = located(given(arguments, e.arguments.size(), kArguments));
    const std::vector<Located> to = located(given(results, e.results.size(), kResults));
    takeNumbers(context, e, numbers);
    context->context.run(entry, from, context->numbers, to);
  });
}
tandem_error* tandem_wait(tandem_context* context) {
  return guarded(TANDEM_INVALID_VALUE, [&] { context->context.wait(); });
}

tandem_error* tandem_set_sizes(tandem_context* context, size_t entry, const int64_t* sizes) {
  return guarded(TANDEM_INVALID_ARGUMENT, [&] {
    const auto& e = item(context->context.program().data().entries, entry, "entry");
    context->context.resize(entry, given(sizes, e.sizes.size(), "the array of sizes"));
  });
}
tandem_error* tandem_context_argument(const tandem_context* context, size_t entry, size_t number,
                                      tandem_tensor_info* info) {
  return guarded(TANDEM_INVALID_ARGUMENT, [&] { *info = argumentInfo(entryAt(context, entry), number); });
}
tandem_error* tandem_context_result(const tandem_context* context, size_t entry, size_t number,
                                    tandem_tensor_info* info) {
  return guarded(TANDEM_INVALID_ARGUMENT, [&] { *info = resultInfo(entryAt(context, entry), number); });
}

tandem_error* tandem_state_get(const tandem_context* context, size_t number, void* elements) {
  return guarded(TANDEM_INVALID_ARGUMENT, [&] {
    item(context->context.program().data().state, number, "tensor of the state");
    context->context.getState(number, given(elements, "the memory"));
  });
}
tandem_error* tandem_state_set(tandem_context* context, size_t number, const void* elements) {
  return guarded(TANDEM_INVALID_ARGUMENT, [&] {
    item(context->context.program().data().state, number, "tensor of the state");
    context->context.setState(number, given(elements, "the memory"));
  });
}
tandem_error* tandem_state_save(const tandem_context* context, const char* path) {
  return guarded(TANDEM_ERROR, [&] { tandem::program::saveState(context->context, given(path, "the path")); });
}
tandem_error* tandem_state_load(tandem_context* context, const char* path) {
  return guarded(TANDEM_INVALID_FILE, [&] { tandem::program::loadState(context->context, given(path, "the path")); });
}
void tandem_seed(tandem_context* context, int64_t seed) {
  context->context.seed = seed;
  context->context.draws = 0;
}
tandem_error* tandem_set_threads(int threads) {
  return guarded(TANDEM_INVALID_ARGUMENT, [&] { tandem::setNumThreads(threads); });
}
int tandem_threads(void) { return tandem::numThreads(); }

}  // extern "C"
