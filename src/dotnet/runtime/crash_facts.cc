#include "dotnet/runtime/crash_facts.h"

#include <algorithm>
#include <array>

#include "dotnet/bcl/process_ends.h"
#include "dotnet/bcl/types.h"

namespace mixstack::dotnet {
namespace {

using Kind = RuntimeAbort::Kind;

constexpr std::size_t kMaxScanned = 4096;  // bytes of one stack frame; FailFast's has 192
constexpr std::size_t kMaxTexts = 4;

bool has(const ManagedThreadFacts& facts, Address object) {
  return std::any_of(facts.exceptions.begin(), facts.exceptions.end(), [&](const ExceptionInFlight& e) {
    return std::any_of(e.chain.begin(), e.chain.end(), [&](const ManagedException& x) { return x.object == object; });
  });
}

const SymbolInfo* symbol_at(const ThreadDump& thread, std::span<const SymbolInfo> symbols, std::size_t index) {
  if (index >= thread.symbols.size() || thread.symbols[index] >= symbols.size()) return nullptr;
  const std::uint32_t own = own_function(symbols, thread.symbols[index]);
  return own < symbols.size() ? &symbols[own] : nullptr;
}

bool is_fail_fast(const SymbolInfo* symbol) {
  return symbol != nullptr && symbol->module == bcl::kCoreLib && symbol->raw_name.starts_with(bcl::kFailFast);
}

/// The strings that a stack frame holds pinned: the reference to a String is among its words, and so is the address of
/// that String's first character.
std::vector<std::string> pinned_strings(const RuntimeMemory& memory, const Frame& frame) {
  std::vector<std::string> texts;
  const auto string_type = memory.through(memory.layouts().globals.string_method_table);
  const Field first_char = memory.layouts().string.first_char;
  const unsigned word = memory.pointer_size();
  if (!string_type || !first_char || frame.cfa <= frame.sp || frame.cfa - frame.sp > kMaxScanned) return texts;
  std::vector<Address> words;
  for (Address at = frame.sp; at + word <= frame.cfa; at += word) words.push_back(memory.pointer_at(at).value_or(0));
  std::vector<Address> seen;
  for (const Address w : words) {
    const Address object = w - first_char.offset;
    if (w < first_char.offset || std::find(words.begin(), words.end(), object) == words.end()) continue;
    if (std::find(seen.begin(), seen.end(), object) != seen.end() || seen.size() == kMaxTexts) continue;
    seen.push_back(object);
    auto type = object_method_table(memory, object);
    if (!type || *type != *string_type) continue;
    if (auto text = managed_string(memory, object)) texts.push_back(std::move(*text));
  }
  return texts;
}

// Environment.FailFast passes its texts, the source of the error (Debug.Assert names one) and the message, to the
// runtime as pinned strings of its innermost frame. The runtime keeps them nowhere else before .NET 11.
void take_message(const RuntimeMemory& memory, const Frame& frame, RuntimeAbort& abort) {
  for (const std::string& text : pinned_strings(memory, frame)) {
    if (!abort.message.empty()) abort.message += '\n';
    abort.message += text;
  }
  abort.message_inferred = !abort.message.empty();
}

std::size_t first_managed(const Trace& trace) {
  std::size_t i = 0;
  while (i < trace.frames.size() && trace.frames[i].kind != FrameKind::managed) i++;
  return i;
}

/// The thread dies in the runtime: abort(), or the wait for createdump, called by the runtime itself above the managed
/// frames.
bool is_aborting(const ThreadDump& thread, const RuntimeSummary& runtime, std::span<const SymbolInfo> symbols) {
  constexpr std::array<std::string_view, 4> kEnds = {"abort", "wait4", "waitpid", "__waitpid"};
  bool ends = false, called_by_runtime = false;
  for (std::size_t i = 0; i < first_managed(thread.trace); i++) {
    if (thread.trace.frames[i].kind == FrameKind::runtime_frame) continue;
    const SymbolInfo* symbol = symbol_at(thread, symbols, i);
    if (symbol == nullptr) return false;
    if (!ends) {
      ends = std::find(kEnds.begin(), kEnds.end(), symbol->name) != kEnds.end();
      continue;
    }
    if (symbol->module_path != runtime.module_path) return false;
    called_by_runtime = true;
  }
  return called_by_runtime;
}

}  // namespace

void read_exceptions(const RuntimeMemory& memory, const ManagedThread& thread, names::ExceptionReader& reader,
                     ManagedThreadFacts& facts) {
  for (const CurrentException& current : current_exceptions(memory, thread).exceptions) {
    if (current.object == 0) continue;
    facts.exceptions_are_cut = facts.exceptions.size() == kMaxNestedExceptions;
    if (facts.exceptions_are_cut) break;
    facts.exceptions.push_back(reader.read(current.object));
  }
  // Thread::LastThrownObject is stale most of the time, but a dying runtime puts objects there that it throws in no
  // other way (EEPolicy::LogFatalError in src/coreclr/vm/eepolicy.cpp): made at its start, never thrown, without text.
  if (thread.last_thrown_handle == 0) return;
  const auto object = memory.pointer_at(thread.last_thrown_handle);
  if (!object || *object == 0) return;
  const std::string type = reader.type_of(*object);
  facts.last_exception = type;
  if (has(facts, *object)) return;
  const auto last = read_exception(memory, *object);
  if (!last || last->message != 0 || last->stack_trace != 0) return;
  if (type == bcl::kStackOverflow) facts.abort = RuntimeAbort{Kind::stack_overflow, {}, false};
  if (type != bcl::kExecutionEngine) return;
  facts.abort = RuntimeAbort{Kind::runtime_failure, {}, false};
  if (last->inner != 0 && !has(facts, last->inner)) facts.exceptions.push_back(reader.read(last->inner));
}

void explain_abort(const RuntimeMemory& memory, const RuntimeSummary& runtime, std::span<const SymbolInfo> symbols,
                   ThreadDump& thread) {
  if (!thread.managed) return;
  std::optional<RuntimeAbort>& abort = thread.managed->abort;
  const std::size_t innermost = first_managed(thread.trace);
  if (innermost < thread.trace.frames.size() && is_fail_fast(symbol_at(thread, symbols, innermost))) {
    abort = RuntimeAbort{Kind::fail_fast, {}, false};
    take_message(memory, thread.trace.frames[innermost], *abort);
  } else if (!abort && !thread.managed->exceptions.empty() && is_aborting(thread, runtime, symbols)) {
    abort = RuntimeAbort{Kind::unhandled_exception, {}, false};
  }
}

}  // namespace mixstack::dotnet
