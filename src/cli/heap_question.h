// Whether a heap is to be searched: said before the process stands still for it, refused where that would be long.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/program.h"

namespace mixstack::cli {

/// What is searched without being asked for by `--heap-limit`.
inline constexpr std::uint64_t kHeapLimit = std::uint64_t{2} << 30;

/// "512M", "8G", "100K": bytes.
[[nodiscard]] std::optional<std::uint64_t> byte_size(std::string_view text);
/// Of --heap-limit; empty text: kHeapLimit. An empty answer when all is well.
[[nodiscard]] std::string read_heap_limit(const std::string& text, bool has_heap, std::uint64_t& out);
/// For `DumpOptions::heap`. Writes to standard error: of a process how long it will stand still, about; why not, above
/// the limit. `environment` is borrowed.
[[nodiscard]] std::function<bool(std::uint64_t)> heap_question(bool is_process, std::uint64_t limit,
                                                               const Environment& environment);

}  // namespace mixstack::cli
