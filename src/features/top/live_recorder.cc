#include "features/top/live_recorder.h"

#include <utility>

#include "features/record/recorded_facts.h"

namespace mixstack::top {
namespace {

/// Whether the recording takes some 60 MiB, beside the session.
bool is_large(const Recording& recording) {
  return recording.nodes().size() > (1u << 18) || recording.frames().size() > (1u << 17) ||
         recording.functions().size() > (1u << 16) || recording.contexts().size() > (1u << 17) ||
         recording.threads().size() > (1u << 15);
}

}  // namespace

LiveRecorder::LiveRecorder(LiveRecorderOptions options, std::uint32_t pid)
    : options_(std::move(options)), pid_(pid), start_ns_(record::monotonic_ns()), began_ns_(start_ns_) {
  options_.shown.idle = true;  // the browser chooses
  options_.shown.by_process = false;
}

tl::expected<void, record::NotOpened> LiveRecorder::open_part() {
  auto session = options_.open_process(pid_);
  if (!session) return tl::unexpected(record::NotOpened{session.error()});
  command_ = record::command_of((*session)->target().info());
  if (command_.empty()) command_ = record::name_of(pid_);
  auto part = std::make_unique<Part>();
  record::RecorderOptions options = options_.recorder;
  options.stacks.start_ns = start_ns_;
  if (options.kernel) options.stacks.kernel = &kernel_;
  const auto process = part->shared.recording.process({.pid = pid_, .comm = record::name_of(pid_)});
  options.stacks.process = process.value_or(0);
  auto shared_session = std::make_shared<record::SharedSession>();
  shared_session->session = std::move(*session);
  auto opened = record::open_recorder(std::move(shared_session), part->shared, options);
  if (!opened) return tl::unexpected(opened.error());
  part->opened = std::move(*opened);
  part->opened.recorder->warm_up();
  part->opened.recorder->start(start_ns_);
  const std::lock_guard lock(part->shared.mutex);
  part->shared.recording.facts.cpu_hertz = part->opened.cpu_hertz;
  part->shared.recording.facts.wall_hertz = part->opened.wall_hertz;
  part_ = std::move(part);
  return {};
}

tl::expected<void, record::NotOpened> LiveRecorder::begin() {
  auto opened = open_part();
  began_ns_ = record::monotonic_ns();
  cpu_before_ns_ = record::own_cpu_ns();
  return opened;
}

void LiveRecorder::take(Browser& browser) {
  const std::lock_guard lock(part_->shared.mutex);
  Recording& recording = part_->shared.recording;
  browser.add(recording, view_of(recording, options_.shown));
  recording.forget_samples();
}

std::uint64_t LiveRecorder::skipped_of_part() const { return part_->opened.recorder->account().skipped; }

std::uint64_t LiveRecorder::lost_of_part() const {
  const record::SourceAccount sources = part_->opened.recorder->account();
  const std::uint64_t in_queue = part_->opened.recorder->lost_in_queue();
  const std::lock_guard lock(part_->shared.mutex);
  const RecordingAccount& account = part_->shared.recording.facts.account;
  return sources.lost_in_kernel + sources.lost_to_stops + in_queue + account.lost_in_tree + account.lost_to_stops;
}

void LiveRecorder::end_part(Browser& browser) {
  part_->opened.recorder->stop();
  take(browser);
  end_error_ = part_->opened.recorder->end_error();
  samples_ += part_->shared.recording.facts.account.samples;
  lost_ += lost_of_part();
  skipped_ += skipped_of_part();
  part_.reset();
}

void LiveRecorder::update(Browser& browser) {
  if (!part_) return;
  bool is_over = part_->opened.recorder->has_ended();
  if (!is_over) {
    const std::lock_guard lock(part_->shared.mutex);
    is_over = is_large(part_->shared.recording);
  }
  if (!is_over) {
    part_->opened.recorder->flush();
    take(browser);
    return;
  }
  end_part(browser);
  if (end_error_.code != ErrorCode::none && end_error_.code != ErrorCode::process_changed) return;
  go_on();
}

void LiveRecorder::go_on() {
  if (const auto next = open_part(); !next) end_error_ = next.error().error;
}

void LiveRecorder::hold(Browser& browser) {
  if (part_) end_part(browser);
}

Error LiveRecorder::end_error() const {
  if (!has_ended()) return {};
  return part_ ? part_->opened.recorder->end_error() : end_error_;
}

TopFacts LiveRecorder::facts() {
  TopFacts facts;
  facts.pid = pid_;
  facts.command = command_;
  facts.elapsed_ns = elapsed_ns();
  facts.own_cpu_ns = record::own_cpu_ns() - cpu_before_ns_;
  facts.threads = record::threads_of(pid_);
  facts.samples = samples_;
  facts.lost = lost_;
  facts.rounds_left_out = skipped_;
  if (!part_) return facts;
  facts.source = part_->opened.recorder->source_words();
  facts.notes = part_->opened.notes;
  facts.lost += lost_of_part();
  facts.rounds_left_out += skipped_of_part();
  const std::lock_guard lock(part_->shared.mutex);
  facts.samples += part_->shared.recording.facts.account.samples;
  return facts;
}

}  // namespace mixstack::top
