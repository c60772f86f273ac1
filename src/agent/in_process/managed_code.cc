#include "agent/in_process/managed_code.h"

#include <algorithm>
#include <array>

#include "agent/in_process/unwind_bytes.h"
#include "engine/unwind/prologue/method_frame.h"
#include "engine/unwind/windows/format.h"

namespace mixstack::agent {
namespace {

/// The rule from a piece's decoded prologue and the code around the pc. Noinline, so that the buffers take stack only
/// when needed.
[[nodiscard, gnu::noinline]] Result<unwind::UnwindRule> by_prologue(Arch arch, const JitCode& code, CodeAddress pc,
                                                                    const MemoryReader& memory) {
  std::array<std::byte, unwind::kMostMethodPrologue> start;
  std::array<std::byte, unwind::kMostEpilogue> here;
  std::array<std::byte, unwind::kBeforeHere> before;
  unwind::MethodPlace place;
  place.offset = pc.raw() - code.range.begin;
  place.size = code.range.size();
  place.is_return_address = !pc.is_exact();
  const auto read = [&](Address from, std::span<std::byte> to) {
    return memory.read_exact(from, to) ? std::span<const std::byte>(to) : std::span<const std::byte>();
  };
  if (place.offset < code.prologue) {
    place.start = std::span(code.prologue_bytes).first(std::min<std::size_t>(code.kept, code.prologue));
    if (code.kept < code.prologue) place.start = read(code.range.begin, std::span(start).first(code.prologue));
  } else if (pc.is_exact()) {
    place.here = read(pc.raw(), std::span(here).first(std::min<std::size_t>(here.size(), code.range.end - pc.raw())));
    if (place.offset >= before.size()) place.before = read(pc.raw() - before.size(), before);
  }
  return unwind::rule_in_method(arch, {code.rule, code.frame_size, code.prologue}, place);
}

}  // namespace

bool ManagedCode::knows(CodeAddress pc, const MemoryReader& memory) const noexcept {
  JitCode code;
  if (jitted_.find(pc.lookup(), code)) return true;
  const CodeImage* image = images_.find(pc.lookup());
  return image != nullptr &&
         image->row_of(static_cast<std::uint32_t>(pc.lookup() - image->range.begin), arch_, memory).has_value();
}

bool ManagedCode::compact(CodeAddress pc, const MemoryReader& memory, Answer& out) const noexcept {
  JitCode code;
  if (jitted_.find(pc.lookup(), code)) {
    if (code.source == FrameSource::none || code.source == FrameSource::prologue) return false;  // less than certain
    out.owner = static_cast<std::uint32_t>(code.method);
    // A call in the prologue (a stack probe) returns to where the body's rule does not hold yet.
    const bool is_in_body = !pc.is_exact() && pc.raw() - code.range.begin > code.prologue;
    if (is_in_body && code.rule.kind != unwind::CompactKind::interpret) {
      out.rule = code.rule;
      return true;
    }
  } else if (images_.find(pc.lookup()) == nullptr) {
    return false;
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
  JitCode code;
  if (!jitted_.find(pc.lookup(), code)) {
    const CodeImage* image = images_.find(pc.lookup());
    return image != nullptr ? of_image(*image, pc, memory) : fail(ErrorCode::not_found, pc.raw());
  }
  if (code.source == FrameSource::prologue)
    return jitted_.find_with_prologue(pc.lookup(), code) ? by_prologue(arch_, code, pc, memory)
                                                         : fail(ErrorCode::not_found, pc.raw());
  if (code.unwind_data == 0) return fail(ErrorCode::no_unwind_info, pc.raw());
  const auto rva = [&](Address address) { return static_cast<std::uint32_t>(address - code.image_base); };
  const std::uint32_t end = format->row_has_end ? rva(code.range.end) : 0;
  return format->rule(UnwindBytes(memory, code.image_base),
                      {{rva(code.range.begin), end, code.unwind_data}, rva(pc.raw()), !pc.is_exact()});
}

}  // namespace mixstack::agent
