#include "output/report/text_exception.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "output/report/escape.h"
#include "output/report/fit.h"
#include "output/report/frame_view.h"
#include "output/report/text_frame.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

std::string with_commas(std::size_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

const SymbolInfo& symbol_of(const ProcessDump& dump, const ThrowFrame& frame) {
  static const SymbolInfo unnamed;
  const std::uint32_t own = own_function(dump.symbols, frame.symbol);
  return own < dump.symbols.size() ? dump.symbols[own] : unnamed;
}

/// One exception below a thread's line: where it goes and how deep it stands.
struct ExceptionText {
  Painter& out;
  const ProcessDump& dump;
  const ReportOptions& options;
  Folder& folder;
  std::string indent;
};

void write_throw_frame(const ExceptionText& text, const ThrowFrame& thrown) {
  const SymbolInfo& symbol = symbol_of(text.dump, thrown);
  Frame frame;
  frame.pc = CodeAddress::exact(thrown.ip);
  text.out.plain() << text.indent << "    ";
  text.out.paint(Ink::faint, fmt::format("{:012x}", thrown.ip));
  text.out.plain() << ' ';
  FrameWords words = words_of(symbol, escape_for_terminal(shown_name(frame, symbol, text.options.raw_names)));
  if (!symbol.name.empty() && thrown.offset != 0) words.name += fmt::format("+0x{:x}", thrown.offset);
  words.place = escape_for_terminal(symbol.module);
  const std::string note = symbol.note.empty() ? "" : fmt::format(" [{}]", escape_for_terminal(symbol.note));
  const std::size_t taken = text.indent.size() + 4 + 13;
  fit(words, columns(note), text.options.width == 0 ? 0 : std::max(text.options.width, taken + 40) - taken);
  text.out.paint(Ink::managed, words.name);
  text.out.paint(Ink::runtime, note);
  write_place(text.out, words);
  text.out.plain() << '\n';
}

void write_throw_stack(const ExceptionText& text, const ManagedException& e) {
  if (e.thrown_at.empty()) return;
  text.out.plain() << text.indent << "  thrown at:\n";
  const auto repeats = text.options.fold ? text.folder.repeats(e.thrown_at) : std::vector<Repeat>{};
  auto next = repeats.begin();
  for (std::size_t i = 0; i < e.thrown_at.size(); i++) {
    write_throw_frame(text, e.thrown_at[i]);
    if (e.thrown_at[i].ends_first_part) text.out.plain() << text.indent << "    thrown again:\n";
    if (next == repeats.end() || i + 1 != next->first + next->period) continue;
    text.out.paint(Ink::faint, fmt::format("{}    {}\n", text.indent, repeat_words(*next)));
    i = next++->end() - 1;
  }
  if (e.thrown_at_is_cut) text.out.paint(Ink::warning, text.indent + "    --- more frames than are kept\n");
}

void write_exception(const ExceptionText& text, std::string_view role, const ManagedException& e) {
  std::string line = fmt::format("{}{} {}", text.indent, role, e.type.empty() ? "?" : escape_for_terminal(e.type));
  if (!e.message.empty()) line += ": " + escape_for_terminal(e.message);
  if (!e.type.empty()) line += fmt::format(" (0x{:08x})", e.hresult);
  text.out.paint(Ink::header, line);
  if (e.error.code != ErrorCode::none) text.out.paint(Ink::warning, fmt::format(" {{{}}}", error_words(e.error)));
  text.out.plain() << '\n';
  write_throw_stack(text, e);
}

/// How many exceptions of the chain a given one is inside of. The chain may lie about itself.
std::size_t depth_of(const ExceptionInFlight& exception, std::size_t index) {
  std::size_t depth = 0;
  for (std::uint32_t up = exception.chain[index].inner_of; up < index; up = exception.chain[index].inner_of) {
    index = up;
    depth++;
  }
  return depth;
}

/// `told` are the objects written so far: an exception that is thrown again as an inner one of the next is told once.
void write_chain(const ExceptionText& text, std::string_view role, const ExceptionInFlight& exception,
                 std::set<Address>& told) {
  for (std::size_t i = 0; i < exception.chain.size(); i++) {
    const ManagedException& e = exception.chain[i];
    const std::string indent(2 + 2 * depth_of(exception, i), ' ');
    const std::string_view as = i == 0 ? role : "inner";
    if (e.object != 0 && !told.insert(e.object).second) {
      const std::string type = e.type.empty() ? "?" : escape_for_terminal(e.type);
      text.out.plain() << fmt::format("{}{} {}, told above\n", indent, as, type);
      continue;
    }
    write_exception({text.out, text.dump, text.options, text.folder, indent}, as, e);
  }
  if (exception.inner_are_cut) text.out.paint(Ink::warning, "    --- more inner exceptions, or a cycle of them\n");
}

void write_abort(Painter& out, const RuntimeAbort& abort) {
  std::string line = "  the process is ending: ";
  switch (abort.kind) {
    case RuntimeAbort::Kind::fail_fast:
      line += "Environment.FailFast";
      break;
    case RuntimeAbort::Kind::stack_overflow:
      line += "stack overflow";
      break;
    case RuntimeAbort::Kind::unhandled_exception:
      line += "nobody caught the exception";
      break;
    case RuntimeAbort::Kind::runtime_failure:
      line += "fatal error of the runtime";
      break;
  }
  if (!abort.message.empty()) line += ": " + escape_for_terminal(abort.message);
  out.paint(Ink::header, line);
  if (abort.message_inferred) out.paint(Ink::warning, " {message found in its stack frame}");
  out.plain() << '\n';
}

}  // namespace

std::string repeat_words(const Repeat& repeat) {
  const std::size_t more = repeat.count - 1;
  const std::string frames =
      repeat.period == 1 ? std::string("the frame above") : fmt::format("the {} frames above", repeat.period);
  return fmt::format("... {} more times {}", with_commas(more), frames);
}

void write_exceptions(Painter& out, const ProcessDump& dump, const ThreadDump& thread, const ReportOptions& options,
                      Folder& folder) {
  if (!thread.managed) return;
  if (thread.managed->abort) write_abort(out, *thread.managed->abort);
  const ExceptionText text{out, dump, options, folder, {}};
  bool first = true;
  std::set<Address> told;
  for (const ExceptionInFlight& exception : thread.managed->exceptions) {
    write_chain(text, first ? "exception" : "thrown while handling", exception, told);
    first = false;
  }
  if (thread.managed->exceptions_are_cut) out.paint(Ink::warning, "  --- more exceptions than are kept\n");
}

}  // namespace mixstack::report
