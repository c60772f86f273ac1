// The parts of layouts. Each structure of the runtime has one struct here, its members named after the descriptor's
// fields; `describe` gives each name, and the contracts that need it:
//
//   names.type("Thread");                        the type; with a second argument, its size ("!")
//   names.field(id, "Id", Contract::thread);     a field, and the contracts that cannot be read without it
//   names.global(thread_store, "ThreadStore");   a global
//
// Comments only where the descriptor's name says too little. Names: src/coreclr/vm/datadescriptor/datadescriptor.inc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace mixstack::dotnet {

/// The contracts mixstack reads (docs/design/datacontracts/*.md in dotnet/runtime).
enum class Contract : std::uint8_t {
  thread,
  execution_manager,
  stack_walk,
  precode_stubs,
  platform_metadata,
  loader,
  ecma_metadata,
  runtime_type_system,
  object,
  exception,
  count
};
[[nodiscard]] std::string_view contract_name(Contract contract);

/// The offset of a field in its structure; absent where neither the runtime's descriptor nor the supplement has it.
struct Field {
  static constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t offset = kAbsent;
  [[nodiscard]] constexpr bool present() const { return offset != kAbsent; }
  constexpr explicit operator bool() const { return present(); }
  friend constexpr bool operator==(const Field&, const Field&) = default;
};

/// A global the descriptor may lack.
struct Global {
  std::uint64_t value = 0;
  bool known = false;
  constexpr explicit operator bool() const { return known; }
};

}  // namespace mixstack::dotnet
