#include "tests/emulation/driver/object.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <limits>
#include <span>
#include <unistd.h>
#include <vector>

#include <sys/mman.h>

#include "tests/emulation/shim_text.h"

namespace tandem::emulation {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAbsent = std::numeric_limits<std::size_t>::max();
/// jmp *[rip + 0], followed by the address: an import may lie further away than a call reaches.
constexpr unsigned char kStub[8] = {0xff, 0x25, 0, 0, 0, 0, 0x90, 0x90};
constexpr std::size_t kStubSize = 16;

std::size_t roundUp(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

struct Import {
  std::string_view name;
  void* address;
};

template <class F>
void* addressOf(F* function) {
  return reinterpret_cast<void*>(function);
}

/// What the host's compiler may call, and exact functions that texts call.
void* importAddress(std::string_view name) {
  using F = float(float, float);
  using D = double(double, double);
  using FI = float(float, int);
  using DI = double(double, int);
  static const Import imports[] = {
      {"memcpy", addressOf<void*(void*, const void*, std::size_t)>(&std::memcpy)},
      {"memmove", addressOf<void*(void*, const void*, std::size_t)>(&std::memmove)},
      {"memset", addressOf<void*(void*, int, std::size_t)>(&std::memset)},
      {"memcmp", addressOf<int(const void*, const void*, std::size_t)>(&std::memcmp)},
      {"printf", addressOf<int(const char*, ...)>(&std::printf)},
      {"puts", addressOf<int(const char*)>(&std::puts)},
      {"putchar", addressOf<int(int)>(&std::putchar)},
      {"fmodf", addressOf<F>(&::fmodf)},
      {"fmod", addressOf<D>(&::fmod)},
      {"remainderf", addressOf<F>(&::remainderf)},
      {"remainder", addressOf<D>(&::remainder)},
      {"nextafterf", addressOf<F>(&::nextafterf)},
      {"nextafter", addressOf<D>(&::nextafter)},
      {"ldexpf", addressOf<FI>(&::ldexpf)},
      {"ldexp", addressOf<DI>(&::ldexp)},
      {"scalbnf", addressOf<FI>(&::scalbnf)},
      {"scalbn", addressOf<DI>(&::scalbn)},
      {"frexpf", addressOf<float(float, int*)>(&::frexpf)},
      {"frexp", addressOf<double(double, int*)>(&::frexp)},
      {"modff", addressOf<float(float, float*)>(&::modff)},
      {"modf", addressOf<double(double, double*)>(&::modf)},
      {"roundf", addressOf<float(float)>(&::roundf)},
      {"round", addressOf<double(double)>(&::round)},
      {"logbf", addressOf<float(float)>(&::logbf)},
      {"logb", addressOf<double(double)>(&::logb)},
      {"ilogbf", addressOf<int(float)>(&::ilogbf)},
      {"ilogb", addressOf<int(double)>(&::ilogb)},
      {"sqrtf", addressOf<float(float)>(&::sqrtf)},
      {"sqrt", addressOf<double(double)>(&::sqrt)},
  };
  for (const Import& import : imports) {
    if (import.name == name) return import.address;
  }
  return nullptr;
}

/// The kernel whose variable is in a section `.bss._ZZ<length><kernel>E<variable>`; empty where it is no kernel's.
std::string kernelOf(std::string_view section) {
  constexpr std::string_view kLocal = ".bss._ZZ";
  if (!section.starts_with(kLocal)) return {};
  section.remove_prefix(kLocal.size());
  std::size_t length = 0;
  while (!section.empty() && section[0] >= '0' && section[0] <= '9') {
    length = length * 10 + static_cast<std::size_t>(section[0] - '0');
    section.remove_prefix(1);
  }
  return length < section.size() && section[length] == 'E' ? std::string(section.substr(0, length)) : std::string();
}

}  // namespace

/// An object being placed. Texts of what is wrong are thrown within this file.
class Placing {
 public:
  explicit Placing(std::string_view object) : object_(object) {}

  void readSections() {
    const auto header = read<Elf64_Ehdr>(0);
    require(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_REL &&
                header.e_machine == EM_X86_64 && header.e_shentsize == sizeof(Elf64_Shdr),
            "it is no object of NVRTC's stand-in");
    for (std::size_t i = 0; i < header.e_shnum; ++i)
      sections_.push_back(read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
    require(header.e_shstrndx < sections_.size(), "its sections have no names");
    sectionNames_ = stringsOf(sections_[header.e_shstrndx]);
    for (const Elf64_Shdr& s : sections_) {
      require(s.sh_type != SHT_INIT_ARRAY, "a variable is initialised when the program starts");
      require((s.sh_flags & SHF_TLS) == 0, "a variable is thread_local");
      if (s.sh_type != SHT_SYMTAB) continue;
      require(s.sh_link < sections_.size(), "a link to no section");
      for (std::size_t i = 0; i < s.sh_size / sizeof(Elf64_Sym); ++i)
        symbols_.push_back(read<Elf64_Sym>(s.sh_offset + i * sizeof(Elf64_Sym)));
      names_ = stringsOf(sections_[s.sh_link]);
    }
  }

  /// Code and constants first, then data from a page of its own on, shared variables last.
  void layOut() {
    places_.assign(sections_.size(), kAbsent);
    std::size_t end = 0;
    place(end, [](const Elf64_Shdr& s) { return (s.sh_flags & SHF_WRITE) == 0; });
    stubsAt_ = end = roundUp(end, kStubSize);
    end += symbols_.size() * kStubSize;
    codeSize = end = roundUp(end, kPage);
    place(end, [](const Elf64_Shdr& s) { return !isShared(s); });
    for (const Elf64_Shdr& s : sections_)
      require((s.sh_flags & SHF_ALLOC) == 0 || !isShared(s) || s.sh_type == SHT_NOBITS,
              "a __shared__ variable has an initialiser");
    place(end, isShared);
    bytes = roundUp(std::max(end, std::size_t{1}), kPage);
  }

  void copyTo(unsigned char* memory) {
    memory_ = memory;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& s = sections_[i];
      if (places_[i] == kAbsent || s.sh_type == SHT_NOBITS) continue;
      require(s.sh_offset + s.sh_size <= object_.size(), "a section outside the object");
      std::memcpy(memory_ + places_[i], object_.data() + s.sh_offset, s.sh_size);
    }
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type == SHT_RELA && s.sh_info < sections_.size() && places_[s.sh_info] != kAbsent) relocate(s);
    }
  }

  const void* find(std::string_view name) const {
    for (const Elf64_Sym& s : symbols_) {
      if (s.st_shndx != SHN_UNDEF && nameOf(s) == name) return addressOfDefined(s);
    }
    throw std::string("it lacks " + std::string(name));
  }

  std::size_t bytes = 0;
  std::size_t codeSize = 0;

  /// What is where, once it is copied.
  void list(std::vector<LoadedObject::Shared>& shared, std::vector<LoadedObject::Code>& code) const {
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& s = sections_[i];
      if (places_[i] == kAbsent) continue;
      unsigned char* const at = memory_ + places_[i];
      if (isShared(s)) shared.push_back({kernelOf(sectionName(s)), at, s.sh_size});
      if ((s.sh_flags & SHF_EXECINSTR) != 0) code.push_back({std::string(sectionName(s)), at, s.sh_size});
    }
  }

 private:
  static void require(bool ok, const char* what) {
    if (!ok) throw std::string(what);
  }
  template <class T>
  T read(std::size_t at) const {
    require(at <= object_.size() && sizeof(T) <= object_.size() - at, "an offset lies outside the object");
    T value;
    std::memcpy(&value, object_.data() + at, sizeof(T));
    return value;
  }
  static bool isShared(const Elf64_Shdr& s) {
    return (s.sh_flags & SHF_WRITE) != 0 && s.sh_addralign >= kSharedAlignment;
  }
  template <class Is>
  void place(std::size_t& end, Is&& is) {
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& s = sections_[i];
      if ((s.sh_flags & SHF_ALLOC) == 0 || s.sh_size == 0 || places_[i] != kAbsent || !is(s)) continue;
      places_[i] = roundUp(end, std::max<std::size_t>(s.sh_addralign, 1));
      end = places_[i] + s.sh_size;
    }
  }
  std::string_view stringsOf(const Elf64_Shdr& section) const {
    require(section.sh_offset + section.sh_size <= object_.size(), "names outside the object");
    return object_.substr(section.sh_offset, section.sh_size);
  }
  static std::string_view nameAt(std::string_view names, std::size_t at) {
    const std::string_view rest = names.substr(std::min(at, names.size()));
    return rest.substr(0, rest.find('\0'));
  }
  std::string_view nameOf(const Elf64_Sym& s) const { return nameAt(names_, s.st_name); }
  std::string_view sectionName(const Elf64_Shdr& s) const { return nameAt(sectionNames_, s.sh_name); }
  unsigned char* addressOfDefined(const Elf64_Sym& s) const {
    require(s.st_shndx < sections_.size() && places_[s.st_shndx] != kAbsent, "a symbol in no loaded section");
    return memory_ + places_[s.st_shndx] + s.st_value;
  }
  unsigned char* stub(std::size_t index, const Elf64_Sym& s) const {
    void* const target = importAddress(nameOf(s));
    if (target == nullptr) throw "it calls " + std::string(nameOf(s)) + ", which no kernel can";
    unsigned char* at = memory_ + stubsAt_ + index * kStubSize;
    std::memcpy(at, kStub, 8);
    // The address is where the jump looks for it: right behind its six bytes.
    std::memcpy(at + 6, static_cast<const void*>(&target), sizeof(target));
    return at;
  }
  void relocate(const Elf64_Shdr& section) {
    unsigned char* const base = memory_ + places_[section.sh_info];
    for (std::size_t i = 0; i < section.sh_size / sizeof(Elf64_Rela); ++i) {
      const auto r = read<Elf64_Rela>(section.sh_offset + i * sizeof(Elf64_Rela));
      const std::size_t index = ELF64_R_SYM(r.r_info);
      require(index < symbols_.size(), "a relocation against no symbol");
      const Elf64_Sym& s = symbols_[index];
      require(r.r_offset <= sections_[section.sh_info].sh_size, "a relocation outside its section");
      unsigned char* const at = base + r.r_offset;
      const unsigned char* const symbol = s.st_shndx == SHN_UNDEF ? stub(index, s) : addressOfDefined(s);
      const std::int64_t value = reinterpret_cast<std::int64_t>(symbol) + r.r_addend;
      const std::int64_t distance = value - reinterpret_cast<std::int64_t>(at);
      const auto narrow = static_cast<std::int32_t>(distance);
      switch (ELF64_R_TYPE(r.r_info)) {
      case R_X86_64_64:
        std::memcpy(at, &value, 8);
        break;
      case R_X86_64_PC64:
        std::memcpy(at, &distance, 8);
        break;
      case R_X86_64_PC32:
      case R_X86_64_PLT32:
        require(narrow == distance, "a relocation that does not reach");
        std::memcpy(at, &narrow, 4);
        break;
      default:
        throw "a relocation of type " + std::to_string(ELF64_R_TYPE(r.r_info));
      }
    }
  }

  std::string_view object_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::string_view names_, sectionNames_;
  std::vector<std::size_t> places_;  // of each section, where it is in memory
  std::size_t stubsAt_ = 0;
  unsigned char* memory_ = nullptr;
};

std::string LoadedObject::ofText(const char* image) {
  std::string object;
  const std::string_view mark = kTextObject;
  if (std::strncmp(image, mark.data(), mark.size()) != 0) return object;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (const char* at = image + mark.size(); at[0] != 0 && at[1] != 0; at += 2)
    object += static_cast<char>(digit(at[0]) << 4 | digit(at[1]));
  return object;
}

std::size_t LoadedObject::sizeOf(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  // The assembler writes the section headers last.
  return header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
}

std::string LoadedObject::load(std::string_view object) {
  try {
    Placing placing(object);
    placing.readSections();
    placing.layOut();
    void* memory = ::mmap(nullptr, placing.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return "there is no memory for it";
    memory_ = static_cast<unsigned char*>(memory);
    bytes_ = placing.bytes;
    placing.copyTo(memory_);
    placing.list(shared_, code_);
    object_ = object;
    record_ = static_cast<const ModuleRecord*>(placing.find("tandemModule"));
    if (record_->version != shimVersion()) return "it was made with another shim";
    if (::mprotect(memory_, placing.codeSize, PROT_READ | PROT_EXEC) != 0) return "its memory cannot be executed";
    return {};
  } catch (const std::string& what) {
    return what;
  }
}

LoadedObject::~LoadedObject() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

void LoadedObject::clearShared(std::string_view kernel) const {
  for (const Shared& s : shared_) {
    if (s.kernel.empty() || s.kernel == kernel) std::memset(s.at, 0xff, s.bytes);
  }
}

std::size_t LoadedObject::sharedBytes(std::string_view kernel) const {
  std::size_t bytes = 0;
  for (const Shared& s : shared_) {
    if (s.kernel == kernel) bytes += s.bytes;
  }
  return bytes;
}

std::string LoadedObject::lineOf(const void* instruction) const {
  for (const Code& c : code_) {
    const auto* at = static_cast<const unsigned char*>(instruction);
    if (at < c.at || at >= c.at + c.bytes) continue;
    char file[] = "/tmp/tandem_emulated_XXXXXX";
    const int fd = ::mkstemp(file);
    if (fd < 0) return {};
    const bool isWritten = ::write(fd, object_.data(), object_.size()) == static_cast<ssize_t>(object_.size());
    ::close(fd);
    std::string line;
    char command[200];
    std::snprintf(command, sizeof(command), "addr2line -s -e %s -j %s %tx 2>/dev/null", file, c.section.c_str(),
                  at - c.at);
    // NOLINTNEXTLINE(bugprone-command-processor): no part of the command comes from outside
    if (std::FILE* const pipe = isWritten ? ::popen(command, "r") : nullptr) {
      char text[256];
      if (std::fgets(text, sizeof(text), pipe) != nullptr) line = text;
      ::pclose(pipe);
    }
    ::unlink(file);
    // It may say more: `file:12 (discriminator 3)`.
    line.resize(std::min(line.find_first_of(" \n"), line.size()));
    return line.find('?') == std::string::npos ? line : std::string();
  }
  return {};
}

}  // namespace tandem::emulation
