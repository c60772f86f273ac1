#include "agent/in_process/decoded_pieces.h"

#include <algorithm>

#include "engine/unwind/prologue/method_frame.h"

namespace mixstack::agent {
namespace {

constexpr std::size_t kMostCode = 1 << 18;  // bytes of a method searched for funclets: one read of ProbedMemory

[[nodiscard]] std::vector<std::byte> code_at(const MemoryReader& memory, AddressRange range, std::size_t most) {
  std::vector<std::byte> code(static_cast<std::size_t>(std::min<std::uint64_t>(range.size(), most)));
  code.resize(memory.read_some(range.begin, code).value_or(0));
  return code;
}

void keep(JitCode& code, std::span<const std::byte> bytes) {
  code.kept = static_cast<std::uint8_t>(std::min(bytes.size(), JitCode::kPrologueBytes));
  std::copy_n(bytes.begin(), code.kept, code.prologue_bytes.begin());
}

void take_frame(JitCode& code, Arch arch, std::span<const std::byte> bytes) {
  code.rule = unwind::kInterpretedRule;
  code.prologue = 0;
  const auto frame = unwind::method_frame(arch, bytes);
  if (!frame) return;
  code.source = FrameSource::prologue;
  code.rule = frame->rule;
  code.frame_size = frame->size;
  code.prologue = frame->prologue;
}

}  // namespace

void look_at_prologue(JitCode& code, Arch arch, const MemoryReader& memory) {
  const auto bytes = code_at(memory, code.range, unwind::kMostMethodPrologue);
  keep(code, bytes);
  code.source = FrameSource::unwind_data;
  if (code.part == JitPart::cold) return;
  const auto frame = unwind::method_frame(arch, bytes);
  if (!frame || code.rule.kind == unwind::CompactKind::interpret) return;
  if (!unwind::is_same_frame(arch, *frame, code.rule)) {
    code.source = FrameSource::contradicted;
    return;
  }
  code.source = FrameSource::both;
  code.frame_size = frame->size;
  code.prologue = frame->prologue;
}

std::vector<JitCode> decoded_pieces(Arch arch, const MemoryReader& memory, const std::vector<AddressRange>& ranges,
                                    std::uint64_t method, bool may_be_freed) {
  std::vector<JitCode> pieces;
  const auto add = [&](AddressRange range, JitPart part) -> JitCode& {
    JitCode& code = pieces.emplace_back();
    code.range = range;
    code.method = method;
    code.may_be_freed = may_be_freed;
    code.part = part;
    code.rule = unwind::kInterpretedRule;
    return code;
  };
  if (ranges.empty()) return pieces;
  const AddressRange hot = ranges.front();
  const auto bytes = code_at(memory, hot, kMostCode);
  for (std::size_t at = 0; at < bytes.size() || pieces.empty();) {
    const auto rest = std::span(bytes).subspan(at);
    JitCode& code = add({hot.begin + at, hot.end}, at == 0 ? JitPart::body : JitPart::funclet);
    take_frame(code, arch, rest);
    keep(code, rest);
    const auto next = pieces.size() < kMostFunclets
                          ? unwind::next_prologue(arch, bytes, std::max<std::size_t>(at + code.prologue, at + 1))
                          : std::nullopt;
    if (!next) break;
    code.range.end = hot.begin + *next;
    at = *next;
  }
  const JitCode body = pieces.front();
  for (std::size_t i = 1; i < ranges.size(); i++) {
    if (ranges[i].empty()) continue;
    JitCode& code = add(ranges[i], JitPart::cold);
    code.source = body.source;
    code.rule = body.rule;
    code.frame_size = body.frame_size;
    keep(code, code_at(memory, ranges[i], JitCode::kPrologueBytes));
  }
  return pieces;
}

}  // namespace mixstack::agent
