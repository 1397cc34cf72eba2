#include "runtime/device/cpu/elf_loader.h"

#include <cmath>
#include <cstring>
#include <elf.h>
#ifdef __SANITIZE_ADDRESS__
#include <dlfcn.h>
#endif
#include <limits>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/mman.h>

#include "runtime/base/error.h"
#include "runtime/device/cpu/reduction_levels.h"

namespace tandem::cpu {

namespace {

struct Import {
  std::string_view name;
  void* address;
};

/// What instruction selection may call, all exact, hence the same on every machine, and the levels of reductions.
void* importAddress(std::string_view name) {
  using F32 = float (*)(float, float);
  using F64 = double (*)(double, double);
  static const Import imports[] = {
      {"fmodf", reinterpret_cast<void*>(static_cast<F32>(&::fmodf))},
      {"fmod", reinterpret_cast<void*>(static_cast<F64>(&::fmod))},
      {"memcpy", reinterpret_cast<void*>(&::memcpy)},
      {"memset", reinterpret_cast<void*>(&::memset)},
      {"memmove", reinterpret_cast<void*>(&::memmove)},
  };
  for (const Import& import : imports) {
    if (import.name == name) return import.address;
  }
#ifdef __SANITIZE_ADDRESS__
  if (name.starts_with("__asan_")) return dlsym(RTLD_DEFAULT, std::string(name).c_str());
#endif
  return findLevels(name);
}

/// jmp *[rip + 0], followed by the address: an import may lie further away than a call reaches.
constexpr std::size_t kStubSize = 16;
constexpr unsigned char kStubCode[6] = {0xff, 0x25, 0, 0, 0, 0};

/// One object: read, then copied to its place in memory, then relocated there.
class Object {
 public:
  /// Takes its place from `end` on, which it moves.
  Object(std::string_view bytes, std::uint64_t& end) : object_(bytes) {
    readSections();
    layOut(end);
  }

  /// Copies the object into the memory that begins at `memory` and is still writable.
  void place(unsigned char* memory) {
    memory_ = memory;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (placed_[i] == kAbsent) continue;
      std::memcpy(memory_ + placed_[i], object_.data() + sections_[i].sh_offset, sections_[i].sh_size);
    }
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type == SHT_RELA) relocate(section);
      require(section.sh_type != SHT_REL, "relocations without addends");
    }
  }

  [[nodiscard]] KernelFn function(std::string_view symbol) const {
    for (std::size_t i = 0; i < symbolCount_; ++i) {
      const auto s = read<Elf64_Sym>(symbolsAt_ + i * sizeof(Elf64_Sym));
      if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || s.st_shndx == SHN_UNDEF || nameOf(s) != symbol) continue;
      require(s.st_shndx < sections_.size() && (sections_[s.st_shndx].sh_flags & SHF_EXECINSTR) != 0,
              "the kernel's symbol is in no code");
      return reinterpret_cast<KernelFn>(definedAddress(s));
    }
    fail<InternalError>("kernel object: the kernel's symbol is missing");
  }

 private:
  static void require(bool ok, const char* what) {
    if (!ok) fail<InternalError>("kernel object: ", what);
  }
  void checkRange(std::uint64_t at, std::uint64_t size) const {
    require(at <= object_.size() && size <= object_.size() - at, "an offset lies outside the file");
  }
  template <class T>
  T read(std::uint64_t at) const {
    checkRange(at, sizeof(T));
    T value;
    std::memcpy(&value, object_.data() + at, sizeof(T));
    return value;
  }

  void readSections() {
    const auto header = read<Elf64_Ehdr>(0);
    require(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
                header.e_type == ET_REL && header.e_machine == EM_X86_64 && header.e_shentsize == sizeof(Elf64_Shdr),
            "not a relocatable x86-64 object");
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
      sections_.push_back(read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
    }
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB) continue;
      checkRange(section.sh_offset, section.sh_size);
      require(section.sh_link < sections_.size(), "a link to no section");
      symbolsAt_ = section.sh_offset;
      symbolCount_ = section.sh_size / sizeof(Elf64_Sym);
      const Elf64_Shdr& strings = sections_[section.sh_link];
      checkRange(strings.sh_offset, strings.sh_size);
      strings_ = object_.substr(strings.sh_offset, strings.sh_size);
    }
  }

  void layOut(std::uint64_t& end) {
    std::uint64_t size = end;
    std::uint64_t together = 0;
    placed_.assign(sections_.size(), kAbsent);
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& section = sections_[i];
      if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_size == 0) continue;
      require(section.sh_type == SHT_PROGBITS || section.sh_type == SHT_X86_64_UNWIND, "a section of unknown kind");
      require((section.sh_flags & SHF_WRITE) == 0, "writable data");
      checkRange(section.sh_offset, section.sh_size);
      together += section.sh_size;
      require(together <= object_.size(), "sections overlap");
      const std::uint64_t alignment = section.sh_addralign == 0 ? 1 : section.sh_addralign;
      require((alignment & (alignment - 1)) == 0 && alignment <= 4096, "an alignment that is none");
      size = (size + alignment - 1) / alignment * alignment;
      placed_[i] = size;
      size += section.sh_size;
    }
    size = (size + kStubSize - 1) / kStubSize * kStubSize;
    stubsAt_ = size;
    // At most one stub for each undefined symbol.
    end = size + symbolCount_ * kStubSize;
    stubOf_.assign(symbolCount_, kAbsent);
  }

  std::string_view nameOf(const Elf64_Sym& s) const {
    require(s.st_name <= strings_.size(), "a name outside the string table");
    const std::string_view rest = strings_.substr(s.st_name);
    return rest.substr(0, rest.find('\0'));
  }

  unsigned char* definedAddress(const Elf64_Sym& s) const {
    require(s.st_shndx < sections_.size() && placed_[s.st_shndx] != kAbsent, "a symbol in no loaded section");
    require(s.st_value <= sections_[s.st_shndx].sh_size, "a symbol outside its section");
    return memory_ + placed_[s.st_shndx] + s.st_value;
  }

  unsigned char* stub(std::size_t index, const Elf64_Sym& s) {
    if (stubOf_[index] == kAbsent) {
      void* const target = importAddress(nameOf(s));
      if (target == nullptr)
        fail<InternalError>("kernel object: import of `", nameOf(s), "`, which is not in the table");
      stubOf_[index] = stubsAt_ + index * kStubSize;
      unsigned char* at = memory_ + stubOf_[index];
      std::memcpy(at, kStubCode, sizeof(kStubCode));
      std::memcpy(at + sizeof(kStubCode), &target, sizeof(target));
    }
    return memory_ + stubOf_[index];
  }

  void relocate(const Elf64_Shdr& section) {
    require(section.sh_info < sections_.size(), "relocations of no section");
    if (placed_[section.sh_info] == kAbsent) return;
    const std::uint64_t targetSize = sections_[section.sh_info].sh_size;
    unsigned char* const base = memory_ + placed_[section.sh_info];
    for (std::uint64_t i = 0; i < section.sh_size / sizeof(Elf64_Rela); ++i) {
      const auto r = read<Elf64_Rela>(section.sh_offset + i * sizeof(Elf64_Rela));
      const std::uint32_t index = ELF64_R_SYM(r.r_info);
      const std::uint32_t type = ELF64_R_TYPE(r.r_info);
      require(index < symbolCount_, "a relocation against no symbol");
      const auto s = read<Elf64_Sym>(symbolsAt_ + index * sizeof(Elf64_Sym));
      const std::uint64_t width = type == R_X86_64_64 ? 8 : 4;
      require(r.r_offset <= targetSize && width <= targetSize - r.r_offset, "a relocation outside its section");
      unsigned char* const place = base + r.r_offset;
      // Unsigned, because a damaged addend may overflow.
      const auto symbol = reinterpret_cast<std::uint64_t>(s.st_shndx == SHN_UNDEF ? stub(index, s) : definedAddress(s));
      const std::uint64_t value = symbol + static_cast<std::uint64_t>(r.r_addend);
      switch (type) {
      case R_X86_64_64:
        std::memcpy(place, &value, 8);
        break;
      case R_X86_64_PC32:
      case R_X86_64_PLT32: {
        const auto distance = static_cast<std::int64_t>(value - reinterpret_cast<std::uint64_t>(place));
        const auto narrow = static_cast<std::int32_t>(distance);
        require(narrow == distance, "a relocation that does not reach");
        std::memcpy(place, &narrow, 4);
        break;
      }
      default:
        fail<InternalError>("kernel object: relocation of type ", type);
      }
    }
  }

  static constexpr std::uint64_t kAbsent = std::numeric_limits<std::uint64_t>::max();

  std::string_view object_;
  std::vector<Elf64_Shdr> sections_;
  std::string_view strings_;
  std::uint64_t symbolsAt_ = 0;
  std::size_t symbolCount_ = 0;
  std::vector<std::uint64_t> placed_;  // of each section, its offset in memory
  std::vector<std::uint64_t> stubOf_;
  std::uint64_t stubsAt_ = 0;
  unsigned char* memory_ = nullptr;
};

}  // namespace

LoadedCode::LoadedCode(std::span<const KernelObject> kernels) {
  std::vector<Object> objects;
  objects.reserve(kernels.size());
  std::uint64_t size = 0;
  for (const KernelObject& kernel : kernels) objects.emplace_back(kernel.object, size);
  if (kernels.empty()) return;
  if (size == 0) fail<InternalError>("kernel object: there is no code in it");
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t bytes = (size + page - 1) / page * page;
  // All of it is written at once: one call for all pages, not a fault for each.
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) fail<OutOfMemoryError>("no memory for ", size, " bytes of kernels");
  try {
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      objects[k].place(static_cast<unsigned char*>(memory));
      functions.push_back(objects[k].function(kernels[k].symbol));
    }
    if (::mprotect(memory, bytes, PROT_READ | PROT_EXEC) != 0) fail<Error>("kernel memory cannot be executed");
  } catch (...) {
    ::munmap(memory, bytes);
    throw;
  }
  memory_ = memory;
  bytes_ = bytes;
}

LoadedCode::~LoadedCode() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

KernelFn loadObject(std::string_view object, std::string_view symbol) {
  const KernelObject kernel{object, symbol};
  LoadedCode code({&kernel, 1});
  code.keep();
  return code.functions[0];
}

}  // namespace tandem::cpu
