// The public walker over one capture: whole traces, frames one by one, addresses, names.
//
// Input: a Capture, a worker leased from the session, WalkOptions. Output: what the caller asks for, thread by thread.
// Algorithm: a thread that stopped late belongs to a capture of its own (ThreadCapture::instant), whose CaptureWalk is
// made when first asked for. Runtimes know one capture at a time, so each call binds them to the capture of its thread.
// A FrameRange steps only until the next frame is settled, that is, no later step can remove it. If a late capture has
// other code mapped, its threads are walked whole first, because frames in replaced code must be marked.
// Bounds: WalkOptions::max_frames; one CaptureWalk for each late capture; `out` of `addresses`.
#include "mixstack/walker.h"

#include <algorithm>
#include <optional>

#include "session/dotnet_view.h"
#include "session/inlined_frames.h"
#include "session/unloaded_code.h"
#include "session/walker_implementation.h"

namespace mixstack {
namespace {

/// Runtimes and steppers are bound to captures: a context is one without threads.
Capture without_threads(const Target& target, WalkContext context) {
  Capture capture;
  capture.arch = target.info().arch;
  capture.consistency = context.consistency;
  capture.regions = std::move(context.regions);
  return capture;
}

}  // namespace

std::vector<NameProvider*> name_providers(std::span<const std::shared_ptr<NameProvider>> users,
                                          std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes,
                                          NameProvider& generated, NameProvider& native) {
  std::vector<NameProvider*> all;
  for (const auto& p : users) all.push_back(p.get());
  for (const auto& runtime : runtimes)
    if (NameProvider* names = runtime->names()) all.push_back(names);
  all.push_back(&generated);
  all.push_back(&native);
  return all;
}

void join_late(Capture& capture) {
  if (capture.late.empty()) return;  // in the source's order
  if (capture.threads.empty() && capture.late.size() == 1) {
    Capture only = std::move(capture.late.front());
    only.frozen = capture.frozen;
    only.pause = capture.pause;
    only.threads_not_stopped = capture.threads_not_stopped;
    capture = std::move(only);
    return;
  }
  for (std::size_t i = 0; i < capture.late.size(); i++) {
    capture.late[i].frozen = capture.frozen;
    for (const ThreadCapture& thread : capture.late[i].threads) {
      capture.threads.push_back(thread);
      capture.threads.back().instant = static_cast<std::uint32_t>(i + 1);
    }
  }
  std::stable_sort(capture.threads.begin(), capture.threads.end(),
                   [](const ThreadCapture& a, const ThreadCapture& b) { return a.tid < b.tid; });
}

Walker::Implementation::Implementation(Parts given, Capture captured, const WalkOptions& wanted)
    : parts(std::move(given)),
      options(wanted),
      capture(std::move(captured)),
      regions(*capture.regions),
      elf(parts.worker->modules(), parts.open_path, parts.tables),
      native(elf, parts.worker->modules(), parts.open_path, parts.tables, parts.lines),
      generated(parts.worker->generated(), regions),
      walk(capture, parts.target, *parts.worker, regions, elf, parts.users, options),
      symbolizer(name_providers(parts.providers, parts.worker->runtimes(), generated, native)),
      late_walks_(capture.late.size()),
      bound_(&walk) {}

std::unique_ptr<Walker::Implementation> Walker::Implementation::over(WalkContext context, Parts parts,
                                                                     const WalkOptions& options) {
  Capture capture = without_threads(parts.target, std::move(context));
  return std::make_unique<Implementation>(std::move(parts), std::move(capture), options);
}

const Capture* Walker::Implementation::late_capture(const ThreadCapture& thread) const {
  return thread.instant == 0 || thread.instant > capture.late.size() ? nullptr : &capture.late[thread.instant - 1];
}

session::CaptureWalk& Walker::Implementation::walk_of(const ThreadCapture& thread) {
  if (late_capture(thread) == nullptr) return common();
  auto& made = late_walks_[thread.instant - 1];
  if (!made) {
    Capture& late = capture.late[thread.instant - 1];
    const std::span<const Region> mapped = late.regions ? *late.regions : regions;
    made = std::make_unique<session::CaptureWalk>(late, parts.target, *parts.worker, mapped, elf, parts.users, options);
    bound_ = made.get();
  }
  if (bound_ != made.get()) made->bind();
  bound_ = made.get();
  return *made;
}

session::CaptureWalk& Walker::Implementation::common() {
  if (bound_ != &walk) walk.bind();
  bound_ = &walk;
  return walk;
}

bool Walker::Implementation::has_other_code(const ThreadCapture& thread) const {
  const Capture* late = late_capture(thread);
  return late != nullptr && late->regions &&
         !session::are_same_mappings(session::image_mappings(regions), session::image_mappings(*late->regions));
}

void Walker::Implementation::take_diagnoses() {
  for (Diagnosis& d : walk.take_diagnoses()) diagnoses.push_back(std::move(d));
  for (const auto& late : late_walks_)
    if (late)
      for (Diagnosis& d : late->take_diagnoses()) diagnoses.push_back(std::move(d));
  if (auto refusal = parts.worker->generated()->take_refusal()) diagnoses.push_back(std::move(*refusal));
}

Trace Walker::Implementation::trace_of(const ThreadCapture& thread) {
  session::CaptureWalk& walk = walk_of(thread);
  if (!has_other_code(thread)) return walk.trace(thread);
  ThreadDump dump;
  dump.trace = walk.trace(thread);
  session::doubt_code_of_another_time(dump, session::image_mappings(regions),
                                      session::image_mappings(*late_capture(thread)->regions));
  return std::move(dump.trace);
}

Walker::Walker(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
Walker::Walker(Walker&&) noexcept = default;
Walker& Walker::operator=(Walker&&) noexcept = default;
Walker::~Walker() = default;

const Capture& Walker::capture() const { return implementation_->capture; }

const std::shared_ptr<const std::vector<Region>>& Walker::regions() const { return implementation_->capture.regions; }

const ThreadCapture* Walker::thread(ThreadId tid) const {
  const auto& all = implementation_->capture.threads;
  const auto at = std::find_if(all.begin(), all.end(), [tid](const ThreadCapture& t) { return t.tid == tid; });
  return at == all.end() ? nullptr : &*at;
}

Trace Walker::walk(const ThreadCapture& thread) { return implementation_->trace_of(thread); }

AddressTrace Walker::addresses(const ThreadCapture& thread, std::span<CodeAddress> out) {
  return implementation_->walk_of(thread).addresses(thread, out);
}

std::optional<std::size_t> Walker::plain_addresses(const ThreadCapture& thread, std::span<CodeAddress> out) {
  session::CaptureWalk& walk = implementation_->walk_of(thread);
  if (!walk.is_sampled()) return std::nullopt;
  const auto plain = walk.plain_addresses(thread, out);
  return plain && !plain->is_cut ? std::optional(plain->count) : std::nullopt;
}

Cursor Walker::initial(const ThreadCapture& thread) {
  session::CaptureWalk& walk = implementation_->walk_of(thread);
  return walk.walker().initial(walk.input_for(thread));
}

StepOutcome Walker::step(Cursor& cursor, const ThreadCapture& thread) {
  session::CaptureWalk& walk = implementation_->walk_of(thread);
  return walk.walker().step(cursor, walk.input_for(thread));
}

std::optional<ManagedThreadFacts> Walker::managed(const ThreadCapture& thread) {
  const auto owner = implementation_->walk_of(thread).owner_of(thread);
  if (owner.thread == nullptr) return std::nullopt;
  return owner.runtime->facts(*owner.thread);
}

std::optional<bool> Walker::is_cooperative(const ThreadCapture& thread) {
  const auto owner = implementation_->walk_of(thread).owner_of(thread);
  if (owner.thread == nullptr) return std::nullopt;
  return owner.thread->cooperative;
}

bool Walker::keeps_name(const Frame& frame) {
  if (frame.kind == FrameKind::native) return frame.module != kNoModule;
  const auto runtimes = implementation_->parts.worker->runtimes();
  return std::any_of(runtimes.begin(), runtimes.end(), [&](const auto& runtime) { return runtime->keeps_code(frame); });
}

const Frame* Walker::callee_of(std::span<const Frame> frames, std::size_t caller) {
  return session::callee_of(frames, caller);
}

std::vector<SymbolInfo> Walker::inlined_at(const Frame& frame, const Frame* callee) {
  std::vector<SymbolInfo> chain;
  if (frame.kind != FrameKind::managed || frame.method == 0 || (callee == nullptr && !frame.pc.is_exact()))
    return chain;
  for (const auto& runtime : implementation_->parts.worker->runtimes())
    if (chain.empty()) chain = runtime->inlined_at(frame, callee);
  return chain;
}

std::vector<SymbolInfo> Walker::may_contain(CodeAddress pc) {
  std::vector<SymbolInfo> contained;
  for (const auto& runtime : implementation_->parts.worker->runtimes())
    if (contained.empty()) contained = runtime->may_contain(pc);
  return contained;
}

std::shared_ptr<const void> Walker::generation() const { return implementation_->parts.worker->facts(); }

std::vector<dotnet::Runtime> Walker::runtimes() {
  std::vector<dotnet::Runtime> all;
  for (const auto& runtime : implementation_->parts.worker->runtimes())
    all.emplace_back(std::make_shared<dotnet::Runtime::Implementation>(*runtime, *implementation_));
  return all;
}

const SymbolInfo& Walker::name(const Frame& frame) {
  const std::deque<SymbolInfo>& symbols = implementation_->symbolizer.symbols();
  const SymbolInfo* symbol = &symbols[implementation_->symbolizer.name(frame)];
  while (symbol->inlined_into != 0) symbol = &symbols[symbol->inlined_into];
  return *symbol;
}

Symbolizer& Walker::symbolizer() { return implementation_->symbolizer; }

std::vector<Diagnosis> Walker::diagnoses() {
  implementation_->take_diagnoses();
  std::vector<Diagnosis> all = implementation_->diagnoses;
  if (const auto& finder = implementation_->parts.finder)
    for (Diagnosis& d : finder->diagnoses()) all.push_back(std::move(d));
  return all;
}

}  // namespace mixstack
