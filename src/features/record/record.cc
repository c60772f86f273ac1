#include "mixstack/record.h"

#include <unistd.h>

#include <utility>

#include "features/record/recordings.h"

namespace mixstack {
namespace {

using record::Recordings;

record::RecordingsOptions recordings_options(const RecordOptions& wanted) {
  record::RecordingsOptions options;
  options.recorder = record::recorder_options(wanted);
  options.keeps_pieces = wanted.pieces != nullptr;
  return options;
}

bool may_go_on(Recordings& recordings, const RecordOptions& wanted, RecordStep step) {
  if (!wanted.progress) return true;
  RecordProgress now{.step = step};
  if (step != RecordStep::open) {
    now.elapsed = std::chrono::nanoseconds(recordings.elapsed_ns());
    now.lost = recordings.lost();
    const std::lock_guard lock(recordings.shared().mutex);
    now.samples = recordings.shared().recording.facts.account.samples;
  }
  return wanted.progress(now);
}

/// Hands samples on from time to time.
class Pieces {
 public:
  explicit Pieces(const RecordOptions& wanted) : wanted_(wanted) {}
  void hand_on(Recordings& recordings, bool is_last) {
    if (!wanted_.pieces) return;
    const std::chrono::nanoseconds now(recordings.elapsed_ns());
    if (!is_last && now < next_) return;
    next_ = now + wanted_.piece_interval;
    wanted_.pieces(recordings.take_piece());
  }

 private:
  const RecordOptions& wanted_;
  std::chrono::nanoseconds next_ = wanted_.piece_interval;
};

}  // namespace

Result<Recording> record_stacks(Session& session, const RecordOptions& options) {
  if (options.duration.count() <= 0 && !options.progress) return fail(ErrorCode::invalid_argument);
  const TargetInfo& target = session.target().info();
  if (!target.core_path.empty() || target.pid == static_cast<std::uint32_t>(::getpid()))
    return fail(ErrorCode::unsupported);
  Recordings recordings(recordings_options(options));
  if (!may_go_on(recordings, options, RecordStep::open)) return fail(ErrorCode::cancelled);
  const std::shared_ptr<Session> borrowed(std::shared_ptr<Session>(), &session);
  if (const auto begun = recordings.begin(borrowed); !begun) return fail(begun.error().error);
  Pieces pieces(options);
  recordings.start(options.duration);
  record::RunHooks hooks;
  hooks.look = [&] {
    pieces.hand_on(recordings, false);
    return may_go_on(recordings, options, RecordStep::sample);
  };
  const record::RunEnd end = recordings.run(options.duration, hooks);
  (void)may_go_on(recordings, options, RecordStep::finish);
  recordings.finish();
  pieces.hand_on(recordings, true);
  const Error failure = recordings.failure().first;
  Recording& recording = recordings.shared().recording;
  if (failure.code != ErrorCode::none && recording.facts.account.samples == 0) return fail(failure);
  if (end == record::RunEnd::process && failure.code == ErrorCode::none)
    recording.facts.notes.emplace_back("the process ended while it was recorded");
  return std::move(recording);
}

}  // namespace mixstack
