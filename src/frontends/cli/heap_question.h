// Decides whether to search a heap: announces the stop of the process, or refuses it if it would be long.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "frontends/cli/program.h"

namespace mixstack::cli {

class CommandLine;

/// Default of `--heap-limit`, in bytes.
inline constexpr std::uint64_t kHeapLimit = std::uint64_t{2} << 30;

/// --heap-limit; not given: kHeapLimit.
void declare_heap_limit(CommandLine& line, std::uint64_t& limit);
/// Returns "" or the error for the user.
[[nodiscard]] std::string check_heap_limit(const CommandLine& line, bool has_heap);
/// For `DumpOptions::heap`. For a process it prints on standard error how long the stop will take, or above the limit
/// why the heap is not searched. `environment` is borrowed.
[[nodiscard]] std::function<bool(std::uint64_t)> heap_question(bool is_process, std::uint64_t limit,
                                                               const Environment& environment);

}  // namespace mixstack::cli
