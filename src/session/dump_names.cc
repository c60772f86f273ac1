// The stages of a dump that give names to code.
#include <set>

#include "dotnet/runtime/aot_symbols.h"
#include "session/dump_in_progress.h"
#include "session/last_words.h"
#include "session/native_aot.h"
#include "session/walker_implementation.h"

namespace mixstack::session {
namespace {

/// Runtimes know their threads by the ids inside the target's pid namespace, reports by ours.
void number_suspensions(ProcessDump& dump) {
  const auto ours = [&dump](ThreadId& id) {
    const auto is_it = [id](const ThreadDump& t) { return t.ns_tid == id; };
    const auto at = std::find_if(dump.threads.begin(), dump.threads.end(), is_it);
    if (at != dump.threads.end()) id = at->tid;
  };
  for (RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.suspension) continue;
    ours(runtime.suspension->by);
    std::for_each(runtime.suspension->waits_for.begin(), runtime.suspension->waits_for.end(), ours);
  }
}

void put_summaries(ProcessDump& dump, std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes) {
  for (const auto& runtime : runtimes) dump.runtimes.push_back(runtime->summary());
  number_suspensions(dump);
}

/// For a program compiled ahead of time: adds its runtime and marks the runtime's threads; answers the provider of its
/// method names, or null.
std::shared_ptr<NameProvider> use_native_aot(DumpInProgress& at) {
  if (!at.dump.runtimes.empty()) return nullptr;
  Target& target = at.from.target;
  const images::ModuleMap& modules = at.worker().modules();
  auto aot = find_native_aot(modules, at.dump.target.executable, target.loaded_memory());
  if (!aot) return nullptr;
  mark_aot_threads(*aot, at.walk->memory(), at.is_frozen() ? nullptr : &target.memory(), at.dump);
  read_aot_crash(at.walk->memory(), aot->debug_header, at.dump);
  at.dump.runtimes.push_back(std::move(aot->summary));
  const auto image = modules.image(aot->module);
  if (!image) return nullptr;
  return dotnet::AotSymbols::open(modules, aot->module, target.loaded_memory(), at.from.unwind_tables->of(*image));
}

void name_throw_frames(ManagedThreadFacts& facts, Symbolizer& symbolizer) {
  for (ExceptionInFlight& exception : facts.exceptions) {
    for (ManagedException& e : exception.chain) {
      for (ThrowFrame& thrown : e.thrown_at) {
        Frame frame{.pc = CodeAddress::exact(thrown.ip), .sp = thrown.sp, .kind = FrameKind::managed};
        frame.method = thrown.method;
        frame.method_start = thrown.ip - thrown.offset;
        thrown.symbol = symbolizer.name(frame);
      }
    }
  }
}

void name_managed_code(ProcessDump& dump, Symbolizer& symbolizer) {
  for (ThreadDump& t : dump.threads) {
    t.symbols.resize(t.trace.frames.size());
    for (std::size_t i = 0; i < t.symbols.size(); i++)
      if (const Frame& f = t.trace.frames[i]; f.kind == FrameKind::managed) t.symbols[i] = symbolizer.name(f);
    if (t.managed) name_throw_frames(*t.managed, symbolizer);
  }
}

/// Reads the symbols of images that have code on a stack, beside the reading of the runtimes' objects.
std::future<void> read_symbols_ahead(const ProcessDump& dump, const images::ModuleMap& modules,
                                     symbols::SymbolTables& tables, images::PathOpener open, base::Beside& beside) {
  constexpr std::size_t kMost = 32;
  std::set<ModuleIndex> wanted;
  for (const ThreadDump& t : dump.threads)
    for (const Frame& f : t.trace.frames)
      if (f.kind == FrameKind::native && f.module != kNoModule && wanted.size() < kMost) wanted.insert(f.module);
  return beside.run([&modules, &tables, wanted, open = std::move(open)] {
    for (const ModuleIndex index : wanted)
      if (const auto image = modules.image(index)) (void)tables.get(*image, modules.modules()[index].path, open);
  });
}

}  // namespace

void stages::runtimes(DumpInProgress& at) {
  put_summaries(at.dump, at.runtimes());
  at.providers.assign(at.from.providers.begin(), at.from.providers.end());
  const images::ModuleMap& modules = at.worker().modules();
  tell_of_end(modules, at.walk->memory(), at.regions(), at.from.target.diagnoses(), at.dump);
  at.native.emplace(*at.elf, modules, at.from.open_path, at.from.symbol_tables, at.from.line_tables);
  if (auto aot = use_native_aot(at)) at.providers.push_back(with_lines(std::move(aot), *at.native));
  at.symbolizer.emplace(name_providers(at.providers, at.runtimes(), *at.generated, *at.native));
  if (!at.is_frozen()) at.symbolizer->begin(at.captured_at.time_since_epoch());
}

void stages::managed_names(DumpInProgress& at) {
  if (!at.runtimes().empty())
    at.symbols =
        read_symbols_ahead(at.dump, at.worker().modules(), *at.from.symbol_tables, at.from.open_path, at.beside);
  name_managed_code(at.dump, *at.symbolizer);
}

void stages::native_names(DumpInProgress& at) {
  if (at.symbols.valid()) at.symbols.get();
  for (ThreadDump& t : at.dump.threads)
    for (std::size_t i = 0; i < t.symbols.size(); i++)
      if (const Frame& f = t.trace.frames[i]; f.kind != FrameKind::managed) t.symbols[i] = at.symbolizer->name(f);
  at.dump.symbols = at.symbolizer->take_symbols();
  for (ThreadDump& t : at.dump.threads)
    for (const auto& runtime : at.runtimes()) runtime->explain_abort(at.dump.symbols, t);
}

}  // namespace mixstack::session
