#include "agent/managed_code.h"

#include "agent/unwind_bytes.h"
#include "unwind/windows/format.h"

namespace mixstack::agent {

bool ManagedCode::compact(CodeAddress pc, const MemoryReader& memory, Answer& out) const noexcept {
  const JitMap::Reading reading(jitted_);
  JitCode code;
  if (jitted_.find(pc.lookup(), code)) {
    out.is_kept = !code.may_be_freed;
    // A call in the prologue (a probe of the stack) returns to where the body's rule does not hold yet.
    const bool is_in_body = !pc.is_exact() && pc.raw() - code.range.begin > code.prologue;
    if (is_in_body && code.rule.kind != unwind::CompactKind::interpret) {
      out.rule = code.rule;
      return true;
    }
  } else if (images_.find(pc.lookup()) == nullptr) {
    return false;
  } else {
    out.is_kept = true;
  }
  const auto rule = general(pc, memory);
  const auto small = rule ? unwind::compact(*rule, arch_) : std::nullopt;
  if (small) out.rule = *small;
  return small.has_value();
}

Result<unwind::UnwindRule> ManagedCode::of_image(const CodeImage& image, CodeAddress pc,
                                                 const MemoryReader& memory) const {
  const auto row = image.row_of(static_cast<std::uint32_t>(pc.lookup() - image.range.begin), arch_, memory);
  if (!row) return fail(ErrorCode::no_unwind_info, pc.raw());
  const auto rva = static_cast<std::uint32_t>(pc.raw() - image.range.begin);
  return unwind::windows::format_of(arch_)->rule(UnwindBytes(memory, image.range.begin), {*row, rva, !pc.is_exact()});
}

Result<unwind::UnwindRule> ManagedCode::general(CodeAddress pc, const MemoryReader& memory) const noexcept {
  const auto* format = unwind::windows::format_of(arch_);
  if (format == nullptr) return fail(ErrorCode::unsupported_cpu);
  const JitMap::Reading reading(jitted_);
  JitCode code;
  if (!jitted_.find(pc.lookup(), code)) {
    const CodeImage* image = images_.find(pc.lookup());
    return image != nullptr ? of_image(*image, pc, memory) : fail(ErrorCode::not_found, pc.raw());
  }
  if (code.unwind_data == 0) return fail(ErrorCode::no_unwind_info, pc.raw());
  const auto rva = [&](Address address) { return static_cast<std::uint32_t>(address - code.image_base); };
  const std::uint32_t end = format->row_has_end ? rva(code.range.end) : 0;
  return format->rule(UnwindBytes(memory, code.image_base),
                      {{rva(code.range.begin), end, code.unwind_data}, rva(pc.raw()), !pc.is_exact()});
}

}  // namespace mixstack::agent
