#include "report/text_frame.h"

#include <fmt/format.h>

#include "report/escape.h"
#include "report/frame_view.h"
#include "report/words.h"

namespace mixstack::report {
namespace {

constexpr std::string_view kIndent = "                    ";  // as wide as what stands before a name

char mark(FrameKind kind) {
  switch (kind) {
    case FrameKind::managed:
      return 'M';
    case FrameKind::native:
      return 'N';
    case FrameKind::runtime_stub:
      return 'S';
    case FrameKind::runtime_frame:
      return 'F';
    case FrameKind::signal_trampoline:
      return '!';
    case FrameKind::undescribed:
      break;
  }
  return '?';
}

Ink ink(FrameKind kind) {
  if (kind == FrameKind::managed) return Ink::managed;
  if (kind == FrameKind::native) return Ink::plain;
  return Ink::runtime;
}

/// "libc.so.6+0x10b3ed" for code of an image, "System.Private.CoreLib" for code that has only an assembly.
std::string place(const Frame& frame, const SymbolInfo& symbol) {
  if (symbol.module.empty()) return {};
  if (frame.module == kNoModule || frame.kind == FrameKind::managed) return symbol.module;
  return fmt::format("{}+0x{:x}", symbol.module, module_offset_of_ip(frame));
}

void write_notes(Painter& out, const Frame& frame, const SymbolInfo& symbol) {
  if (!symbol.note.empty()) out.paint(Ink::runtime, fmt::format(" [{}]", escape_for_terminal(symbol.note)));
  if (frame.is_funclet && symbol.note.empty()) out.paint(Ink::runtime, " [funclet]");
  if (frame.is_interrupted && frame.found_by != StepperId::initial) out.paint(Ink::runtime, " [interrupted]");
  if (frame.trust != Trust::certain) out.paint(Ink::warning, fmt::format(" {{{}}}", trust_words(frame.trust)));
  if (frame.witness_disagrees) out.paint(Ink::warning, " {unwinding and runtime Frame disagree}");
}

void write_registers(const StackText& stack, const Frame& frame) {
  const auto& kept = stack.thread.trace.registers;
  if (frame.registers == 0 || frame.registers > kept.size()) return;
  const Registers& registers = kept[frame.registers - 1];
  unsigned column = 0;
  for (unsigned reg = 0; reg < Registers::kMax; reg++) {
    if (!registers.is_known(reg)) continue;
    const auto separator = column++ % 3 == 0 ? std::string_view{kIndent} : std::string_view{" "};
    stack.out.paint(Ink::faint, fmt::format("{}{:>3}={:016x}{}", separator, register_name(registers.arch(), reg),
                                            registers.value_or_zero(reg), column % 3 == 0 ? "\n" : ""));
  }
  if (column % 3 != 0) stack.out.plain() << '\n';
}

void write_how_found(const StackText& stack, const Frame& frame) {
  std::string line = fmt::format("{}found by {}; sp {:x}", kIndent, stepper_words(frame.found_by), frame.sp);
  if (frame.cfa != 0) line += fmt::format(", cfa {:x}", frame.cfa);
  if (frame.method != 0) line += fmt::format(", MethodDesc {:x}", frame.method);
  if (frame.method_start != 0) line += fmt::format(", code +0x{:x}", frame.pc.raw() - frame.method_start);
  if (frame.explicit_frame != 0) line += fmt::format(", Frame {:x}", frame.explicit_frame);
  stack.out.paint(Ink::faint, line + "\n");
}

void write_first_columns(const StackText& stack, std::size_t index, const Frame& frame) {
  Writer& out = stack.out.plain();
  out << fmt::format("{:<5} ", fmt::format("#{}", index));
  if (frame.pc.raw() == 0) {
    out << std::string_view("           -");
  } else if (stack.show_addresses) {
    stack.out.paint(Ink::faint, fmt::format("{:012x}", frame.pc.raw()));
  } else {
    out << std::string_view("           ·");
  }
  out << ' ' << mark(frame.kind) << ' ';
}

}  // namespace

void write_called(Painter& out, const Frame& frame, const SymbolInfo& symbol, bool raw_name) {
  std::string name = escape_for_terminal(shown_name(frame, symbol, raw_name));
  const bool named = !symbol.name.empty();
  if (named && frame.kind == FrameKind::native && symbol.offset != 0) name += fmt::format("+0x{:x}", symbol.offset);
  out.paint(ink(frame.kind), name);
  write_notes(out, frame, symbol);
  if (named && !symbol.module.empty())
    out.paint(Ink::faint, fmt::format("  ({})", escape_for_terminal(place(frame, symbol))));
  if (!symbol.file.empty())
    out.paint(Ink::faint, fmt::format("  at {}:{}", escape_for_terminal(symbol.file), symbol.line));
}

void write_frame(const StackText& stack, std::size_t index) {
  const Frame& frame = stack.thread.trace.frames[index];
  write_first_columns(stack, index, frame);
  write_called(stack.out, frame, symbol_of(stack.dump, stack.thread, index), stack.options.raw_names);
  stack.out.plain() << '\n';
  if (stack.options.registers) write_registers(stack, frame);
  if (stack.options.explain) {
    write_how_found(stack, frame);
    write_evidence(stack, index);
  }
}

void write_evidence(const StackText& stack, std::size_t index) {
  for (const Evidence& evidence : stack.evidence.of(index)) {
    const bool accepted = evidence.error.code == ErrorCode::none;
    stack.out.paint(Ink::faint, fmt::format("{}caller: {} {}\n", kIndent, stepper_words(evidence.stepper),
                                            accepted ? "answered" : "declined: " + error_words(evidence.error)));
  }
}

}  // namespace mixstack::report
