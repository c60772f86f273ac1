// Files by build id from debuginfod servers.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "mixstack/diagnosis.h"
#include "object/elf_image.h"

namespace mixstack::target {

/// Asks debuginfod-find(1), which goes by the environment (DEBUGINFOD_URLS), checks nothing, keeps what it gets and
/// prints where. All questions together may take so long; after that none is asked. Thread-safe: one question at a
/// time.
class Debuginfod {
 public:
  enum class Kind : std::uint8_t { executable, debuginfo };

  /// Without a program, or with one that others could have written, nothing is ever asked.
  explicit Debuginfod(std::string program, std::chrono::milliseconds all = std::chrono::seconds(60));

  /// Path of the file on this machine, empty: there is none. Whether it is the right one the caller proves.
  [[nodiscard]] std::string find(Kind kind, const object::BuildId& build_id);
  /// Why the program is not run.
  [[nodiscard]] const std::optional<Diagnosis>& refused_program() const { return refused_program_; }
  /// Questions that were not asked, or not answered, because the time was over.
  [[nodiscard]] unsigned given_up() const;

 private:
  std::string program_;
  std::optional<Diagnosis> refused_program_;
  mutable std::mutex mutex_;
  std::chrono::steady_clock::duration left_;
  unsigned given_up_ = 0;
};

}  // namespace mixstack::target
