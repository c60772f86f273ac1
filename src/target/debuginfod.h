// Files by build id from debuginfod servers.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mixstack/diagnosis.h"
#include "object/elf_image.h"

namespace mixstack::target {

/// Asks debuginfod-find(1), which goes by the environment (DEBUGINFOD_URLS), keeps what it gets, does not look at it,
/// and prints where it is. Thread-safe: one question at a time.
class Debuginfod {
 public:
  enum class Kind : std::uint8_t { executable, debuginfo };

  /// Without a program nothing is ever asked, nor with one that others could have written (`base/trusted_file.h`). All
  /// questions together may take `all`; after that none is asked.
  explicit Debuginfod(std::string program, std::chrono::milliseconds all);

  /// Path of the file on this machine, empty: there is none. Whether it is the right one the caller proves.
  [[nodiscard]] std::string find(Kind kind, const object::BuildId& build_id);
  /// That the program is not run, and that the time is over.
  [[nodiscard]] std::vector<Diagnosis> diagnoses() const;

 private:
  std::string program_;
  std::optional<Diagnosis> refused_program_;
  mutable std::mutex mutex_;
  std::chrono::steady_clock::duration left_;
  unsigned given_up_ = 0;
};

}  // namespace mixstack::target
