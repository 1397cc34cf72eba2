// Writes the table of the library functions that saved programs call (tandem/functions.hpp): OUTPUT FILE...
#include <exception>
#include <fstream>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>

#include <tandem/program.hpp>

int main(int argc, char** argv) {
  try {
    std::set<std::string> names;
    for (int k = 2; k < argc; ++k)
      for (const std::string& name : tandem::Program(argv[k]).functions()) names.insert(name);
    std::ofstream out(argv[1]);
    out << "#define TANDEM_FUNCTIONS(X)";
    for (const std::string& name : names) out << " X(" << name << ")";
    out << "\n#include <tandem/functions.hpp>\n";
    out.close();
    if (!out) throw std::runtime_error(std::string(argv[1]) + " cannot be written");
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
