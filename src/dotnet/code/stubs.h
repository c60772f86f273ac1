// Code the runtime generates that is no method: precode, dispatch stubs, jump stubs.
#pragma once

#include <array>
#include <string_view>

#include "dotnet/code/range_sections.h"

namespace mixstack::dotnet {

/// StubCodeBlockKind of src/coreclr/vm/codeman.h, with the two kinds of precode blocks split by the type byte that
/// each stub precode carries (PrecodeStubs contract).
enum class StubKind : std::uint8_t {
  unknown,
  jump_stub,
  precode,
  dynamic_helper,
  stub_precode,
  fixup_precode,
  vsd_dispatch,
  vsd_resolve,
  vsd_lookup,
  vsd_vtable,
  method_call_thunk,
  pinvoke_import_precode,
  this_ptr_ret_buf_precode,
  um_entry_precode,
  other_precode
};
/// "fixup precode", "dispatch stub", ...
[[nodiscard]] std::string_view stub_kind_name(StubKind kind);
/// From the runtime's number; `unknown` for unassigned numbers.
[[nodiscard]] StubKind stub_kind_of_block(std::uint64_t number);

struct Stub {
  StubKind kind = StubKind::unknown;
  Address start = 0;        ///< entry point of the stub, 0 when not known
  Address method_desc = 0;  ///< the method a precode stands for, 0 when none or not known
};

/// Recognises precode by the byte patterns the runtime publishes (PlatformMetadata, PrecodeStubs version 3). Immutable
/// after construction.
class PrecodeStubs {
 public:
  PrecodeStubs() = default;
  /// Reads the machine descriptor once. Without it (or with impossible sizes) nothing is ever recognised.
  explicit PrecodeStubs(const RuntimeMemory& memory);

  [[nodiscard]] bool usable() const { return page_size_ != 0; }
  /// The precode that holds `pc`, proved by its bytes; `not_found` when the bytes there are no precode.
  [[nodiscard]] Result<Stub> find(const RuntimeMemory& memory, const RangeSection& section, Address pc) const;

 private:
  static constexpr unsigned kMaxStub = 24;  // room for both patterns in PrecodeMachineDescriptor
  struct Pattern {
    std::array<std::byte, kMaxStub> bytes{}, ignored{};
    unsigned size = 0;
  };
  [[nodiscard]] static Pattern read_pattern(const RuntimeMemory& memory, Address at, Field size, Field bytes,
                                            Field ignored);
  [[nodiscard]] Address entry_before(const Pattern& pattern, const RangeSection& section, Address pc) const;
  [[nodiscard]] static bool matches(const RuntimeMemory& memory, const Pattern& pattern, Address entry);
  [[nodiscard]] Result<Stub> stub_precode(const RuntimeMemory& memory, Address entry) const;

  Pattern stub_, fixup_;
  std::uint32_t page_size_ = 0;
  std::uint8_t stub_type_ = 0, pinvoke_type_ = 0, ret_buf_type_ = 0, um_entry_type_ = 0;
};

}  // namespace mixstack::dotnet
