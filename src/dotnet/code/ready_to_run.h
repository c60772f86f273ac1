// Precompiled (ReadyToRun) images: from an address to the row, the method and the funclet.
#pragma once

#include <vector>

#include "dotnet/code/exception_clauses.h"
#include "dotnet/code/function_table.h"
#include "dotnet/code/inlining_table.h"
#include "dotnet/code/range_sections.h"
#include "mixstack/frame.h"

namespace mixstack::dotnet {

/// The code at an address of a precompiled image.
struct ReadyToRunCode {
  bool is_thunk = false;  ///< a delay-load thunk: no method, no row
  FuncletKind funclet = FuncletKind::none;
  bool is_cold = false;      ///< in the cold part of a split method
  FunctionRow row;           ///< the one that unwinds this address
  Address method_start = 0;  ///< of the hot part
  Address origin = 0;        ///< what offsets in the method's tables are counted from here; 0: not known
  Address method_desc = 0;   ///< 0: the runtime has not prepared a method here; never a neighbour's
};

/// The tables of one image, composite or not. Reads through the memory it is given on each call; holds addresses only.
/// Sources: docs/design/coreclr/botr/readytorun-format.md; ReadyToRunJitManager in src/coreclr/vm/codeman.cpp.
class ReadyToRunImage {
 public:
  [[nodiscard]] static Result<ReadyToRunImage> open(const RuntimeMemory& memory, const RangeSection& section);

  /// `not_found`: no code of this image there. Errors of reading otherwise.
  [[nodiscard]] Result<ReadyToRunCode> find(const RuntimeMemory& memory, Address pc) const;

  /// Where the debug information of the method that starts at `method_start` lies. `not_found`: it has none.
  [[nodiscard]] Result<Address> debug_info(const RuntimeMemory& memory, Address method_start) const;

  /// The table of inlined methods. `not_found`: none (composite images, whose tables number modules in another way, are
  /// not read).
  [[nodiscard]] Result<InliningTable> inlining(const RuntimeMemory& memory) const;

  /// Whether the runtime's record of this image agrees with the image's own header, and its entry points are methods: a
  /// wrong layout would fail here. `unreadable_memory`: cannot be decided.
  [[nodiscard]] Result<bool> agrees_with_header(const RuntimeMemory& memory) const;

  [[nodiscard]] Address base() const { return functions_.image_base; }
  /// Major version of the image's format; 0: not known.
  [[nodiscard]] std::uint16_t major_version() const { return major_version_; }
  [[nodiscard]] const FunctionTable& functions() const { return functions_; }
  /// The table of slots for what lies outside (READYTORUN_IMPORT_SECTION); empty: none.
  [[nodiscard]] AddressRange import_sections() const {
    return {base() + imports_.rva, base() + imports_.rva + imports_.size};
  }

  static constexpr std::uint32_t kMaxSections = 64;
  static constexpr std::uint32_t kMaxComponents = 4096;

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
  /// The method that a funclet is of, and which of its handlers it is.
  struct Owner {
    std::uint32_t method = 0;  ///< relative to the image
    FuncletKind kind = FuncletKind::none;
  };
  /// The last method with exception clauses that begins at `rva` or before.
  struct Handlers {
    std::uint32_t method = 0;
    ClauseTable clauses;
  };
  [[nodiscard]] Result<Handlers> handlers_in(const RuntimeMemory& memory, const Directory& table,
                                             std::uint32_t rva) const;
  [[nodiscard]] Result<Owner> owner_of_funclet(const RuntimeMemory& memory, std::uint32_t rva) const;
  /// `none`: no clause of the method names the offset.
  [[nodiscard]] FuncletKind cold_funclet(const RuntimeMemory& memory, std::uint32_t method, std::uint32_t offset) const;
  void describe_cold(const RuntimeMemory& memory, const HotCold& parts, ReadyToRunCode& code) const;
  void resolve_method(const RuntimeMemory& memory, std::uint32_t first_row_index, ReadyToRunCode& code) const;

  FunctionTable functions_;
  Address entry_points_ = 0;
  Address hot_cold_map_ = 0;
  std::uint32_t hot_cold_count_ = 0;  // 32-bit words
  Directory thunks_, debug_info_, rows_, inlining_, imports_;
  std::uint16_t major_version_ = 0;
  bool is_composite_ = false, has_modules_ = false;
  std::vector<Directory> exception_tables_;  // of the image and of each component
};

}  // namespace mixstack::dotnet
