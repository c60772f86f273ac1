#include "mixstack/walker.h"

#include <algorithm>

#include "session/dotnet_view.h"
#include "session/walker_implementation.h"

namespace mixstack {

std::vector<NameProvider*> name_providers(std::span<const std::shared_ptr<NameProvider>> users,
                                          std::span<const std::unique_ptr<session::ClrRuntime>> runtimes,
                                          NameProvider& elf) {
  std::vector<NameProvider*> all;
  for (const auto& p : users) all.push_back(p.get());
  for (const auto& runtime : runtimes)
    if (runtime->is_walkable()) all.push_back(&runtime->symbols());
  all.push_back(&elf);
  return all;
}

Walker::Implementation::Implementation(const Parts& parts, Capture captured, std::vector<Region> mapped,
                                       const WalkOptions& options)
    : capture(std::move(captured)),
      regions(std::move(mapped)),
      runtimes(parts.runtimes),
      elf(parts.modules, parts.open_path, parts.tables),
      native(parts.modules, capture.arch, capture.pac_mask, parts.unwind_tables),
      walk(capture, parts.target, parts.live, parts.modules, parts.runtimes, regions, elf, parts.users, options,
           native),
      symbolizer(name_providers(parts.providers, parts.runtimes, elf)) {}

class FrameRange::Implementation {
 public:
  Implementation(session::CaptureWalk& walk, const ThreadCapture& thread)
      : walk_(walk), checkpoints_(walk.checkpoints_of(thread)), captured_(thread.captured), error_(thread.error) {
    if (!captured_) return;
    input_ = walk.input_for(thread);
    input_.checkpoints = checkpoints_.checkpoints;
    progress_ = walk.walker().begin(input_);
    settle();
  }
  [[nodiscard]] bool at_end() const { return !progress_ || next_ >= progress_->settled(); }
  [[nodiscard]] const Frame& current() const { return progress_->trace().frames[next_]; }
  void advance() {
    next_++;
    settle();
  }
  [[nodiscard]] StopReason stop() const { return progress_ ? judged().stop : StopReason::not_captured; }
  [[nodiscard]] Error stop_error() const { return progress_ ? judged().stop_error : error_; }

 private:
  void settle() {
    while (next_ >= progress_->settled() && progress_->step()) {
    }
  }
  [[nodiscard]] Trace judged() const {
    Trace end;
    end.stop = progress_->trace().stop;
    end.stop_error = progress_->trace().stop_error;
    if (!progress_->trace().frames.empty()) end.frames.push_back(progress_->trace().frames.back());
    walk_.judge_stop(end);
    return end;
  }

  session::CaptureWalk& walk_;
  dotnet::CheckpointList checkpoints_;
  bool captured_;
  Error error_;
  ThreadInput input_;
  std::unique_ptr<walk::WalkInProgress> progress_;
  std::size_t next_ = 0;
};

FrameRange::FrameRange(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
FrameRange::FrameRange(FrameRange&&) noexcept = default;
FrameRange& FrameRange::operator=(FrameRange&&) noexcept = default;
FrameRange::~FrameRange() = default;
StopReason FrameRange::stop() const { return implementation_->stop(); }
Error FrameRange::stop_error() const { return implementation_->stop_error(); }
const Frame& FrameRange::current() const { return implementation_->current(); }
void FrameRange::advance() { implementation_->advance(); }
bool FrameRange::at_end() const { return implementation_->at_end(); }

Walker::Walker(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
Walker::Walker(Walker&&) noexcept = default;
Walker& Walker::operator=(Walker&&) noexcept = default;
Walker::~Walker() = default;

const Capture& Walker::capture() const { return implementation_->capture; }

const ThreadCapture* Walker::thread(ThreadId tid) const {
  const auto& all = implementation_->capture.threads;
  const auto at = std::find_if(all.begin(), all.end(), [tid](const ThreadCapture& t) { return t.tid == tid; });
  return at == all.end() ? nullptr : &*at;
}

Trace Walker::walk(const ThreadCapture& thread) { return std::move(implementation_->walk.walk(thread).trace); }

FrameRange Walker::frames(const ThreadCapture& thread) {
  return FrameRange(std::make_unique<FrameRange::Implementation>(implementation_->walk, thread));
}

Cursor Walker::initial(const ThreadCapture& thread) {
  return implementation_->walk.walker().initial(implementation_->walk.input_for(thread));
}

StepOutcome Walker::step(Cursor& cursor, const ThreadCapture& thread) {
  return implementation_->walk.walker().step(cursor, implementation_->walk.input_for(thread));
}

std::optional<ManagedThreadFacts> Walker::managed(const ThreadCapture& thread) {
  const auto owner = implementation_->walk.owner_of(thread);
  if (owner.thread == nullptr) return std::nullopt;
  return owner.runtime->facts(*owner.thread);
}

std::vector<dotnet::Runtime> Walker::runtimes() {
  std::vector<dotnet::Runtime> all;
  for (const auto& runtime : implementation_->runtimes)
    all.emplace_back(std::make_shared<dotnet::Runtime::Implementation>(*runtime, implementation_->walk));
  return all;
}

const SymbolInfo& Walker::name(const Frame& frame) {
  return implementation_->symbolizer.symbols()[implementation_->symbolizer.name(frame)];
}

Symbolizer& Walker::symbolizer() { return implementation_->symbolizer; }

std::vector<Diagnosis> Walker::diagnoses() {
  for (Diagnosis& d : implementation_->walk.take_diagnoses()) implementation_->diagnoses.push_back(std::move(d));
  return implementation_->diagnoses;
}

}  // namespace mixstack
