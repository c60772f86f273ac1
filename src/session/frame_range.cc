// Frames of a walk one by one: a FrameRange steps only until the next frame is settled, that is, no later step can
// remove it.
#include <optional>

#include "mixstack/walker.h"
#include "session/walker_implementation.h"

namespace mixstack {

class FrameRange::Implementation {
 public:
  /// All frames of a walk that is done.
  Implementation(session::CaptureWalk& walk, Trace whole)
      : walk_(walk),
        captured_(whole.stop != StopReason::not_captured),
        error_(whole.stop_error),
        whole_(std::move(whole)) {}
  Implementation(session::CaptureWalk& walk, const ThreadCapture& thread)
      : walk_(walk),
        thread_(&thread),
        checkpoints_(walk.checkpoints_of(thread)),
        captured_(thread.captured),
        error_(thread.error) {
    if (!captured_) return;
    input_ = walk.input_for(thread);
    input_.checkpoints = checkpoints_.checkpoints;
    progress_ = walk.walker().begin(input_);
    settle();
  }
  [[nodiscard]] bool at_end() const {
    if (whole_) return next_ >= whole_->frames.size();
    return !progress_ || next_ >= progress_->settled();
  }
  [[nodiscard]] const Frame& current() const { return whole_ ? whole_->frames[next_] : current_; }
  void advance() {
    next_++;
    if (!whole_) settle();
  }
  [[nodiscard]] StopReason stop() const {
    if (whole_) return whole_->stop;
    return progress_ ? judged().stop : StopReason::not_captured;
  }
  [[nodiscard]] Error stop_error() const { return progress_ ? judged().stop_error : error_; }

 private:
  void settle() {
    while (next_ >= progress_->settled() && progress_->step()) {
    }
    if (at_end()) return;
    current_ = progress_->trace().frames[next_];
    walk_.confirm(std::span(&current_, 1), *thread_);
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
  const ThreadCapture* thread_ = nullptr;  // of a walk in progress
  Frame current_;                          // likewise
  dotnet::CheckpointList checkpoints_;
  bool captured_;
  Error error_;
  ThreadInput input_;
  std::unique_ptr<walk::WalkInProgress> progress_;
  std::optional<Trace> whole_;
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

FrameRange Walker::frames(const ThreadCapture& thread) {
  session::CaptureWalk& walk = implementation_->walk_of(thread);
  if (implementation_->has_other_code(thread))
    return FrameRange(std::make_unique<FrameRange::Implementation>(walk, implementation_->trace_of(thread)));
  return FrameRange(std::make_unique<FrameRange::Implementation>(walk, thread));
}

}  // namespace mixstack
