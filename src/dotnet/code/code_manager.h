// The runtime's code as a whole: what lies at an address and how it unwinds.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "dotnet/code/address_cache.h"
#include "dotnet/code/async_info.h"
#include "dotnet/code/gc_info_place.h"
#include "dotnet/code/il_map.h"
#include "dotnet/code/jit_code.h"
#include "dotnet/code/ready_to_run.h"
#include "dotnet/code/stubs.h"
#include "dotnet/code/variables.h"
#include "dotnet/contracts/contracts.h"
#include "dotnet/gcinfo/live_slots.h"
#include "engine/unwind/rule.h"
#include "engine/unwind/rule_source.h"

namespace mixstack::dotnet {

enum class CodeKind : std::uint8_t {
  none,  ///< not the runtime's, or nothing there; `error` says when that could not be decided
  jit,
  r2r,   ///< precompiled (ReadyToRun)
  stub,  ///< generated code that is no method
};

struct CodeInfo {
  CodeKind kind = CodeKind::none;
  StubKind stub = StubKind::unknown;
  FuncletKind funclet = FuncletKind::none;  ///< body of a handler or filter; its parent is the same method
  bool is_cold = false;
  bool is_collectible = false;           ///< may be freed while the target runs: check again after naming
  Address method_desc = 0;               ///< of a method, or of the method a precode stands for; 0: none or not known
  Address method_start = 0;              ///< start of the method's (hot) code, or of the stub
  Address origin = 0;                    ///< what offsets in the method's tables are counted from here; 0: not known
  Address function_begin = 0;            ///< of the row that unwinds the address: the method, funclet or fragment
  Address function_end = 0;              ///< 0 when not known
  Address unwind_info = 0;               ///< target address of the unwind data
  Address image_base = 0;                ///< what RVAs are relative to
  Address code_header = 0;               ///< RealCodeHeader of jitted code
  Address module = 0;                    ///< Module of precompiled code
  unwind::windows::RuntimeFunction row;  ///< relative to image_base
  Error error;                           ///< why nothing was found although the address is in a range of the runtime

  [[nodiscard]] bool is_funclet() const { return funclet != FuncletKind::none; }
  [[nodiscard]] bool is_managed() const { return kind == CodeKind::jit || kind == CodeKind::r2r; }
};

/// Answers what code is at an address, with caches that live as long as one capture. Not thread-safe: one per walking
/// thread; it borrows the reader inside `memory`. Everything read is bounded and checked; a torn or hostile heap gives
/// `none` with an error.
class CodeManager final : public unwind::RuleSource {
 public:
  /// `contracts` must admit ExecutionManager, else nothing is ever found.
  CodeManager(const RuntimeMemory& memory, const Contracts& contracts);

  /// The code at the address (looked up inside the call for a return address). The reference holds until the next call
  /// of any member. A hit in the cache takes some 10 ns.
  [[nodiscard]] const CodeInfo& find(CodeAddress pc);
  /// Whether the address is code of a method.
  [[nodiscard]] bool is_managed(CodeAddress pc) { return find(pc).is_managed(); }

  /// The rule that leads from the frame at `pc` to its caller, kept as long as the capture.
  [[nodiscard]] const unwind::CompactRule& compact(CodeAddress pc) override;
  /// The same, made anew. `not_found`: no method there.
  [[nodiscard]] Result<unwind::UnwindRule> general(CodeAddress pc) override;

  /// The IL that the code was made from. `not_found`: it was not recorded; other errors of reading or decoding.
  [[nodiscard]] Result<std::vector<IlMapRow>> il_map(const CodeInfo& info);

  /// Where its variables are kept. Errors as above.
  [[nodiscard]] Result<std::vector<VariableHome>> variables(const CodeInfo& info);

  /// The header of its GC info. Errors of reading or decoding.
  [[nodiscard]] Result<GcInfoHeader> gc_info(const CodeInfo& info);
  /// The slots that hold references at an offset from the method's origin. Errors as above; `limit_exceeded`: GC info
  /// without end.
  [[nodiscard]] Result<LiveSlots> live_slots(const CodeInfo& info, const LiveSlotsQuery& query);

  /// The address of the map (gc_ref_map.h) of the arguments that a call through a slot of an image's imports passes,
  /// for a callee that has not taken them yet. `not_found`: the slot is of no image, or its calls have no map.
  [[nodiscard]] Result<Address> gc_ref_map(Address slot);

  /// The places where it can be suspended, and the variables it keeps then (.NET 11). Errors as above.
  [[nodiscard]] Result<std::vector<SuspensionPoint>> suspension_points(const CodeInfo& info);

  /// The methods that the JIT inlined into it. `not_found`: the JIT was not told to record that.
  [[nodiscard]] Result<RichDebugInfo> rich_debug_info(const CodeInfo& info);

  /// The inlining table of the precompiled image; null: none that can be read. Valid until images are forgotten.
  [[nodiscard]] const InliningTable* inlining(const CodeInfo& info);

  /// Whether the code is never freed while its process lives and its image, if it is of one, is mapped: methods that
  /// are precompiled, and those jitted into heaps that are not collectible. (Lightweight methods and those of
  /// assemblies that can be unloaded are jitted into heaps of their own, whose RangeSection is marked:
  /// EECodeGenManager::NewCodeHeap in src/coreclr/vm/codeman.cpp. Methods that are compiled anew get new code beside
  /// the old.)
  [[nodiscard]] static bool is_kept(const CodeInfo& info);

  /// Forgets what was read, because methods may have been freed or replaced after a capture. Keeps what is known of
  /// methods that are never freed (is_kept).
  void clear();
  /// Forgets that, too: images were loaded or unloaded.
  void forget_images();
  /// clear(), then reads through another reader (the overlay of a new capture).
  void rebind(const RuntimeMemory& memory);
  [[nodiscard]] const RuntimeMemory& memory() const { return memory_; }
  [[nodiscard]] const PrecodeStubs& precode() const { return precode_; }

  static constexpr std::size_t kMaxCached = 1u << 16;  ///< addresses; then the cache starts anew

 private:
  /// Known code, and its rules.
  struct Known {
    AddressCache<CodeInfo> found{kMaxCached};                    // by looked-up address
    AddressCache<const unwind::CompactRule*> rules{kMaxCached};  // by raw address and how it was obtained
    // Few are different. They stay where they are until clear(): steppers keep pointers to them.
    std::deque<unwind::CompactRule> interned;
    std::unordered_multimap<std::uint64_t, const unwind::CompactRule*> by_hash;
    void clear();
    [[nodiscard]] const unwind::CompactRule* intern(const unwind::CompactRule& rule);
  };
  struct DebugInfo {
    Address blob = 0;
    const MemoryReader* memory = nullptr;
    DebugInfoWriter writer = DebugInfoWriter::jit;
    DebugInfoForm form = DebugInfoForm::bits;
  };
  [[nodiscard]] Result<DebugInfo> debug_info(const CodeInfo& info);
  [[nodiscard]] Result<GcInfoPlace> gc_info_place(const CodeInfo& info);
  [[nodiscard]] CodeInfo look_up(Address address);
  void describe_jit(const RangeSection& section, Address address, CodeInfo& info);
  void describe_ready_to_run(const RangeSection& section, Address address, CodeInfo& info);
  [[nodiscard]] Result<const ReadyToRunImage*> image_of(const RangeSection& section);
  void describe_stub(const RangeSection& section, Address address, CodeInfo& info);
  static void take_row(const FunctionRow& row, Address image_base, CodeInfo& info);

  RuntimeMemory memory_;
  bool usable_ = false;
  RangeSections ranges_;
  PrecodeStubs precode_;
  std::unordered_map<Address, ReadyToRunImage> images_;                 // by RangeSection address
  std::unordered_map<Address, std::optional<InliningTable>> inlining_;  // by the base of the image
  Known of_capture_, kept_;
};

}  // namespace mixstack::dotnet
