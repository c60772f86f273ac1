// Decides whether to search a heap: announces the stop of the process, or refuses it if it would be long.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "frontends/cli/program.h"

namespace mixstack::cli {

/// Default of `--heap-limit`, in bytes.
inline constexpr std::uint64_t kHeapLimit = std::uint64_t{2} << 30;

/// "512M", "8G", "100K": bytes.
[[nodiscard]] std::optional<std::uint64_t> byte_size(std::string_view text);
/// Reads --heap-limit; empty text: kHeapLimit. Returns "" or the error for the user.
[[nodiscard]] std::string read_heap_limit(const std::string& text, bool has_heap, std::uint64_t& out);
/// For `DumpOptions::heap`. For a process it prints on standard error how long the stop will take, or above the limit
/// why the heap is not searched. `environment` is borrowed.
[[nodiscard]] std::function<bool(std::uint64_t)> heap_question(bool is_process, std::uint64_t limit,
                                                               const Environment& environment);

}  // namespace mixstack::cli
