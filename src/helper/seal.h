// What the helper gives up before it runs a line of foreign code.
#pragma once

#include <sys/types.h>

#include <optional>

namespace mixstack::helper {

/// From the command line: `--serve PARENT UID GID`.
struct Orders {
  pid_t parent = 0;
  uid_t uid = 0;  ///< whom to become when started as root
  gid_t gid = 0;
};
[[nodiscard]] std::optional<Orders> parse_orders(int argc, char** argv);

/// Ends with the parent; no descriptors but the two agreed on; no core files; bounded memory; the target's user and no
/// capability when started with more; no way to gain privileges again. False when any of it failed: then nothing must
/// be loaded.
[[nodiscard]] bool seal(const Orders& orders);

}  // namespace mixstack::helper
