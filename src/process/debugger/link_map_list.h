// The dynamic linker's list of loaded libraries, read out of a process that may be changing it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/memory/process_memory.h"
#include "mixstack/memory_reader.h"
#include "process/debugger/debug_event.h"

namespace mixstack::process {

/// Follows DT_DEBUG of the executable to struct r_debug and its link_map lists (System V gABI; layout of glibc's
/// <link.h>, which musl shares; r_version 2 and up has a next namespace). 64-bit programs only. Everything is bounded:
/// 4096 entries, 64 namespaces, paths of 4096 bytes.
class LinkMapList {
 public:
  LinkMapList() = default;
  /// `program_headers` and `program_header_count` as in the auxiliary vector.
  LinkMapList(Address program_headers, std::uint64_t program_header_count)
      : headers_(program_headers), header_count_(program_header_count) {}

  struct State {
    bool consistent = false;  ///< r_state of every namespace is RT_CONSISTENT
    std::vector<LoadedLibrary> libraries;
  };
  /// Errors: `not_found` (no dynamic section, or the linker has not begun), `unreadable_memory`, `limit_exceeded`,
  /// `malformed`, `process_changed` (it changed while it was read).
  [[nodiscard]] Result<State> read(const MemoryReader& memory, const std::string& executable);
  /// r_brk, or errors as above.
  [[nodiscard]] Result<Address> trap(const MemoryReader& memory);
  /// Whether everything that the last successful `read` has read is still the same, by one system call. (Names are not
  /// looked at: the linker does not change them.)
  [[nodiscard]] bool is_unchanged(const memory::BulkMemory& memory);

 private:
  struct Piece {
    Address at = 0;
    std::array<std::uint64_t, 6> words{};
    std::size_t count = 0;
  };
  static constexpr std::size_t kDebugWords = 6;
  using DebugWords = std::array<std::uint64_t, kDebugWords>;

  [[nodiscard]] Result<Address> debug_address(const MemoryReader& memory);
  [[nodiscard]] Result<Address> debug_slot(const MemoryReader& memory);
  [[nodiscard]] Result<Address> dynamic_section(const MemoryReader& memory) const;
  [[nodiscard]] static Result<DebugWords> read_debug(const MemoryReader& memory, Address at);
  [[nodiscard]] Result<void> read_chain(const MemoryReader& memory, Address first, State& state);
  [[nodiscard]] Result<void> read_lists(const MemoryReader& memory, Address debug, State& state);

  Address headers_ = 0;
  std::uint64_t header_count_ = 0;
  Address slot_ = 0;  ///< where DT_DEBUG's value lies, once found
  std::vector<Piece> seen_;
  std::vector<std::array<std::uint64_t, 6>> now_;
  std::vector<memory::RangeRead> reads_;
};

}  // namespace mixstack::process
