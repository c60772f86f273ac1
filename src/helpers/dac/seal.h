// Drops the helper's privileges and resources before it runs foreign code.
#pragma once

#include <sys/types.h>

#include <optional>

namespace mixstack::helper {

/// From the command line: `--serve PARENT`.
struct Orders {
  pid_t parent = 0;
};
[[nodiscard]] std::optional<Orders> parse_orders(int argc, char** argv);

/// Ends with the parent; no descriptors but the two agreed on and those of `file_answers.h`; no core files; bounded
/// memory; user nobody when started as root (a DAC lies beside the target's runtime, where the target's owner may have
/// put anything), no capability, no way to gain any, and only the system calls of `syscall_filter.h`. The libraries
/// that a DAC needs are loaded before that, because no file can be opened afterwards. False when a step failed: then
/// the caller must not load the DAC.
[[nodiscard]] bool seal(const Orders& orders);

}  // namespace mixstack::helper
