// The manifest of a pack: what it holds, and where and when it was made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/result.h"

namespace mixstack::pack {

struct ManifestRuntime {
  std::string kind, version, module_path;
};

struct Manifest {
  std::string tool;    ///< mixstack's version
  std::string time;    ///< ISO 8601, UTC
  std::string host;    ///< name of the machine
  std::string kernel;  ///< uname: system, release
  std::string cpu;     ///< of the process
  std::string source;  ///< "process" or "core"
  std::string form;    ///< "small" or "full"
  std::uint32_t pid = 0;
  std::string name;  ///< the kernel's short name of the process
  std::string executable;
  std::uint64_t threads = 0;
  std::int64_t pause_ns = 0;
  std::vector<ManifestRuntime> runtimes;
  std::vector<std::string> left_out;          ///< sentences
  std::vector<std::string> left_out_codes{};  ///< the same as stable names, in the same order
  std::vector<std::string> command_line;      ///< only when asked for
  std::vector<std::string> environment;       ///< only when asked for
};

/// A JSON document for people and programs. Bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string manifest_json(const Manifest& manifest);

/// Whether this is the manifest of a pack that we can read: JSON, not deeper and not longer than ours are, with a
/// version that we know. Errors: those of base/words/pack_fault.h.
[[nodiscard]] Result<void> check_manifest(std::string_view json);

}  // namespace mixstack::pack
