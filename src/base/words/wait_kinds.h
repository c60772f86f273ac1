// Facts shared by all waits of a kind: names, role of the owners, conclusions allowed.
#pragma once

#include <span>
#include <string_view>

#include "mixstack/waits.h"

namespace mixstack {

/// The relation of the owners to the thing that a thread waits for.
enum class OwnerRole : std::uint8_t {
  holder,  ///< they hold it
  runner,  ///< they run it
  thread,  ///< they are the threads that must end
};

struct WaitKindFacts {
  WaitKind kind;
  std::string_view name;    ///< in JSON; a test compares both schemas with these
  std::string_view phrase;  ///< "waits for ...", before the type of an object; may end with a comma
  OwnerRole role = OwnerRole::holder;
  bool is_of_tasks = false;       ///< for the end of tasks
  bool is_for_any = false;        ///< for any of several: no single owner blocks the thread
  bool is_for_an_end = false;     ///< the thread may have nothing else to do, like a host that waits for its services
  bool is_told_by_call = false;   ///< the system call says the same
  bool object_is_a_place = true;  ///< the object's address is useful to people
};

/// The table, in the order of `WaitKind`, without `none`.
[[nodiscard]] std::span<const WaitKindFacts> wait_kinds();
/// The facts of a kind; for `none` empty words.
[[nodiscard]] const WaitKindFacts& facts_of(WaitKind kind);

}  // namespace mixstack
