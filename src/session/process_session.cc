#include "session/process_session.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "object/file_bytes.h"
#include "session/capture_walk.h"
#include "session/fair_budget.h"
#include "session/fault_registers.h"
#include "session/launch.h"
#include "session/unloaded_code.h"
#include "session/walker_implementation.h"
#include "symbolize/symbolizer.h"
#include "target/core/core_target.h"
#include "target/live/live_target.h"
#include "target/memory_map.h"
#include "target/self/self_target.h"

namespace mixstack {

Result<std::unique_ptr<Session>> Session::open_process(std::uint32_t pid) {
  auto target = target::open_live(pid);
  if (!target) return fail(target.error());
  return session::ProcessSession::open(std::move(*target));
}

Result<std::unique_ptr<Session>> Session::open_core(const CoreOptions& options) {
  auto opened = target::CoreBytes::open(options.path);
  // A compressed stream that is damaged is not what `malformed` means here: that the file is no core.
  const auto of_stream = [](const Error& e) {
    return e.code == ErrorCode::malformed ? Error{ErrorCode::io_error, EBADMSG, e.value} : e;
  };
  if (!opened) return fail(of_stream(opened.error()));
  const std::shared_ptr<const target::CoreBytes> bytes = std::move(*opened);
  auto target = target::open_core(
      bytes, {options.sysroots, options.executable, {}, options.use_own_files, options.debuginfod_find});
  if (!target && bytes->diagnosis()) return fail(of_stream(bytes->diagnosis()->error));
  if (!target) return fail(target.error());
  return session::ProcessSession::open(std::move(*target));
}

Result<std::unique_ptr<Session>> Session::open_self(const SelfOptions& options) {
  auto target = target::open_self(options);
  if (!target) return fail(target.error());
  return session::ProcessSession::open(std::move(*target));
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

/// Walks all threads within the budget. Answers how many stacks that cut.
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

void name_other_code(ProcessDump& dump, Symbolizer& symbolizer,
                     std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes) {
  for (ThreadDump& t : dump.threads)
    for (std::size_t i = 0; i < t.symbols.size(); i++)
      if (const Frame& f = t.trace.frames[i]; f.kind != FrameKind::managed) t.symbols[i] = symbolizer.name(f);
  dump.symbols = symbolizer.take_symbols();
  for (ThreadDump& t : dump.threads)
    for (const auto& runtime : runtimes) runtime->explain_abort(dump.symbols, t);
}

Diagnosis frames_cut(std::size_t budget, std::size_t stacks) {
  return {{ErrorCode::limit_exceeded, 0, budget},
          "frames of all threads",
          "more than the " + std::to_string(budget) + " that a dump may have (--frame-budget): " +
              std::to_string(stacks) + (stacks == 1 ? " stack is cut" : " stacks are cut")};
}

}  // namespace

/// What the stages of a dump share.
struct ProcessSession::DumpInProgress {
  const DumpOptions& options;
  Worker& worker;
  Capture& capture;
  std::chrono::steady_clock::time_point captured_at;
  symbolize::ElfSymbols elf;
  ProcessDump dump;
};

ProcessSession::ProcessSession(std::unique_ptr<Target> target) : target_(std::move(target)) {}

Result<std::unique_ptr<Session>> ProcessSession::open(std::unique_ptr<Target> target) {
  std::unique_ptr<ProcessSession> session(new ProcessSession(std::move(target)));
  if (auto read = session->read_facts(); !read) return fail(read.error());
  return session;
}

Result<void> ProcessSession::read_facts() {
  auto regions = target_->regions();
  if (!regions) return fail(regions.error());
  read_facts(*regions, nullptr);
  return {};
}

void ProcessSession::read_facts(const std::vector<Region>& regions, const ProcessFacts* before) {
  facts_ = ProcessFacts::read({*target_, [this](const Region& r) { return open_mapped(r); }, images_}, regions, before);
}

/// A worker's own until it goes.
WorkerPool::Lease ProcessSession::worker() {
  auto worker = workers_->take({*target_, path_opener(), unwind_tables_, runtime_options_}, facts_);
  worker->forget_memory();
  return worker;
}

Result<std::shared_ptr<const FileBytes>> ProcessSession::budgeted(Result<std::shared_ptr<const FileBytes>> file) const {
  if (!file || *file == nullptr) return file;
  return object::within_budget(std::move(*file), file_budget_);
}

Result<std::shared_ptr<const FileBytes>> ProcessSession::open_mapped(const Region& region) const {
  const std::lock_guard lock(files_mutex_);
  return budgeted(target_->open_file(region));
}

object::PathOpener ProcessSession::path_opener() const {
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
  debuginfod_.reset();
  object::DebugFetcher fetch;
  if (!options.debuginfod_find.empty()) {
    debuginfod_ = std::make_shared<target::Debuginfod>(options.debuginfod_find, options.time_for_all);
    fetch = [debuginfod = debuginfod_,
             budget = file_budget_](const object::BuildId& id) -> Result<std::shared_ptr<const FileBytes>> {
      const std::string path = debuginfod->find(target::Debuginfod::Kind::debuginfo, id);
      if (path.empty()) return fail(ErrorCode::not_found);
      auto file = object::open_file_bytes(path);
      return file ? object::within_budget(std::move(*file), budget) : file;
    };
  }
  symbol_tables_ = std::make_shared<symbolize::SymbolTables>(std::move(fetch));
}

Result<void> ProcessSession::refresh() {
  workers_->empty();
  followed_ = nullptr;
  return read_facts();
}

void ProcessSession::add_name_provider(std::shared_ptr<NameProvider> provider) {
  if (provider) providers_.push_back(std::move(provider));
}

Result<Capture> ProcessSession::take(Worker& worker, const DumpOptions& options) {
  CaptureRequest request;
  request.threads = options.threads;
  request.stop_timeout = options.stop_timeout;
  request.late_timeout = options.late_timeout;
  request.stack_byte_budget = options.stack_byte_budget;
  request.roots = worker.prepare_roots();
  request.vectors = options.vectors;
  auto capture = target_->capture(request);
  worker.forget_memory();
  return capture;
}

Result<Capture> ProcessSession::capture(const DumpOptions& options) {
  auto capture = take(*worker(), options);
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
  return {worker(), *target_, steppers_, providers_, symbol_tables_, debuginfod_, path_opener()};
}

/// Captures of other instants than the common one; walked first, for what runtimes know of a capture is of the latest.
void ProcessSession::walk_late(DumpInProgress& at) {
  for (Capture& late : at.capture.late) {
    late.frozen = at.capture.frozen;
    CaptureWalk walk(late, *target_, at.worker, *late.regions, at.elf, steppers_, at.options.walk);
    walk.bound_explicit_frames(kMostExplicitFrames);
    const std::size_t before = at.dump.threads.size();
    if (const std::size_t cut = walk_threads(walk, late.threads, at.options, at.dump.threads); cut != 0)
      at.dump.diagnoses.push_back(frames_cut(at.options.frame_budget, cut));
    const auto code = image_mappings(*late.regions);
    for (std::size_t i = before; i < at.dump.threads.size(); i++)
      doubt_code_of_another_time(at.dump.threads[i], facts_->mappings(), code);
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
  thread = walk.walk(again->threads.front());
  doubt_code_of_another_time(thread, facts_->mappings(), image_mappings(*again->regions));
  at.capture.late.push_back(std::move(*again));
  return true;
}

/// Of a stack whose end nobody knows (a fiber's, a coroutine's) only so much is copied in the common stop as such
/// stacks usually need, lest all threads stand still for a large arena. Answers whether there was any.
bool ProcessSession::complete_cut_stacks(DumpInProgress& at) {
  std::size_t completed = 0;
  for (ThreadDump& thread : at.dump.threads) {
    if (thread.trace.stop != StopReason::stack_truncated || completed >= kMostCompleted) continue;
    completed++;
    for (const std::size_t bytes : kLargerCopies) {
      const std::size_t before = thread.trace.frames.size();
      if (bytes > std::max(at.options.stack_byte_budget, kLargerCopies.front())) break;
      if (!complete_cut_stack(at, thread, bytes)) break;
      if (thread.trace.stop != StopReason::stack_truncated || thread.trace.frames.size() <= before) break;
    }
  }
  return completed != 0;
}

Result<ProcessDump> ProcessSession::dump(const DumpOptions& options) {
  const WorkerPool::Lease worker = this->worker();
  auto capture = take(*worker, options);
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

  DumpInProgress at{options, *worker, *capture, captured_at, {worker->modules(), path_opener(), symbol_tables_}, {}};
  ProcessDump& dump = at.dump;
  dump.target = target_->info();
  dump.pause = capture->pause;
  dump.consistency = capture->consistency;
  dump.threads_not_stopped = capture->threads_not_stopped;
  walk_late(at);
  CaptureWalk walk(*capture, *target_, *worker, regions, at.elf, steppers_, options.walk);
  dump.threads.reserve(capture->threads.size());
  walk.bound_explicit_frames(kMostExplicitFrames);
  const std::size_t late = dump.threads.size();
  const std::size_t over_budget = walk_threads(walk, capture->threads, options, dump.threads);
  if (over_budget != 0) dump.diagnoses.push_back(frames_cut(options.frame_budget, over_budget));
  for (std::size_t i = 0; dump.target.crash && late + i < dump.threads.size(); i++)
    find_fault_registers(dump.target, dump.threads[late + i], walk.walker(), walk.input_for(capture->threads[i]),
                         walk.memory());
  if (!capture->late.empty())
    std::stable_sort(dump.threads.begin(), dump.threads.end(),
                     [](const ThreadDump& a, const ThreadDump& b) { return a.tid < b.tid; });
  for (Diagnosis& d : walk.take_diagnoses()) dump.diagnoses.push_back(std::move(d));
  if (capture->frozen == nullptr && complete_cut_stacks(at)) walk.bind();
  for (const auto& runtime : worker->runtimes()) dump.runtimes.push_back(runtime->summary());
  Symbolizer symbolizer(name_providers(providers_, worker->runtimes(), at.elf));
  if (capture->frozen == nullptr) symbolizer.begin(captured_at.time_since_epoch());
  // What may be freed while the target runs goes first; symbol tables of images take longer and can wait.
  name_managed_code(dump, symbolizer);
  std::vector<dotnet::FreedFrame> freed;
  for (const auto& runtime : worker->runtimes()) {
    if (capture->frozen != nullptr) continue;
    for (const auto& f : runtime->freed_code(dump, *capture, target_->memory())) freed.push_back(f);
  }
  name_other_code(dump, symbolizer, worker->runtimes());
  dotnet::mark_freed_code(dump, freed);
  for (const auto& runtime : worker->runtimes())
    for (Diagnosis& d : runtime->take_diagnoses()) dump.diagnoses.push_back(std::move(d));
  if (capture->frozen == nullptr) doubt_replaced_code(dump, *target_, regions);
  add_target_diagnoses(dump, *worker, regions);
  return std::move(dump);
}

/// Of the files that a target missed or could not prove only those matter that a stack runs through, a name was wanted
/// from, or a runtime is. (Looking for images touches every file that is mapped executable.)
void ProcessSession::add_target_diagnoses(ProcessDump& dump, const Worker& worker,
                                          const std::vector<Region>& regions) const {
  if (file_budget_->is_spent())
    dump.diagnoses.push_back({{ErrorCode::limit_exceeded, 0, file_budget_->whole()},
                              "files of the target",
                              "their tables are larger than what is read of all files together: names and unwind "
                              "information of some are missing"});
  std::vector<Diagnosis> of_target = target_->diagnoses();
  if (debuginfod_)
    for (Diagnosis& d : debuginfod_->diagnoses())
      if (std::find(of_target.begin(), of_target.end(), d) == of_target.end()) dump.diagnoses.push_back(std::move(d));
  if (of_target.empty()) return;
  std::set<std::string> mapped, wanted, vouched_for;
  for (const Region& r : regions) mapped.insert(r.path);
  for (const ThreadDump& t : dump.threads) {
    for (const Frame& f : t.trace.frames)
      if (const Region* r = target::find_region(regions, f.pc.lookup())) wanted.insert(r->path);
  }
  for (const auto& runtime : worker.runtimes()) {
    wanted.insert(runtime->summary().module_path);
    for (std::string& path : runtime->files_missing()) wanted.insert(std::move(path));
    for (std::string& path : runtime->files_used()) vouched_for.insert(std::move(path));
  }
  // A single-file program has its runtime inside.
  if (worker.runtimes().empty()) wanted.insert(target_->info().executable);
  for (Diagnosis& d : of_target) {
    const bool is_of_a_file = mapped.contains(d.subject);
    if (!is_of_a_file || (wanted.contains(d.subject) && !vouched_for.contains(d.subject)))
      dump.diagnoses.push_back(std::move(d));
  }
}

}  // namespace session
}  // namespace mixstack
