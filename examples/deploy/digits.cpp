// Classifies an image with a network that export.py saved, and prints the probabilities as bars.
//
//   digits digits.tandem image.pgm
//   digits digits.tandem images.idx 7
//
// The file says what the classes are called: digits of MNIST, clothes of Fashion-MNIST.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include "images.h"
#include "tandem/program.hpp"

namespace {

std::vector<std::uint8_t> readImage(const std::string& path, const char* number) {
  return number == nullptr ? readPgm(path).data : readIdx(path).at(std::stoul(number));
}

void classify(const std::string& file, const std::string& path, const char* number) {
  const tandem::Program program(file);
  tandem::Context context(program);
  const std::vector<std::uint8_t> image = readImage(path, number);
  std::vector<float> probabilities(program.result(0, 0).bytes / sizeof(float));
  context.run(program.entry("forward"), {image}, {probabilities});

  std::istringstream classes(program.note("classes"));
  const auto best = std::ranges::max_element(probabilities);
  for (auto p = probabilities.begin(); p != probabilities.end(); ++p) {
    std::string name;
    classes >> name;
    const std::string bar(static_cast<std::size_t>(*p * 40 + 0.5F), '#');
    std::printf("%c %-10s %-15.9g %s\n", p == best ? '>' : ' ', name.c_str(), static_cast<double>(*p), bar.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s digits.tandem image.pgm | images.idx number\n", argv[0]);
    return 2;
  }
  try {
    classify(argv[1], argv[2], argc > 3 ? argv[3] : nullptr);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
