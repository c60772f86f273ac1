#include "output/report/text_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "output/report/escape.h"
#include "output/report/frame_view.h"
#include "output/report/value_words.h"
#include "output/report/words.h"

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

Ink ink(FrameKind kind, bool is_user) {
  if (is_user) return Ink::user;
  if (kind == FrameKind::managed) return Ink::managed;
  if (kind == FrameKind::native) return Ink::plain;
  return Ink::runtime;
}

/// `libc.so.6+0x10b3ed` for code of an image, `System.Private.CoreLib` for code that has only an assembly.
std::string place(const Frame& frame, const SymbolInfo& symbol) {
  if (symbol.module.empty()) return {};
  if (frame.module == kNoModule || frame.kind == FrameKind::managed) return symbol.module;
  return fmt::format("{}+0x{:x}", symbol.module, module_offset_of_ip(frame));
}

/// Remarks behind a name, each with its ink.
struct Note {
  Ink ink;
  std::string text;
};

std::vector<Note> notes_of(const Frame& frame, const SymbolInfo& symbol) {
  std::vector<Note> notes;
  if (symbol.inlined_into != 0) {
    const bool is_inferred = symbol.inlining == Inlining::inferred;
    return {{is_inferred ? Ink::warning : Ink::runtime, std::string(inlining_words(symbol.inlining))}};
  }
  if (!symbol.note.empty()) notes.push_back({Ink::runtime, fmt::format(" [{}]", escape_for_terminal(symbol.note))});
  if (frame.is_funclet() && symbol.note.empty())
    notes.push_back({Ink::runtime, fmt::format(" [{}]", to_string(frame.funclet))});
  if (frame.is_interrupted && frame.found_by != StepperId::initial) notes.push_back({Ink::runtime, " [interrupted]"});
  if (frame.trust != Trust::certain) notes.push_back({Ink::warning, fmt::format(" {{{}}}", trust_words(frame.trust))});
  if (frame.witness_disagrees) notes.push_back({Ink::warning, " {unwinding and runtime Frame disagree}"});
  return notes;
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

void write_first_columns(const StackText& stack, std::string_view number, const Frame& frame, char letter) {
  Writer& out = stack.out.plain();
  out << fmt::format("{:<{}} ", number, stack.number_columns);
  if (frame.pc.raw() == 0) {
    out << std::string_view("           -");
  } else if (stack.show_addresses) {
    stack.out.paint(Ink::faint, fmt::format("{:012x}", frame.pc.raw()));
  } else {
    out << std::string_view("           ·");
  }
  out << ' ' << letter << ' ';
}

void write_arguments(const StackText& stack, std::size_t index) {
  const FrameArguments* arguments = arguments_of(stack.thread, index);
  if (arguments == nullptr) return;
  for (const ProgramValue& value : arguments->values)
    stack.out.paint(Ink::faint, fmt::format("{}  {}\n", kIndent, value_words(value)));
}

/// As wide as what stands before a name.
std::size_t first_columns(const StackText& stack) { return stack.number_columns + 1 + 12 + 3; }

}  // namespace

namespace {

void write_function(const StackText& stack, const Frame& frame, const SymbolInfo& symbol) {
  const std::size_t width = stack.options.width, taken = first_columns(stack);
  const CalledText how{stack.options.raw_names, stack.user.is_user(symbol, frame.kind),
                       width == 0 ? 0 : std::max(width, taken + 40) - taken};
  if (!stack.show_addresses && frame.is_interrupted && !symbol.file.empty()) {
    SymbolInfo somewhere = symbol;  // merged threads run in the same function, each at a line of its own
    somewhere.file.clear();
    write_called(stack.out, frame, somewhere, how);
  } else {
    write_called(stack.out, frame, symbol, how);
  }
  stack.out.plain() << '\n';
}

/// No frame of its own: a line without a number.
void write_inlined(const StackText& stack, const Frame& frame, const SymbolInfo& symbol) {
  write_first_columns(stack, {}, frame, mark(frame.kind));
  write_function(stack, frame, symbol);
}

}  // namespace

std::string row_number(const StackRow& row) {
  return row.size() == 1 ? fmt::format("#{}", row.first) : fmt::format("#{}-{}", row.first, row.last);
}

void write_called(Painter& out, const Frame& frame, const SymbolInfo& symbol, const CalledText& how) {
  const bool named = !symbol.name.empty();
  FrameWords words = words_of(symbol, escape_for_terminal(shown_name(frame, symbol, how.raw_name)));
  if (named && frame.kind == FrameKind::native && symbol.offset != 0)
    words.name += fmt::format("+0x{:x}", symbol.offset);
  if (named && !symbol.module.empty())
    words.place = escape_for_terminal(symbol.inlined_into != 0 ? symbol.module : place(frame, symbol));
  const std::vector<Note> notes = notes_of(frame, symbol);
  std::size_t fixed = 0;
  for (const Note& note : notes) fixed += columns(note.text);
  fit(words, fixed, how.width);
  out.paint(ink(frame.kind, how.is_user), words.name);
  for (const Note& note : notes) out.paint(note.ink, note.text);
  write_place(out, words);
}

FrameWords words_of(const SymbolInfo& symbol, std::string name) {
  FrameWords words{std::move(name), {}, {}, {}};
  if (symbol.file.empty()) return words;
  words.file = escape_for_terminal(symbol.file);
  words.line = fmt::format(":{}", symbol.line);
  return words;
}

void write_place(Painter& out, const FrameWords& words) {
  if (!words.place.empty()) out.paint(Ink::faint, fmt::format("  ({})", words.place));
  if (!words.file.empty()) out.paint(Ink::faint, fmt::format("  at {}{}", words.file, words.line));
}

void write_row(const StackText& stack, const StackRow& row) {
  const std::size_t index = row.first;
  const Frame& frame = stack.thread.trace.frames[index];
  if (row.kind != StackRow::Kind::nameless)
    for (const std::uint32_t s : inlined_of(stack.dump, stack.thread, index))
      write_inlined(stack, frame, stack.dump.symbols[s]);
  write_first_columns(stack, row_number(row), frame, mark(frame.kind));
  const SymbolInfo& symbol = symbol_of(stack.dump, stack.thread, index);
  if (row.kind == StackRow::Kind::nameless) {
    const std::size_t width = stack.options.width, taken = first_columns(stack);
    const std::string text =
        fmt::format("{}, {} frames without symbols", escape_for_terminal(symbol.module), row.size());
    stack.out.paint(Ink::faint, width == 0 ? text : shorten_middle(text, std::max(width, taken + 40) - taken));
    stack.out.plain() << '\n';
    return;
  }
  write_function(stack, frame, symbol);
  if (stack.options.arguments) write_arguments(stack, index);
  if (stack.options.registers) write_registers(stack, frame);
  if (stack.options.explain) {
    write_how_found(stack, frame);
    write_evidence(stack, index);
  }
}

void write_async_callers(const StackText& stack) {
  static const SymbolInfo unnamed;
  for (const AsyncCaller& caller : stack.thread.async_callers) {
    write_first_columns(stack, {}, caller.frame, 'A');
    write_function(stack, caller.frame,
                   caller.symbol < stack.dump.symbols.size() ? stack.dump.symbols[caller.symbol] : unnamed);
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
