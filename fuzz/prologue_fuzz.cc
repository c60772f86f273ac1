// LINK: mixstack_engine_unwind
// Foreign machine code under prologue analysis, the call-site decoders and the frame-pointer check: byte 0 chooses the
// CPU and whether the pc is a return address, bytes 1 and 2 the pc's offset; the rest is code.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/arch/call_site.h"
#include "base/arch/task_end.h"
#include "engine/unwind/frame_pointer.h"
#include "engine/unwind/prologue/method_frame.h"
#include "engine/unwind/prologue/prologue.h"

namespace {

using namespace mixstack;

void check_frame_pointer(Arch arch, std::span<const std::byte> bytes) {
  const StackView stack{0x1000, bytes.data(), bytes.size(), nullptr};
  for (Address at = 0x1000; at + 16 <= 0x1000 + bytes.size() && at < 0x1100; at += 8) {
    Registers registers(arch);
    registers.set_sp(0x1000);
    registers.set_fp(at);
    (void)unwind::frame_pointer_rule(registers, stack);
  }
}

void check_method_frame(Arch arch, std::span<const std::byte> code, std::size_t offset, bool is_return_address) {
  const auto frame = unwind::method_frame(arch, code);
  if (!frame) return;
  if (frame->prologue > code.size() || frame->prologue > unwind::kMostMethodPrologue + 16) std::abort();
  if (const auto next = unwind::next_prologue(arch, code, 1); next && *next >= code.size()) std::abort();
  offset = std::min(offset, code.size());
  const std::size_t before = std::min(offset, unwind::kBeforeHere);
  const auto here = code.subspan(offset, std::min(unwind::kMostEpilogue, code.size() - offset));
  const auto rule = unwind::rule_in_method(
      arch, *frame, {code, code.subspan(offset - before, before), here, offset, code.size(), is_return_address});
  if (rule && (rule->trust != Trust::prologue || rule->count > unwind::UnwindRule::kMaxRules)) std::abort();
}

/// What one pass over all says of a place is what a pass that ends there says.
void check_each_rule(Arch arch, std::span<const std::byte> code) {
  std::size_t last = 0, n = 0;
  unwind::each_prologue_rule(arch, code, [&](std::size_t at, const Result<unwind::UnwindRule>& rule) {
    if (at >= code.size() || (n++ != 0 && at <= last)) std::abort();
    last = at;
    if (n % 16 != 1) return;
    const auto alone = unwind::prologue_rule(arch, code, at, false);
    if (alone.has_value() != rule.has_value()) std::abort();
    if (rule && (alone->cfa_register != rule->cfa_register || alone->cfa_offset != rule->cfa_offset)) std::abort();
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const Arch arch = (data[0] & 1) != 0 ? Arch::aarch64 : Arch::x86_64;
  const auto code = std::as_bytes(std::span(data, size)).subspan(3);
  const std::size_t wanted = data[1] + data[2] * std::size_t{256};
  const std::size_t offset = wanted % (code.size() + 2);
  const auto rule = unwind::prologue_rule(arch, code, offset, (data[0] & 2) != 0);
  if (rule && rule->count > unwind::UnwindRule::kMaxRules) std::abort();
  if (rule && rule->trust != Trust::prologue) std::abort();
  check_method_frame(arch, code, offset, (data[0] & 2) != 0);
  check_each_rule(arch, code);
  (void)arch::ends_task(arch, code);
  (void)arch::call_before(arch, code, 0x400000);
  check_frame_pointer(arch, code);
  return 0;
}
