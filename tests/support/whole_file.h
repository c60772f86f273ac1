// A file read into memory, and where libraries of the system and of the framework are. For tests only.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/images/file_bytes.h"
#include "support/mapped_pe.h"

namespace mixstack::test {

class WholeFile final : public FileBytes {
 public:
  explicit WholeFile(const std::filesystem::path& path) : bytes_(read_file(path)) {}
  [[nodiscard]] std::span<const std::byte> bytes() const override { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// An absolute path as it is, else that of the framework's file of this name. Empty where there is none.
inline std::filesystem::path library_file(const std::string& name) {
  const std::filesystem::path path = name.starts_with('/') ? std::filesystem::path(name) : framework_file(name);
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) ? path : std::filesystem::path{};
}

/// Whether a test may go without it: no .NET is installed at all (the small ARM64 machine), or it is a library for
/// another CPU, which only machines that cross-compile have.
inline bool may_be_absent(const std::string& name) {
  return name.starts_with("/usr/aarch64-linux-gnu/") || framework_file("System.Private.CoreLib.dll").empty();
}

}  // namespace mixstack::test
