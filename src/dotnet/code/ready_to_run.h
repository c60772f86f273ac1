// Precompiled (ReadyToRun) images: from an address to the row, the method and the funclet.
#pragma once

#include <vector>

#include "dotnet/code/function_table.h"
#include "dotnet/code/range_sections.h"

namespace mixstack::dotnet {

/// What lies at an address of a precompiled image.
struct ReadyToRunCode {
  bool is_thunk = false;  ///< a delay-load thunk: no method, no row
  bool is_funclet = false;
  bool is_cold = false;      ///< in the cold part of a split method
  FunctionRow row;           ///< the one that unwinds this address
  Address method_start = 0;  ///< of the hot part
  Address method_desc = 0;   ///< 0: the runtime has not prepared a method here; never a neighbour's
};

/// The tables of one image, composite or not. Reads through the memory it is given on each call; holds addresses only.
/// Sources: docs/design/coreclr/botr/readytorun-format.md; ReadyToRunJitManager in src/coreclr/vm/codeman.cpp.
class ReadyToRunImage {
 public:
  [[nodiscard]] static Result<ReadyToRunImage> open(const RuntimeMemory& memory, const RangeSection& section);

  /// `not_found`: no code of this image there. Errors of reading otherwise.
  [[nodiscard]] Result<ReadyToRunCode> find(const RuntimeMemory& memory, Address pc) const;

  [[nodiscard]] Address base() const { return functions_.image_base; }
  [[nodiscard]] const FunctionTable& functions() const { return functions_; }

  static constexpr std::uint32_t kMaxSections = 64;
  static constexpr std::uint32_t kMaxComponents = 4096;
  static constexpr std::uint32_t kMaxClauses = 4096;

 private:
  struct Directory {
    std::uint32_t rva = 0, size = 0;
  };
  /// The cold row a row belongs to, and its hot row.
  struct HotCold {
    bool is_cold = false;
    std::uint32_t hot = 0, cold = 0;
  };
  [[nodiscard]] Result<HotCold> hot_cold(const RuntimeMemory& memory, std::uint32_t index) const;
  void read_sections(const RuntimeMemory& memory, Address sections, std::uint32_t count);
  void read_header(const RuntimeMemory& memory, Address header);
  [[nodiscard]] Result<std::uint32_t> owner_of_funclet(const RuntimeMemory& memory, std::uint32_t rva) const;
  [[nodiscard]] Result<std::uint32_t> owner_in(const RuntimeMemory& memory, const Directory& table,
                                               std::uint32_t rva) const;
  void resolve_method(const RuntimeMemory& memory, std::uint32_t first_row_index, ReadyToRunCode& code) const;

  FunctionTable functions_;
  Address entry_points_ = 0;
  Address hot_cold_map_ = 0;
  std::uint32_t hot_cold_count_ = 0;  // 32-bit words
  Directory thunks_;
  std::vector<Directory> exception_tables_;  // of the image and of each component
};

}  // namespace mixstack::dotnet
