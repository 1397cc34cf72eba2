// The file of a saved program: a zip archive of uncompressed members at multiples of 64 bytes, mapped and read where it
// lies.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace tandem::program {

/// Members by name. What they view lives as long as this.
class Archive {
 public:
  /// Error naming the path where it cannot be read, is no zip archive, or has members that are compressed, lie outside
  /// the file or have one name. Weights that are not in the file are mapped from the file beside it (`besideOf`).
  static Archive open(const std::string& path);
  /// The same of a file's bytes, which `owner` keeps; `name` is for errors.
  static Archive read(std::string_view bytes, std::shared_ptr<const void> owner, const std::string& name);
  /// Members that lie in memory, which `owner` keeps.
  Archive(std::map<std::string, std::string_view, std::less<>> members, std::shared_ptr<const void> owner)
      : members_(std::move(members)), owner_(std::move(owner)) {}

  [[nodiscard]] bool has(std::string_view name) const { return members_.contains(name); }
  /// ValueError where there is no such member.
  [[nodiscard]] std::string_view member(std::string_view name) const;
  [[nodiscard]] const std::map<std::string, std::string_view, std::less<>>& members() const { return members_; }
  /// Are the weights those of another file?
  [[nodiscard]] bool weightsAreBeside() const { return weightsAreBeside_; }

 private:
  std::map<std::string, std::string_view, std::less<>> members_;
  std::shared_ptr<const void> owner_;
  bool weightsAreBeside_ = false;
};

inline constexpr std::string_view kManifest = "manifest";
inline constexpr std::string_view kWeights = "weights.safetensors";
inline constexpr std::string_view kSignature = "signature";

/// The file that has the weights of a program at `path`, where the program has not.
std::string besideOf(const std::string& path);
/// Where the code for a target is, and that of a kernel.
std::string codeFolder(std::string_view target);
std::string codeMember(std::string_view target, std::string_view symbol);
/// 32 bytes.
std::string sha256(std::string_view bytes);
/// Did the owner of the public key (32 bytes) sign this? Ed25519.
bool isSigned(std::string_view bytes, std::string_view signature, std::string_view key);
/// The signature (64 bytes) of the owner of the secret key (32 bytes), and the public key that belongs to it.
/// ValueError where the secret key has another size.
std::string signatureOf(std::string_view bytes, std::string_view secret);
std::string publicKeyOf(std::string_view secret);

}  // namespace tandem::program
