// What is the same of every wait of a kind: its names, who its owners are, what may be concluded from it.
#pragma once

#include <span>
#include <string_view>

#include "mixstack/waits.h"

namespace mixstack {

/// What those whom a thread waits for are to it.
enum class OwnerRole : std::uint8_t {
  holder,  ///< they hold it
  runner,  ///< they run it
  thread,  ///< it is they who have to end
};

struct WaitKindFacts {
  WaitKind kind;
  std::string_view name;    ///< of JSON: its schemas and docs/why.md list the same, a test compares them
  std::string_view phrase;  ///< "waits for ...", before the type of an object; may end with a comma
  OwnerRole role = OwnerRole::holder;
  bool is_of_tasks = false;       ///< for the end of tasks
  bool is_for_any = false;        ///< for any of several: nobody alone holds the thread up
  bool is_for_an_end = false;     ///< who waits so may have nothing else to do, as hosts wait for their services
  bool is_told_by_call = false;   ///< the system call says the same
  bool tells_its_timeout = true;  ///< false: not known whether it waits for ever
  bool object_is_a_place = true;  ///< the address of its object says something to people
};

/// The table; by the order of `WaitKind`, without `none`.
[[nodiscard]] std::span<const WaitKindFacts> wait_kinds();
/// Those of a kind; of `none` empty words.
[[nodiscard]] const WaitKindFacts& facts_of(WaitKind kind);

}  // namespace mixstack
