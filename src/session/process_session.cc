// A session over any target: makes dumps, captures, and walkers for callers that walk themselves.
//
// Input: a Target (process, core, our own process) and DumpOptions. Output: a ProcessDump, plain data.
// Algorithm of `dump`: stop, copy, let go (the common stop); read modules and runtimes again if mappings have changed.
// Walk late threads before the others, because runtimes know one capture at a time and the common one is needed to the
// end; stop threads with cut stacks once more, alone. Name managed code and read objects next, since the running target
// may free them; meanwhile another thread reads symbol tables. Then mark code freed since, and name native code.
// Bounds: DumpOptions::frame_budget; kMostExplicitFrames; kMostCompleted threads stopped again, kLargerCopies each.
#include "session/process_session.h"

#include <algorithm>
#include <array>
#include <future>
#include <set>
#include <unordered_map>

#include "base/system/beside.h"
#include "dotnet/runtime/aot_symbols.h"
#include "engine/images/file_bytes.h"
#include "engine/symbols/demangle.h"
#include "engine/symbols/symbolizer.h"
#include "process/kernel/memory_map.h"
#include "process/live/live_target.h"
#include "process/peers/other_ends.h"
#include "process/self/self_target.h"
#include "session/async_callers.h"
#include "session/async_work.h"
#include "session/capture_walk.h"
#include "session/core_opening.h"
#include "session/cpp_exceptions.h"
#include "session/fair_budget.h"
#include "session/fault_registers.h"
#include "session/frame_arguments.h"
#include "session/heap_search.h"
#include "session/inlined_frames.h"
#include "session/last_words.h"
#include "session/launch.h"
#include "session/missing_files.h"
#include "session/native_aot.h"
#include "session/symbol_status.h"
#include "session/unloaded_code.h"
#include "session/waits.h"
#include "session/waits_outside.h"
#include "session/walker_implementation.h"

namespace mixstack {

Result<std::unique_ptr<Session>> Session::open_process(std::uint32_t pid) {
  auto target = process::open_live(pid);
  if (!target) return fail(target.error());
  return session::ProcessSession::open(std::move(*target));
}

Result<std::unique_ptr<Session>> Session::open_core(const CoreOptions& options) {
  const session::SharedFinder finder = session::make_symbol_finder(options.symbols);
  auto opened = session::open_core_target(options, session::executable_fetcher(finder));
  if (!opened) return fail(opened.error());
  return session::ProcessSession::open(std::move(opened->target), finder, options.symbols.lines);
}

Result<std::unique_ptr<Session>> Session::open_self(const SelfOptions& options) {
  auto target = process::open_self(options);
  if (!target) return fail(target.error());
  // Lines of native code are read in a child process, which a walk of our own must not start (crash handlers).
  return session::ProcessSession::open(std::move(*target), nullptr, NativeLines::none);
}

Result<std::unique_ptr<Session>> Session::launch(const LaunchOptions& options) {
  const auto pid = session::launch(options);
  if (!pid) return fail(pid.error());
  return open_process(*pid);
}

Result<std::unique_ptr<Session>> Session::open(std::unique_ptr<Target> target) {
  if (!target) return fail(ErrorCode::invalid_argument);
  return session::ProcessSession::open(std::move(target));
}

namespace session {
namespace {

constexpr std::size_t kMostCompleted = 64;  // threads whose stacks are asked for once more
constexpr std::array<std::size_t, 3> kLargerCopies{1 << 20, 16 << 20, 64 << 20};
constexpr std::size_t kManyThreads = 1000;
constexpr std::size_t kMostExplicitFrames = 1 << 19;  // twice as many as one thread may have

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

/// Facts of the capture's own threads, then of those that were late.
using FactsByThread = std::vector<std::vector<ThreadFacts>>;

/// Reads them beside the walk, or on demand if there are few threads. `target` and `capture` must outlive the future.
std::future<FactsByThread> read_thread_facts(const Target& target, const Capture& capture, base::Beside& beside) {
  constexpr std::size_t kFew = 32;  // not worth a thread
  auto read = [&target, &capture] {
    FactsByThread all{target.thread_facts(capture.threads)};
    for (const Capture& late : capture.late) all.push_back(target.thread_facts(late.threads));
    return all;
  };
  return capture.threads.size() <= kFew ? std::async(std::launch::deferred, read) : beside.run(read);
}

/// By thread id: the dump has late threads among the others, in another order than the captures.
void put_facts(FactsByThread all, const Capture& capture, ProcessDump& dump) {
  std::unordered_map<ThreadId, ThreadDump*> by_tid;
  for (ThreadDump& thread : dump.threads) by_tid[thread.tid] = &thread;
  const auto put = [&](std::vector<ThreadFacts>& facts, std::span<const ThreadCapture> threads) {
    for (std::size_t i = 0; i < facts.size() && i < threads.size(); i++)
      if (const auto at = by_tid.find(threads[i].tid); at != by_tid.end()) {
        if (!facts[i].comm.empty()) at->second->comm = symbols::printable(facts[i].comm);
        at->second->facts = std::move(facts[i]);
      }
  };
  put(all.front(), capture.threads);
  for (std::size_t i = 1; i < all.size() && i <= capture.late.size(); i++) put(all[i], capture.late[i - 1].threads);
}

/// Walks all threads within the frame budget. Answers how many stacks the budget cut.
std::size_t walk_threads(CaptureWalk& walk, const std::vector<ThreadCapture>& threads, const DumpOptions& options,
                         std::vector<ThreadDump>& out) {
  const bool is_rich = options.walk.keep_registers || options.walk.explain;
  const std::size_t all = options.frame_budget / (is_rich ? 4 : 1);
  const std::size_t fewest = std::clamp<std::size_t>(all / 2 / std::max<std::size_t>(threads.size(), 1), 8, 256);
  FairBudget budget(all, threads.size(), fewest);
  std::size_t cut = 0;
  for (const ThreadCapture& thread : threads) {
    const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(budget.next(), UINT32_MAX));
    out.push_back(walk.walk(thread, most));
    Trace& trace = out.back().trace;
    if (threads.size() > kManyThreads) trace.frames.shrink_to_fit();  // most stacks are shorter than what is reserved
    budget.took(trace.frames.size());
    if (trace.stop == StopReason::max_frames && trace.stop_error.code == ErrorCode::limit_exceeded) cut++;
  }
  return cut;
}

Diagnosis frames_cut(std::size_t budget, std::size_t stacks) {
  return {{ErrorCode::limit_exceeded, 0, budget},
          "frames of all threads",
          "more than the " + std::to_string(budget) + " that a dump may have (--frame-budget): " +
              std::to_string(stacks) + (stacks == 1 ? " stack is cut" : " stacks are cut")};
}

/// Walks all threads but the late ones, which are in `dump` already.
void walk_captured(CaptureWalk& walk, const Capture& capture, const DumpOptions& options, ProcessDump& dump) {
  const std::size_t late = dump.threads.size();
  const std::size_t over_budget = walk_threads(walk, capture.threads, options, dump.threads);
  if (over_budget != 0) dump.diagnoses.push_back(frames_cut(options.frame_budget, over_budget));
  for (std::size_t i = 0; dump.target.crash && late + i < dump.threads.size(); i++)
    find_fault_registers(dump.target, dump.threads[late + i], walk.walker(), walk.input_for(capture.threads[i]),
                         walk.memory());
  if (!capture.late.empty())
    std::stable_sort(dump.threads.begin(), dump.threads.end(),
                     [](const ThreadDump& a, const ThreadDump& b) { return a.tid < b.tid; });
  for (Diagnosis& d : walk.take_diagnoses()) dump.diagnoses.push_back(std::move(d));
}

void put_names(ProcessDump& dump, std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes) {
  for (const auto& runtime : runtimes) runtime->name_threads(dump.threads);
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

void name_other_code(ProcessDump& dump, Symbolizer& symbolizer,
                     std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes) {
  for (ThreadDump& t : dump.threads)
    for (std::size_t i = 0; i < t.symbols.size(); i++)
      if (const Frame& f = t.trace.frames[i]; f.kind != FrameKind::managed) t.symbols[i] = symbolizer.name(f);
  dump.symbols = symbolizer.take_symbols();
  for (ThreadDump& t : dump.threads)
    for (const auto& runtime : runtimes) runtime->explain_abort(dump.symbols, t);
}

std::shared_ptr<symbols::LineTables> line_tables(NativeLines lines) {
  if (lines == NativeLines::none) return nullptr;
  using Packed = symbols::DebugSections::Packed;
  return std::make_shared<symbols::LineTables>(lines == NativeLines::all ? Packed::all : Packed::few);
}

}  // namespace

/// The state that the stages of a dump share.
struct ProcessSession::DumpInProgress {
  const DumpOptions options;
  Worker& worker;
  Capture& capture;
  std::chrono::steady_clock::time_point captured_at;
  symbols::ElfSymbols elf;
  GeneratedNames generated{worker.generated(), *capture.regions};
  ProcessDump dump{};
  ThreadAsyncCallers callers{};
  std::optional<peers::OtherEnds> ends{};
  std::future<FactsByThread> facts{};
  base::Beside beside{};  ///< last: its work refers to the others
};

ProcessSession::ProcessSession(std::unique_ptr<Target> target)
    : target_(std::move(target)),
      generated_(std::make_shared<GeneratedCode>(*target_)),
      line_tables_(line_tables(SymbolOptions{}.lines)) {}

Result<std::unique_ptr<ProcessSession>> ProcessSession::open(std::unique_ptr<Target> target, SharedFinder finder,
                                                             NativeLines lines) {
  std::unique_ptr<ProcessSession> session(new ProcessSession(std::move(target)));
  session->line_tables_ = line_tables(lines);
  if (finder) session->use(std::move(finder));
  if (auto read = session->read_facts(); !read) return fail(read.error());
  return session;
}

Result<void> ProcessSession::read_facts() {
  auto regions = target_->regions();
  if (!regions) return fail(regions.error());
  read_facts(*regions, nullptr);
  return {};
}

void ProcessSession::read_facts(const std::vector<Region>& regions, const ProcessGeneration* before) {
  facts_ =
      ProcessGeneration::read({*target_, [this](const Region& r) { return open_mapped(r); }, images_}, regions, before);
}

/// The caller's own until it is given back.
WorkerPool::Lease ProcessSession::worker() {
  auto worker = workers_->take(
      {*target_, path_opener(), unwind_tables_, runtime_options_, finder_ ? pdb_fetcher(finder_) : nullptr, generated_},
      facts_);
  worker->forget_memory();
  return worker;
}

Result<std::shared_ptr<const FileBytes>> ProcessSession::budgeted(Result<std::shared_ptr<const FileBytes>> file) const {
  if (!file || *file == nullptr) return file;
  return images::within_budget(std::move(*file), file_budget_);
}

Result<std::shared_ptr<const FileBytes>> ProcessSession::open_mapped(const Region& region) const {
  const std::lock_guard lock(files_mutex_);
  return budgeted(target_->open_file(region));
}

images::PathOpener ProcessSession::path_opener() const {
  return [this](const std::string& path) {
    const std::lock_guard lock(files_mutex_);
    return budgeted(target_->open_path(path));
  };
}

/// Libraries come and go between the captures of one session.
void ProcessSession::follow_mappings(const std::shared_ptr<const std::vector<Region>>& regions) {
  if (regions == followed_) return;
  if (!are_same_mappings(image_mappings(*regions), facts_->mappings())) read_facts(*regions, facts_.get());
  followed_ = regions;
}

void ProcessSession::set_runtime_options(const RuntimeOptions& options) {
  runtime_options_ = options;
  workers_->empty();
}

void ProcessSession::set_symbol_options(const SymbolOptions& options) {
  line_tables_ = options.native_names ? line_tables(options.lines) : nullptr;
  native_names_ = options.native_names;
  use(make_symbol_finder(options));
}

void ProcessSession::use(SharedFinder finder) {
  finder_ = std::move(finder);
  symbol_tables_ = std::make_shared<symbols::SymbolTables>(debug_fetcher(finder_, file_budget_), native_names_);
  workers_->empty();
}

Result<void> ProcessSession::refresh() {
  workers_->empty();
  followed_ = nullptr;
  return read_facts();
}

void ProcessSession::add_name_provider(std::shared_ptr<NameProvider> provider) {
  if (provider) providers_.push_back(std::move(provider));
}

Result<Capture> ProcessSession::take(Worker& worker, const DumpOptions& options, bool names) {
  CaptureRequest request;
  request.threads = options.threads;
  request.stop_timeout = options.stop_timeout;
  request.late_timeout = options.late_timeout;
  request.stack_byte_budget = options.stack_byte_budget;
  request.roots = worker.prepare_roots();
  request.vectors = options.vectors;
  request.together = options.together;
  request.names = names;
  if (request.together != 0 && !options.together_with_roots) request.roots = nullptr;
  auto capture = target_->capture(request);
  worker.forget_memory();
  return capture;
}

Result<Capture> ProcessSession::capture(const DumpOptions& options) {
  auto capture = take(*worker(), options, true);
  if (capture) join_late(*capture);
  return capture;
}

Result<Walker> ProcessSession::walker(Capture capture, const WalkOptions& options) {
  if (!capture.regions) {
    auto regions = target_->regions();
    if (!regions) return fail(regions.error());
    capture.regions = std::make_shared<const std::vector<Region>>(std::move(*regions));
  }
  follow_mappings(capture.regions);
  return Walker(std::make_unique<Walker::Implementation>(parts(), std::move(capture), options));
}

Walker::Implementation::Parts ProcessSession::parts() {
  return {worker(), *target_, steppers_, providers_, symbol_tables_, line_tables_, finder_, path_opener()};
}

/// Late captures are walked first: runtimes know only the capture bound last, and the common one is needed after.
void ProcessSession::walk_late(DumpInProgress& at) {
  for (Capture& late : at.capture.late) {
    late.frozen = at.capture.frozen;
    CaptureWalk walk(late, *target_, at.worker, *late.regions, at.elf, steppers_, at.options.walk);
    walk.bound_explicit_frames(kMostExplicitFrames);
    const std::size_t before = at.dump.threads.size();
    if (const std::size_t cut = walk_threads(walk, late.threads, at.options, at.dump.threads); cut != 0)
      at.dump.diagnoses.push_back(frames_cut(at.options.frame_budget, cut));
    const auto code = image_mappings(*late.regions);
    const bool is_look = late.consistency == Consistency::not_stopped && at.dump.consistency != late.consistency;
    for (std::size_t i = before; i < at.dump.threads.size(); i++) {
      at.dump.threads[i].not_stopped = is_look;
      doubt_code_of_another_time(at.dump.threads[i], facts_->mappings(), code);
    }
    for (Diagnosis& d : walk.take_diagnoses()) at.dump.diagnoses.push_back(std::move(d));
  }
}

/// A second stop of one thread, with more of its stack.
bool ProcessSession::complete_cut_stack(DumpInProgress& at, ThreadDump& thread, std::size_t stack_bytes) {
  CaptureRequest request;
  request.threads = {thread.tid};
  request.initial_stack_bytes = stack_bytes;
  request.stack_byte_budget = stack_bytes;
  request.stop_timeout = request.late_timeout = at.options.late_timeout;
  request.goes_on = true;
  request.vectors = at.options.vectors;
  request.roots = at.worker.prepare_roots();
  const auto begin = std::chrono::steady_clock::now();
  auto again = target_->capture(request);
  if (!again || again->threads.size() != 1 || !again->threads.front().captured || !again->regions) return false;
  at.worker.forget_memory();
  again->threads.front().late = thread.late + (begin - at.captured_at);
  CaptureWalk walk(*again, *target_, at.worker, *again->regions, at.elf, steppers_, at.options.walk);
  ThreadFacts facts = std::move(thread.facts);
  thread = walk.walk(again->threads.front());
  thread.facts = std::move(facts);
  doubt_code_of_another_time(thread, facts_->mappings(), image_mappings(*again->regions));
  at.capture.late.push_back(std::move(*again));
  return true;
}

/// For a stack whose end is not known (a fiber's, a coroutine's) the common stop copies only what such stacks usually
/// need, so that no thread stands still for a large arena. Answers whether there was any.
bool ProcessSession::complete_cut_stacks(DumpInProgress& at) {
  std::size_t completed = 0;
  for (ThreadDump& thread : at.dump.threads) {
    if (thread.trace.stop != StopReason::stack_truncated || completed >= kMostCompleted) continue;
    if (completed++ == 0) {
      // Names and facts are read by the first capture, before others are added to it.
      put_names(at.dump, at.worker.runtimes());
      take_facts(at, true);
    }
    for (const std::size_t bytes : kLargerCopies) {
      const std::size_t before = thread.trace.frames.size();
      if (bytes > std::max(at.options.stack_byte_budget, kLargerCopies.front())) break;
      if (!complete_cut_stack(at, thread, bytes)) break;
      if (thread.trace.stop != StopReason::stack_truncated || thread.trace.frames.size() <= before) break;
    }
  }
  return completed != 0;
}

/// Takes the kernel's facts if they are there or, if it `waits`, once they are. From then on the holders of other ends
/// are looked for, beside all else.
void ProcessSession::take_facts(DumpInProgress& at, bool waits) {
  using namespace std::chrono_literals;
  if (!at.facts.valid() || (!waits && at.facts.wait_for(0s) == std::future_status::timeout)) return;
  put_facts(at.facts.get(), at.capture, at.dump);
  if (at.options.waits && at.options.pending_work && at.capture.frozen == nullptr) at.ends.emplace(at.dump, at.beside);
}

/// Reads waits and other objects of the runtimes, as long as they are as the capture found them.
void ProcessSession::read_objects(DumpInProgress& at, Symbolizer& symbolizer) {
  const auto runtimes = at.worker.runtimes();
  take_facts(at, false);
  if (at.options.waits && at.capture.frozen == nullptr)
    for (const auto& runtime : runtimes) at.worker.fetch(runtime->places_of_waits());
  const WaitFrames frames = at.options.waits ? wait_frames(at.dump, symbolizer.symbols()) : WaitFrames();
  take_facts(at, false);
  if (at.options.waits) read_waits(at.dump, at.capture, runtimes, frames);
  take_facts(at, false);
  if (at.options.waits && at.options.pending_work)
    read_pending_work(at.dump, at.capture, runtimes, frames, at.options.data);
  const bool is_frozen = at.capture.frozen != nullptr;
  if (at.options.waits && at.options.pending_work)
    read_heaps(at.dump, is_frozen ? *at.capture.frozen : target_->memory(), is_frozen, runtimes, at.options.heap,
               reads_types_of_heaps_);
  at.callers.find(at.dump, at.capture, runtimes, frames, symbolizer);
  if (at.options.arguments) read_arguments(at.dump, at.capture, runtimes, at.options.data);
}

/// Frames of code that the runtimes have freed since the stop; none in a core.
std::vector<dotnet::FreedFrame> ProcessSession::freed_code(const DumpInProgress& at, const MemoryReader& memory) {
  std::vector<dotnet::FreedFrame> freed;
  if (at.capture.frozen != nullptr) return freed;
  for (const auto& runtime : at.worker.runtimes())
    for (const auto& f : runtime->freed_code(at.dump, at.capture, memory)) freed.push_back(f);
  return freed;
}

Result<ProcessDump> ProcessSession::dump(const DumpOptions& wanted) {
  DumpOptions options = wanted;
  options.walk.keep_registers |= options.arguments;
  const WorkerPool::Lease worker = this->worker();
  if (options.facts) target_->prepare_thread_facts(options.threads, options.off_cpu);
  auto capture = take(*worker, options, !options.facts);  // the facts have the names, too
  if (!capture) return fail(capture.error());
  const auto captured_at = std::chrono::steady_clock::now();
  if (!capture->regions) {
    auto regions = target_->regions();
    if (!regions) return fail(regions.error());
    capture->regions = std::make_shared<const std::vector<Region>>(std::move(*regions));
  }
  const std::vector<Region>& regions = *capture->regions;
  follow_mappings(capture->regions);
  worker->follow(facts_);

  DumpInProgress at{options, *worker, *capture, captured_at, {worker->modules(), path_opener(), symbol_tables_}};
  ProcessDump& dump = at.dump;
  dump.target = target_->info();
  dump.pause = capture->pause;
  dump.consistency = capture->consistency;
  dump.threads_not_stopped = capture->threads_not_stopped;
  if (options.facts) at.facts = read_thread_facts(*target_, *capture, at.beside);
  walk_late(at);
  CaptureWalk walk(*capture, *target_, *worker, regions, at.elf, steppers_, options.walk);
  dump.threads.reserve(capture->threads.size());
  walk.bound_explicit_frames(kMostExplicitFrames);
  for (const auto& runtime : worker->runtimes()) runtime->begin_names(at.beside);
  walk_captured(walk, *capture, options, dump);
  // A core's facts are ready at once, and may be of very many threads: do not keep them twice.
  if (capture->frozen != nullptr) take_facts(at, true);
  if (options.facts) dump.usage = target_->usage(dump.pause);
  if (capture->frozen == nullptr && complete_cut_stacks(at)) walk.bind();
  put_summaries(dump, worker->runtimes());
  auto named_by = providers_;
  tell_of_end(worker->modules(), walk.memory(), regions, target_->diagnoses(), dump);
  symbols::DwarfSymbols native(at.elf, worker->modules(), path_opener(), symbol_tables_, line_tables_);
  if (auto aot = use_native_aot(walk, *capture, *worker, dump)) named_by.push_back(with_lines(std::move(aot), native));
  Symbolizer symbolizer(name_providers(named_by, worker->runtimes(), at.generated, native));
  if (capture->frozen == nullptr) symbolizer.begin(captured_at.time_since_epoch());
  // Code that may be freed while the target runs is named first; symbol tables of images take longer and can wait:
  // another thread reads them meanwhile.
  std::future<void> symbols;
  if (!worker->runtimes().empty())
    symbols = read_symbols_ahead(dump, worker->modules(), *symbol_tables_, path_opener(), at.beside);
  name_managed_code(dump, symbolizer);
  read_objects(at, symbolizer);
  take_facts(at, true);
  put_names(dump, worker->runtimes());
  InlinedFrames inlined;
  inlined.find(dump, worker->runtimes());
  const std::vector<dotnet::FreedFrame> freed = freed_code(at, target_->memory());
  if (symbols.valid()) symbols.get();
  name_other_code(dump, symbolizer, worker->runtimes());
  tell_of_cpp_exceptions(worker->modules(), walk.memory(), dump);
  read_waits_outside(options.waits, dump, *capture, target_->memory(), regions, at.ends);
  inlined.apply(dump);
  at.callers.apply(dump);
  dotnet::mark_freed_code(dump, freed);
  for (const auto& runtime : worker->runtimes())
    for (Diagnosis& d : runtime->take_diagnoses()) dump.diagnoses.push_back(std::move(d));
  tell_of_refused_pdbs(worker->runtimes(), dump);
  if (capture->frozen == nullptr) doubt_replaced_code(dump, *target_, regions);
  add_target_diagnoses(dump, *worker, regions);
  return std::move(dump);
}

/// For a program compiled ahead of time: adds its runtime and marks the runtime's threads; answers the provider of its
/// method names, or null.
std::shared_ptr<NameProvider> ProcessSession::use_native_aot(const CaptureWalk& walk, const Capture& capture,
                                                             const Worker& worker, ProcessDump& dump) const {
  if (!dump.runtimes.empty()) return nullptr;
  auto aot = find_native_aot(worker.modules(), dump.target.executable, target_->loaded_memory());
  if (!aot) return nullptr;
  mark_aot_threads(*aot, walk.memory(), capture.frozen == nullptr ? &target_->memory() : nullptr, dump);
  read_aot_crash(walk.memory(), aot->debug_header, dump);
  dump.runtimes.push_back(std::move(aot->summary));
  const auto image = worker.modules().image(aot->module);
  if (!image) return nullptr;
  return dotnet::AotSymbols::open(worker.modules(), aot->module, target_->loaded_memory(), unwind_tables_->of(*image));
}

/// A file that the target missed or could not prove matters only if a stack runs through it, a name was wanted from it,
/// or it is a runtime. (Looking for images touches every file that is mapped executable.)
void ProcessSession::add_target_diagnoses(ProcessDump& dump, const Worker& worker,
                                          const std::vector<Region>& regions) const {
  if (auto refusal = generated_->take_refusal()) dump.diagnoses.push_back(std::move(*refusal));
  if (file_budget_->is_spent())
    dump.diagnoses.push_back({{ErrorCode::limit_exceeded, 0, file_budget_->whole()},
                              "files of the target",
                              "their tables are larger than what is read of all files together: names and unwind "
                              "information of some are missing"});
  std::vector<Diagnosis> of_target = target_->diagnoses();
  if (finder_)
    for (Diagnosis& d : finder_->diagnoses())
      if (std::find(of_target.begin(), of_target.end(), d) == of_target.end()) dump.diagnoses.push_back(std::move(d));
  if (of_target.empty()) return;
  std::set<std::string> mapped, wanted, vouched_for;
  for (const Region& r : regions) mapped.insert(r.path);
  for (const ThreadDump& t : dump.threads) {
    for (const Frame& f : t.trace.frames)
      if (const Region* r = process::find_region(regions, f.pc.lookup())) wanted.insert(r->path);
  }
  for (const auto& runtime : worker.runtimes()) {
    wanted.insert(runtime->summary().module_path);
    for (std::string& path : runtime->files_missing()) wanted.insert(std::move(path));
    for (std::string& path : runtime->files_used()) vouched_for.insert(std::move(path));
  }
  // A single-file program has its runtime inside.
  if (worker.runtimes().empty()) wanted.insert(target_->info().executable);
  name_packages(of_target, worker.facts()->runtimes());
  for (Diagnosis& d : of_target) {
    const bool is_of_a_file = mapped.contains(d.subject);
    if (!is_of_a_file || (wanted.contains(d.subject) && !vouched_for.contains(d.subject)))
      dump.diagnoses.push_back(std::move(d));
  }
}

}  // namespace session
}  // namespace mixstack
