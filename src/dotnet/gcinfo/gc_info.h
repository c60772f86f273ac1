// The header of a method's GC info: the form of its frame, and the place of its generic context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack::dotnet {

/// The value from which a method of shared generic code knows its exact types.
enum class GenericContextKind : std::uint8_t {
  none,         ///< nothing is kept, or not for the whole of the method
  this_object,  ///< `this`: its type, or a base type of it, is the exact one
  method_desc,  ///< the MethodDesc of the exact instantiation
  type,         ///< the MethodTable of the exact type
};

/// Offsets of slots are in bytes from the frame base: `base_register` if there is one, else the stack pointer between
/// prologue and epilogue. (The same in versions 4 and 5, for code of .NET 9 and later.) In a funclet the base register
/// holds the same value as in the method.
struct GcInfoHeader {
  bool is_slim = false;     ///< the short form, of simple methods: has no more than lengths and a base register
  bool is_var_arg = false;  ///< takes a variable number of arguments
  /// x86-64: of a method and its funclets on one stack, only the innermost reports its slots. AArch64: has tail calls.
  bool has_leaf_or_tail_call_bit = false;
  std::uint32_t code_length = 0;  ///< bytes, funclets included
  /// Bytes at the start in which the context is not in its slot yet; 0: not recorded (no context, no cookie).
  std::uint32_t prologue_size = 0;
  std::uint32_t epilogue_size = 0;  ///< recorded with `gs_cookie_slot` only
  std::optional<std::int32_t> gs_cookie_slot;
  std::optional<std::int32_t> psp_sym_slot;  ///< version 4: where funclets find the frame of their method
  GenericContextKind context = GenericContextKind::none;
  std::int32_t context_slot = 0;          ///< where it is kept, if there is one
  std::optional<unsigned> base_register;  ///< numbered as the psABI does (mixstack/registers.h)
  std::optional<std::uint32_t> edit_and_continue_slots;
  std::optional<std::int32_t> reverse_pinvoke_slot;
  std::uint32_t outgoing_bytes = 0;  ///< at the stack pointer, for arguments of callees
  std::uint32_t safe_points = 0;     ///< calls that have a set of live slots
  std::uint32_t interruptible_ranges = 0;
  std::size_t body_bit = 0;  ///< where the list of safe points begins
};

/// No header is longer than this (bytes).
inline constexpr std::size_t kMostGcInfoHeader = 96;

/// Decodes the header at the start of `bytes`; kMostGcInfoHeader of them are enough. `version`: from the runtime's
/// global GCInfoVersion, or the version of the image. Errors: `unsupported` (version), `unsupported_cpu`, `truncated`,
/// `malformed` (no length, a prologue longer than the code, an unknown register).
/// Sources: docs/design/datacontracts/GCInfo.md, src/coreclr/inc/gcinfotypes.h.
[[nodiscard]] Result<GcInfoHeader> decode_gc_info_header(std::span<const std::byte> bytes, Arch arch,
                                                         std::uint32_t version);

}  // namespace mixstack::dotnet
