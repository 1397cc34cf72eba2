// Goes on training a network where Python left it, and saves what comes of it for Python.
//
//   train train.tandem images.idx labels.idx steps new.safetensors [rate [old.safetensors]]
//
// Batches are taken in the order of the files. Each step's loss is printed; the last file has parameters and what the
// optimizer keeps, under the names that they have in Python: tandem.load reads it, and this program goes on from it.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "images.h"
#include "tandem/program.hpp"

namespace {

struct Options {
  std::string program, images, labels;
  std::size_t steps;
  std::string to;
  double rate;  // 0: what the program was saved with
  std::string from;
};

void train(const Options& options) {
  const tandem::Program program(options.program);
  const std::size_t step = program.entry("step");
  const Bytes images = readIdx(options.images), labels = readIdx(options.labels);
  const auto batch = static_cast<std::size_t>(program.argument(step, 0).shape[0]);
  if (labels.shape[0] < batch || images.shape[0] != labels.shape[0])
    throw std::runtime_error("as many images as labels are needed, and a batch of them");

  std::vector<double> numbers(program.numbers(step));
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const tandem_number_info number = program.number(step, k);
    numbers[k] = number.name == std::string("lr") && options.rate != 0 ? options.rate : number.value;
  }

  tandem::Context context(program);
  if (!options.from.empty()) context.loadState(options.from);
  for (std::size_t k = 0; k < options.steps; ++k) {
    const std::size_t first = k % (labels.shape[0] / batch) * batch;
    float loss[1];
    context.run(step, {images.range(first, first + batch), labels.range(first, first + batch)}, {loss}, numbers);
    std::printf("step %zu: loss %.9g\n", k + 1, static_cast<double>(loss[0]));
  }
  context.saveState(options.to);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: %s train.tandem images.idx labels.idx steps new.safetensors [rate [old]]\n", argv[0]);
    return 2;
  }
  try {
    train({argv[1], argv[2], argv[3], std::stoul(argv[4]), argv[5], argc > 6 ? std::stod(argv[6]) : 0,
           argc > 7 ? argv[7] : ""});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
