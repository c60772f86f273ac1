// What the helper gives up before it runs a line of foreign code.
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
/// that a DAC needs are loaded before that, for afterwards no file can be opened: neither by its functions nor by its
/// constructors. False when any of it failed: then nothing must be loaded.
[[nodiscard]] bool seal(const Orders& orders);

}  // namespace mixstack::helper
