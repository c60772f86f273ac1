// Input: a runtime's facts (descriptor, contracts, supplement), a target, and one capture after the other.
// Output: threads, stepper, rules, names, explicit Frames, waits, heap, arguments, and what is missing (summary).
// Algorithm: the constructor takes the parts that the contracts admit, in the order in which they need each other:
// roots, collector's counts, names, code, stepper, lines, symbols. begin_capture() drops the facts of the last capture,
// binds the code to the new overlay and reads the threads. Readers of objects are made when first asked for
// (thread_waits), because most captures need none. Values from objects are kept only if the collector's counts are the
// same before and after (objects_stand_still), because a collection may have moved the objects meanwhile.
// Bounds: this file loops over captured threads and frames only; the readers it calls have limits of their own. Caches
// for thread names have the fixed sizes of kOfNames and of `third_look_`.
#include "dotnet/runtime/runtime_by_contracts.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "base/memory/overlay_memory.h"
#include "base/memory/witnessed_memory.h"
#include "dotnet/code/allocated_bytes.h"
#include "dotnet/code/frames/frame_update.h"
#include "dotnet/code/suspension.h"
#include "dotnet/heap/runtime_ranges.h"
#include "dotnet/runtime/crash_facts.h"
#include "dotnet/waits/known_waits.h"
#include "engine/symbols/demangle.h"

namespace mixstack::dotnet {
namespace {

constexpr const char* kDamaged =
    "the runtime's description of itself is there, but damaged (or not complete yet, where the process has just "
    "started)";

/// Names are a few bytes in each of hundreds of places: small pages, because larger ones only cost memory.
constexpr memory::CacheOptions kOfNames{.page_size = 512, .max_pages = 1 << 15, .read_ahead_pages = 8};

/// A field that neither the descriptor nor the supplement has.
std::optional<mixstack::Diagnosis> unavailable(const SupplementEntry& entry) {
  using State = SupplementEntry::State;
  if (entry.state == State::no_match)
    return mixstack::Diagnosis{
        {ErrorCode::field_unavailable, 0, 0}, std::string(entry.field), "no known layout fits this runtime"};
  if (entry.state == State::contradicted)
    return mixstack::Diagnosis{
        {ErrorCode::mismatch, 0, 0}, std::string(entry.field), "the known layout disagrees with live data"};
  return std::nullopt;
}

}  // namespace

bool is_damage(ErrorCode code) {
  return code == ErrorCode::malformed || code == ErrorCode::mismatch || code == ErrorCode::truncated ||
         code == ErrorCode::limit_exceeded;
}

bool is_of_unknown_version(const mixstack::Diagnosis& d) {
  // Runtimes before .NET 9 have no descriptor at all.
  const bool is_version = d.error.code == ErrorCode::unsupported || d.error.code == ErrorCode::contract_unsupported;
  return is_version && d.subject != kDescriptorSymbol;
}

RuntimeByContracts::RuntimeByContracts(std::shared_ptr<const KnownRuntime> known, const Target& target,
                                       const MemoryReader& live, const names::FileOpener& opener, Uses uses)
    : known_(std::move(known)),
      target_(target),
      live_(live),
      first_look_(target.memory(), kOfNames),
      second_look_(target.memory(), kOfNames),
      third_look_(target.memory(), {.page_size = 256, .max_pages = 1 << 16, .read_ahead_pages = 1}) {
  const RuntimeImage& image = known_->image;
  summary_.version = image.version_for_people();
  summary_.module_path = image.path;
  summary_.base = image.base;
  use_descriptor(opener, uses);
}

void RuntimeByContracts::lacks(mixstack::Diagnosis why) {
  if (is_damage(why.error.code)) {
    is_damaged_ = true;
    why.text = kDamaged;
  }
  summary_.missing.push_back(std::move(why));
}

void RuntimeByContracts::use_descriptor(const names::FileOpener& opener, Uses uses) {
  if (!known_->facts) {
    lacks(known_->facts.error());
    return;
  }
  runtime_ = *known_->facts;
  if (runtime_->no_code().error.code != ErrorCode::none) lacks(runtime_->no_code());
  for (const auto& refusal : runtime_->contracts().refusals()) lacks(refusal);
  for (const auto& entry : runtime_->supplement().entries())
    if (auto d = unavailable(entry)) summary_.missing.push_back(std::move(*d));
  if (runtime_->contracts().admits(Contract::thread)) roots_ = std::make_unique<ThreadRoots>(runtime_->layouts());
  const bool cpu_fits = runtime_->layouts().arch == target_.info().arch;
  if (!cpu_fits)
    summary_.missing.push_back(
        {{ErrorCode::mismatch, 0, 0}, "Architecture", "the descriptor is of another CPU than the process"});
  const RuntimeMemory memory = runtime_->memory(live_);
  gc_counts_ = find_gc_counts(memory, runtime_->image().dac_table);
  if (roots_ && gc_counts_) roots_->use_gc_counts(*gc_counts_);
  names::NameOptions options;
  options.fresh = &target_.memory();
  options.program = runtime_->image().is_single_file ? runtime_->image().path : target_.info().executable;
  names_ = std::make_unique<names::MethodNames>(memory, options, opener);
  summary_.walkable = runtime_->can_walk() && cpu_fits;
  if (!summary_.walkable || !uses.walks) return;
  code_ = std::make_unique<CodeManager>(memory, runtime_->contracts());
  stepper_ = std::make_unique<ManagedStepper>(*code_);
  if (uses.lines) lines_ = std::make_unique<names::SourceLines>(*code_, *names_, std::move(uses.fetch_pdb));
  if (lines_) inlined_ = std::make_unique<names::InlinedMethods>(*code_, *names_, *lines_);
  symbols_ = std::make_unique<names::ManagedSymbols>(*names_, runtime_->layouts(), lines_.get());
}

void RuntimeByContracts::begin_capture(const Capture& capture, const MemoryReader& overlay,
                                       unwind::RuleStepper& engine) {
  names_to_come_ = {};
  unnamed_.clear();
  thread_names_.reset();
  captured_.clear();
  is_frozen_ = capture.frozen != nullptr;
  is_sampled_ = capture.consistency == Consistency::not_stopped && capture.roots.empty();
  for (const ThreadCapture& t : capture.threads)
    if (t.captured && t.instant == 0) captured_.push_back(t.ns_tid);
  heap_.reset();
  task_methods_.reset();
  callers_.reset();
  waits_.reset();
  waits_without_objects_ = 0;
  objects_.reset();
  types_.reset();
  if (names_) names_->new_capture();
  if (inlined_) inlined_->new_capture();
  if (code_) code_->rebind(runtime_->memory(overlay));
  if (stepper_) stepper_->use(engine);
  // Objects of a running target are read past caches, which hold old bytes.
  if (stepper_) stepper_->begin_capture(is_frozen_ ? &overlay : &target_.memory());
  if (is_sampled_) note_gc_counts();
  threads_.set(roots_ ? read_threads(runtime_->memory(overlay)) : ThreadList{});
  note_suspension(overlay);
}

void RuntimeByContracts::note_suspension(const MemoryReader& overlay) {
  summary_.suspension.reset();
  if (!roots_) return;
  const auto found = read_suspension(runtime_->memory(overlay), threads());
  if (!found) return;
  Suspension& told = summary_.suspension.emplace();
  told.by = static_cast<ThreadId>(found->by);
  for (const std::uint64_t id : found->waits_for) told.waits_for.push_back(static_cast<ThreadId>(id));
}

CheckpointList RuntimeByContracts::checkpoints(const ManagedThread& thread, bool methods, std::size_t most) {
  return code_ ? read_checkpoints(*code_, thread, methods, most) : CheckpointList{};
}

bool RuntimeByContracts::marks(const ManagedThread& thread, const StackView& stack, Address sp,
                               std::vector<walk::Mark>& out) {
  return code_ && read_marks(*code_, thread, stack, sp, out);
}

CheckpointList RuntimeByContracts::sampled_checkpoints(const ManagedThread& thread, const MemorySlice& stack,
                                                       Address sp, bool methods) {
  if (!code_) return {};
  const memory::OverlayMemory sample(std::span(&stack, 1), &target_.memory());
  auto now = read_thread(runtime_->memory(target_.memory()), thread.address);
  if (!now || now->os_id != thread.os_id) return {};
  now->stack = thread.stack;
  return read_sampled_checkpoints(*code_, runtime_->memory(sample), *now, sp, methods);
}

std::optional<LastHijack> RuntimeByContracts::last_hijack(const ManagedThread& thread) {
  if (!code_) return std::nullopt;
  const auto last = read_last_hijack(runtime_->memory(target_.memory()), thread.address);
  if (!last || !code_->is_managed(CodeAddress::after_call(last->return_address))) return std::nullopt;
  return *last;
}

ManagedThreadFacts RuntimeByContracts::facts(const ManagedThread& thread) {
  ManagedThreadFacts facts;
  facts.managed_id = thread.id;
  facts.cooperative = thread.cooperative;
  facts.state = thread.state;
  if (!roots_) return facts;
  const RuntimeMemory memory = captured_memory();
  facts.allocated_bytes = allocated_bytes(memory, thread.address);
  if (names_to_come_.valid())
    unnamed_.push_back(static_cast<ThreadId>(thread.os_id));
  else
    facts.name = thread_name(thread);
  names::ExceptionReader exceptions(memory, code_.get(), *names_);
  read_exceptions(memory, thread, exceptions, facts);
  return facts;
}

std::vector<ManagedThread> RuntimeByContracts::captured_threads() const {
  std::vector<ManagedThread> threads;
  for (const ThreadId tid : captured_)
    if (const ManagedThread* t = thread(tid)) threads.push_back(*t);
  return threads;
}

/// Reads nothing of the capture's overlay, which the walking thread uses meanwhile.
RuntimeByContracts::NamesByThread RuntimeByContracts::read_thread_names(
    std::vector<ManagedThread> asked, const std::optional<std::vector<std::uint64_t>>& gc_counts) {
  for (memory::CachedMemory* look : {&first_look_, &second_look_, &third_look_}) look->clear();
  std::vector<AddressRange> objects;
  objects.reserve(asked.size());
  for (const ManagedThread& t : asked) objects.push_back({t.address, t.address + runtime_->layouts().thread.extent});
  third_look_.fetch_when_missed(objects);
  const RuntimeMemory memory = runtime_->memory(target_.memory());
  const auto has_moved = [&] {
    return !is_frozen_ && (!gc_counts || gc_counts != read_gc_counts(memory, *gc_counts_));
  };
  const auto names = names_of_threads_.read(runtime_->memory(first_look_), runtime_->memory(second_look_),
                                            runtime_->memory(third_look_), memory, asked, has_moved);
  NamesByThread by_thread;
  for (std::size_t i = 0; i < asked.size(); i++)
    by_thread.emplace(asked[i].address, names[i] ? symbols::printable(*names[i]) : std::string());
  return by_thread;
}

void RuntimeByContracts::begin_names(base::Beside& beside) {
  constexpr std::size_t kMany = 64;  // these take a millisecond
  if (!roots_ || is_frozen_ || thread_names_ || captured_.size() < kMany) return;
  names_to_come_ = beside.run([this, threads = captured_threads(), counts = captured_gc_counts()]() mutable {
    return read_thread_names(std::move(threads), counts);
  });
}

void RuntimeByContracts::name_threads(std::span<ThreadDump> threads) {
  if (!names_to_come_.valid()) return;
  thread_names_ = names_to_come_.get();
  std::sort(unnamed_.begin(), unnamed_.end());
  for (ThreadDump& t : threads) {
    const ManagedThread* known = thread(t.ns_tid);
    const bool is_ours = t.managed && std::binary_search(unnamed_.begin(), unnamed_.end(), t.ns_tid);
    if (is_ours && known != nullptr) t.managed->name = thread_name(*known);
  }
  unnamed_.clear();
}

std::string RuntimeByContracts::thread_name(const ManagedThread& thread) {
  if (!thread_names_) thread_names_ = read_thread_names(captured_threads(), captured_gc_counts());
  if (const auto known = thread_names_->find(thread.address); known != thread_names_->end()) return known->second;
  const auto name = dotnet::thread_name(runtime_->memory(target_.memory()), thread);
  return name ? symbols::printable(*name) : std::string();
}

std::string RuntimeByContracts::why_not_known() const {
  const auto refusal = std::find_if(summary_.missing.begin(), summary_.missing.end(), is_of_unknown_version);
  if (refusal == summary_.missing.end()) return {};
  return "the runtime describes itself in a version that is not known (" + refusal->subject + ")";
}

/// Names the contract without which objects, and so waits, cannot be read; empty: none.
std::string RuntimeByContracts::why_no_objects() const {
  if (!runtime_) return "the runtime's description of itself is not one that is known";
  for (const Contract c : {Contract::thread, Contract::execution_manager, Contract::object,
                           Contract::runtime_type_system, Contract::loader, Contract::ecma_metadata})
    if (!runtime_->contracts().admits(c))
      return "the runtime describes itself in a way that is not known (" + std::string(contract_name(c)) + ")";
  return {};
}

std::string RuntimeByContracts::why_no_waits() {
  if (std::string why = why_not_known(); !why.empty() && thread_waits() == nullptr) return why;
  if (std::string why = why_no_objects(); !why.empty()) return why;
  const Layouts* l = runtime_ ? &runtime_->layouts() : nullptr;
  if (thread_waits() == nullptr || !l->thread.thread_local_data || !l->ee_class.num_instance_fields)
    return "it is told from .NET 10 on";
  // A running process has all of it; threads that begin and end meanwhile prove nothing. For a recorded target,
  // can_be_told() also reads it all, so that a pack made of it holds it.
  const bool is_recorded = dynamic_cast<const memory::WitnessedMemory*>(&target_.memory()) != nullptr;
  const bool is_all_there = (!is_frozen_ && !is_recorded) || waits_->can_be_told();
  if (types_->modules().empty() || (is_frozen_ && !is_all_there)) return "the memory of its heap is not there";
  return objects::why_waits_are_unknown(*objects_);
}

std::vector<AddressRange> RuntimeByContracts::places_of_waits() {
  constexpr Address kDirectStatics = 256;  // of a ThreadLocalData: counts, arrays, and the statics inside it
  std::vector<AddressRange> places;
  if (thread_waits() == nullptr) return places;
  const RuntimeMemory memory = captured_memory();
  for (const ManagedThread& t : threads()) {
    if (t.os_id == 0 || t.is_dead()) continue;
    const auto data = memory.pointer(t.address, memory.layouts().thread.thread_local_data);
    if (data && *data != 0 && *data < ~kDirectStatics) places.push_back({*data, *data + kDirectStatics});
  }
  return places;
}

/// Methods that wait may be inlined into their callers, down to the call of native code: then no frame of them is left,
/// but the Frame of that call, which lies in the caller's own, names its target. Empty: there is no such Frame.
std::vector<objects::WaitFrame> RuntimeByContracts::frames_with_inlined_call(const objects::WaitingThread& at) {
  if (at.thread == nullptr) return {};
  const auto caller = std::find_if(at.frames.begin(), at.frames.end(), [](const auto& f) { return f.is_managed; });
  const Address frame = at.thread->frame;
  if (caller == at.frames.begin() || caller == at.frames.end() || frame < caller->sp || frame >= caller->cfa) return {};
  const RuntimeMemory& memory = objects_->memory();
  const auto record = read_frame(memory, frame);
  if (!record || record->type != FrameType::inlined_call) return {};
  const auto method = frame_method(memory, *record);
  const auto name = method && *method != 0 ? names_->describe(*method) : fail(ErrorCode::not_found);
  if (!name) return {};
  std::vector<objects::WaitFrame> frames(at.frames.begin(), at.frames.end());
  frames.insert(frames.begin() + (caller - at.frames.begin()), {frame, frame, true, (*name)->name});
  return frames;
}

ThreadWait RuntimeByContracts::wait_of(const objects::WaitingThread& at) {
  objects::ThreadWaits* waits = thread_waits();
  if (waits == nullptr) return {};
  ThreadWait wait = waits->of(at);
  std::vector<objects::WaitFrame> frames;
  objects::WaitingThread with_call = at;
  if (wait.kind == WaitKind::none) frames = frames_with_inlined_call(at);
  if (!frames.empty()) {
    with_call.frames = frames;
    wait = waits->of(with_call);
  }
  if (wait.kind == WaitKind::none && is_frozen_ && objects::ThreadWaits::is_for_an_object(with_call))
    waits_without_objects_++;
  if (!task_methods_) task_methods_ = std::make_unique<objects::TaskMethods>(*objects_, *code_, *names_);
  wait.method = task_methods_->of(wait);
  return wait;
}

objects::EndsOfWork RuntimeByContracts::ends_of_work(std::span<const objects::WaitingThread> threads) {
  if (thread_waits() == nullptr) return {};
  return objects::ends_of_work(*objects_, threads);
}

std::optional<std::vector<objects::LogicalCaller>> RuntimeByContracts::async_callers(const objects::WaitingThread& at) {
  if (thread_waits() == nullptr || types_->modules().empty()) return std::nullopt;
  if (!callers_) callers_ = std::make_unique<objects::AsyncCallers>(*objects_, *code_, *names_);
  return callers_->of(at);
}

std::optional<PendingWork> RuntimeByContracts::pending_work(std::span<const objects::WaitedTask> waits,
                                                            std::span<const objects::WaitingThread> threads,
                                                            bool data) {
  objects::ThreadWaits* by_thread = thread_waits();
  if (by_thread == nullptr || types_->modules().empty()) return std::nullopt;
  // Environment.TickCount64 is this clock in milliseconds; its value at the time of a core is not known.
  std::optional<std::int64_t> now;
  if (!is_frozen_) {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    now = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  }
  objects::PendingWorkReader reader(*objects_, *code_, *names_, now, data);
  auto found = reader.read(waits, threads, by_thread->running_tasks());
  // If objects were moved or freed meanwhile, variables may hold anything.
  if (data && !objects_stand_still())
    for (AsyncChain& chain : found.chains)
      for (AsyncStep& step : chain.steps) step.values.clear();
  return found;
}

/// Nothing where there are no counts, or a collection was at work.
std::optional<std::vector<std::uint64_t>> RuntimeByContracts::captured_gc_counts() const {
  return gc_counts_ ? read_gc_counts(captured_memory(), *gc_counts_) : std::nullopt;
}

/// Objects are where references of the captured stacks point: no collection was at work at that moment.
bool RuntimeByContracts::objects_stand_at_capture() const {
  if (gc_counts_) return captured_gc_counts().has_value();
  return is_frozen_ && !summary_.suspension;  // in a running process nothing would tell when they have moved
}

/// Objects still are where they were at the capture.
bool RuntimeByContracts::objects_stand_still() const {
  if (is_frozen_ || !gc_counts_) return objects_stand_at_capture();
  const auto then = captured_gc_counts();
  return then && then == read_gc_counts(runtime_->memory(target_.memory()), *gc_counts_);
}

void RuntimeByContracts::note_gc_counts() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  if (!gc_counts_) return;
  auto counts = read_gc_counts(runtime_->memory(target_.memory()), *gc_counts_);
  if (counts && counts == last_gc_counts_) return;
  last_gc_counts_ = std::move(counts);
  unmoved_since_ns_ = static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

void RuntimeByContracts::confirm_generic_contexts(std::span<Frame> frames, std::uint64_t taken_ns) {
  const auto of_object = [](const Frame& frame) { return frame.generic_of_object; };
  if (std::none_of(frames.begin(), frames.end(), of_object)) return;
  if (is_sampled_) note_gc_counts();
  const bool stand =
      is_sampled_ ? last_gc_counts_ && taken_ns != 0 && taken_ns >= unmoved_since_ns_ : objects_stand_still();
  if (stand) return;
  for (Frame& frame : frames)
    if (of_object(frame)) frame.generic_handle = 0;
}

std::vector<std::optional<std::vector<ProgramValue>>> RuntimeByContracts::arguments(
    std::span<const objects::ArgumentFrame> frames, bool data) {
  // Types are read from .NET 10 on; without them hardly a value can be read.
  if (thread_waits() == nullptr || !runtime_->layouts().ee_class.num_instance_fields) return {};
  const auto read = [&](bool objects_stand) {
    objects::Arguments reader(*objects_, *code_, *names_, {data, objects_stand});
    std::vector<std::optional<std::vector<ProgramValue>>> all;
    all.reserve(frames.size());
    for (const objects::ArgumentFrame& frame : frames) all.push_back(reader.of(frame));
    return all;
  };
  if (objects_stand_at_capture())
    if (auto all = read(true); objects_stand_still()) return all;
  return read(false);
}

RuntimeCounters RuntimeByContracts::counters(const images::ModuleMap& modules) {
  if (!runtime_ || !names_) return {};
  if (!counters_) counters_ = std::make_unique<FoundCounters>(runtime_, target_, *names_);
  return counters_->read(modules);
}

objects::HeapReader* RuntimeByContracts::heap() {
  if (thread_waits() == nullptr || types_->modules().empty()) return nullptr;
  if (!heap_) heap_ = std::make_unique<objects::HeapReader>(*objects_, *code_, *names_, known_->image.dac_table);
  return heap_.get();
}

ManagedMemory RuntimeByContracts::managed_memory() {
  if (!runtime_ || !roots_) return ManagedRuntime::managed_memory();
  // One cache of one moment, more or less: lists would cost a system call for each link.
  const memory::CachedMemory now(target_.memory());
  return objects::runtime_ranges(runtime_->memory(now), known_->image.dac_table, target_.info().page_size);
}

std::unique_ptr<objects::HeapCounter> RuntimeByContracts::heap_counter() {
  if (!runtime_ || !roots_ || !names_) return nullptr;
  return std::make_unique<objects::HeapCounter>(runtime_->memory(target_.memory()), known_->image.dac_table, *names_);
}

std::unique_ptr<objects::NewObjects> RuntimeByContracts::new_objects() {
  if (!runtime_ || !roots_ || !names_) return nullptr;
  return std::make_unique<objects::NewObjects>(runtime_->memory(target_.memory()), known_->image.dac_table, *names_);
}

std::unique_ptr<holders::HolderReader> RuntimeByContracts::holder_reader() {
  if (!runtime_ || !roots_ || !names_ || !code_) return nullptr;
  return std::make_unique<holders::HolderReader>(runtime_->memory(target_.memory()), known_->image.dac_table, *names_,
                                                 *code_);
}

objects::ThreadWaits* RuntimeByContracts::thread_waits() {
  if (!code_ || !roots_) return nullptr;
  if (!waits_) {
    // With samples only stacks were captured, and a cache holds objects of another time.
    const RuntimeMemory memory = is_sampled_ ? runtime_->memory(target_.memory()) : captured_memory();
    types_ = std::make_unique<objects::LoadedTypes>(memory, *names_);
    objects_ = std::make_unique<objects::ManagedObjects>(*types_);
    const bool are_all = thread_list_error().code == ErrorCode::none;
    waits_ = std::make_unique<objects::ThreadWaits>(*objects_, threads(), are_all,
                                                    is_frozen_ ? nullptr : &target_.memory(), finalizer_os_id());
  }
  return waits_.get();
}

void RuntimeByContracts::explain_abort(std::span<const SymbolInfo> symbols, ThreadDump& thread) {
  if (runtime_ && this->thread(thread.ns_tid) != nullptr)
    dotnet::explain_abort(captured_memory(), summary_, symbols, thread);
}

std::vector<FreedFrame> RuntimeByContracts::freed_code(const ProcessDump& dump, const Capture& capture,
                                                       const MemoryReader& now) {
  if (!code_) return {};
  const FreeableCode code{[&](const Frame& f) { return code_->find(f.pc).is_collectible; },
                          [&](const Frame& f) { return is_same_code(f, now); }, finalizer_os_id()};
  return find_freed_code(dump, capture, code, now);
}

std::vector<std::string> RuntimeByContracts::files_missing() const {
  return names_ ? names_->files_missing() : std::vector<std::string>{};
}

std::vector<std::string> RuntimeByContracts::files_used() const {
  return names_ ? names_->files_used() : std::vector<std::string>{};
}

RuntimeMemory RuntimeByContracts::captured_memory() const { return code_ ? code_->memory() : runtime_->memory(live_); }

std::uint64_t RuntimeByContracts::finalizer_os_id() const {
  const auto& global = runtime_->layouts().globals.finalizer_thread;
  if (!global) return 0;
  const auto finalizer = code_->memory().through(global);
  if (!finalizer) return 0;
  const auto is_it = [&](const ManagedThread& t) { return t.address == *finalizer; };
  const auto found = std::find_if(threads().begin(), threads().end(), is_it);
  return found == threads().end() ? 0 : found->os_id;
}

bool RuntimeByContracts::is_same_code(const Frame& frame, const MemoryReader& now) {
  CodeManager again(runtime_->memory(now), runtime_->contracts());
  const CodeInfo info = again.find(frame.pc);
  const CodeInfo& before = code_->find(frame.pc);
  return info.kind == before.kind && info.method_desc == before.method_desc &&
         info.method_start == before.method_start && info.code_header == before.code_header;
}

}  // namespace mixstack::dotnet
