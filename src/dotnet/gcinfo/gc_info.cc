#include "dotnet/gcinfo/gc_info.h"

#include <array>
#include <limits>

#include "dotnet/gcinfo/bit_reader.h"
#include "dotnet/gcinfo/cpus.h"

namespace mixstack::dotnet {
namespace {

constexpr std::uint32_t kOldest = 4, kFirstWithoutPspSym = 5, kNewest = 5;

// GcInfoHeaderFlags.
constexpr unsigned kFlagBits = 10;
constexpr std::uint32_t kVarArg = 0x1, kGsCookie = 0x4, kPspSym = 0x8, kBaseRegister = 0x40, kLeafOrTailCall = 0x80,
                        kEditAndContinue = 0x100, kReversePinvoke = 0x200;
constexpr unsigned kContextShift = 4;  // two bits
constexpr std::array kContexts{GenericContextKind::none, GenericContextKind::type, GenericContextKind::method_desc,
                               GenericContextKind::this_object};

// Widths of the first group of a number; the same on all CPUs.
constexpr unsigned kCodeLength = 8, kPrologue = 5, kEpilogue = 3, kSlot = 6, kPreserved = 4, kOutgoing = 3, kRanges = 1;
constexpr unsigned kWordShift = 3;  // slots and sizes count words

class Decoder {
 public:
  Decoder(std::span<const std::byte> bytes, const GcInfoCpu& cpu, std::uint32_t version)
      : in_(bytes), cpu_(cpu), version_(version) {}

  Result<GcInfoHeader> header() {
    GcInfoHeader h;
    h.is_slim = in_.bits(1) == 0;
    std::uint32_t flags = h.is_slim ? in_.bits(1) * kBaseRegister : in_.bits(kFlagBits);
    h.code_length = scaled(in_.number(kCodeLength));
    if (h.is_slim && (flags & kBaseRegister) != 0) h.base_register = base_register(cpu_.frame_register);
    if (!h.is_slim) frame(flags, h);
    h.safe_points = in_.number(cpu_.safe_point_bits);
    if (!h.is_slim) h.interruptible_ranges = in_.number(kRanges);
    h.body_bit = in_.position();
    if (!in_.ok()) return fail(ErrorCode::truncated, h.body_bit);
    if (!is_ok_ || h.code_length == 0 || h.prologue_size > h.code_length || h.epilogue_size > h.code_length)
      return fail(ErrorCode::malformed, h.code_length);
    return h;
  }

 private:
  /// The fields that only the long form has.
  void frame(std::uint32_t flags, GcInfoHeader& h) {
    h.is_var_arg = (flags & kVarArg) != 0;
    h.has_leaf_or_tail_call_bit = (flags & kLeafOrTailCall) != 0;
    h.context = kContexts[flags >> kContextShift & 3];
    const bool has_cookie = (flags & kGsCookie) != 0, has_context = h.context != GenericContextKind::none;
    if (has_cookie || has_context) h.prologue_size = scaled(in_.number(kPrologue) + 1);
    if (has_cookie) h.epilogue_size = scaled(in_.number(kEpilogue));
    if (has_cookie) h.gs_cookie_slot = slot();
    if ((flags & kPspSym) != 0 && version_ < kFirstWithoutPspSym) h.psp_sym_slot = slot();
    if (has_context) h.context_slot = slot();
    if ((flags & kBaseRegister) != 0) {
      h.base_register = base_register(in_.number(cpu_.base_register_bits) ^ cpu_.frame_register);
      is_ok_ = is_ok_ && h.base_register.has_value();
    }
    if ((flags & kEditAndContinue) != 0) {
      h.edit_and_continue_slots = in_.number(kPreserved);
      if (cpu_.has_fixed_edit_frame) (void)in_.number(kPreserved);
    }
    if ((flags & kReversePinvoke) != 0) h.reverse_pinvoke_slot = slot();
    h.outgoing_bytes = shifted(in_.number(kOutgoing), kWordShift);
  }

  std::optional<unsigned> base_register(std::uint32_t number) const {
    return number < cpu_.registers.size() ? std::optional(cpu_.registers[number]) : std::nullopt;
  }
  std::int32_t slot() {
    constexpr std::int32_t kFurthest = std::numeric_limits<std::int32_t>::max() >> kWordShift;
    const std::int32_t words = in_.signed_number(kSlot);
    is_ok_ = is_ok_ && words >= -kFurthest && words <= kFurthest;
    return is_ok_ ? words * (1 << kWordShift) : 0;
  }
  std::uint32_t scaled(std::uint32_t code) { return shifted(code, cpu_.code_shift); }
  std::uint32_t shifted(std::uint32_t number, unsigned by) {
    is_ok_ = is_ok_ && number <= std::numeric_limits<std::uint32_t>::max() >> by;
    return number << by;
  }

  BitReader in_;
  const GcInfoCpu& cpu_;
  std::uint32_t version_;
  bool is_ok_ = true;  // no value so far is impossible
};

}  // namespace

Result<GcInfoHeader> decode_gc_info_header(std::span<const std::byte> bytes, Arch arch, std::uint32_t version) {
  const GcInfoCpu& cpu = gcinfo::cpu(arch);
  if (cpu.registers.empty()) return fail(ErrorCode::unsupported_cpu);
  if (version < kOldest || version > kNewest) return fail(ErrorCode::unsupported, version);
  return Decoder(bytes, cpu, version).header();
}

}  // namespace mixstack::dotnet
