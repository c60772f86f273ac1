#include "frontends/cli/top_recorder.h"

#include <fmt/format.h>

#include "base/system/file_limit.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/recorded_process.h"

namespace mixstack::cli {
namespace {

/// Whether the recording takes some 60 MiB, beside the session.
bool is_large(const Recording& recording) {
  return recording.nodes().size() > (1u << 18) || recording.frames().size() > (1u << 17) ||
         recording.functions().size() > (1u << 16) || recording.contexts().size() > (1u << 17) ||
         recording.threads().size() > (1u << 15);
}

}  // namespace

TopRecorder::TopRecorder(const RecordArguments& arguments, const Environment& environment, std::uint32_t pid)
    : arguments_(arguments),
      environment_(environment),
      pid_(pid),
      start_ns_(record::monotonic_ns()),
      began_ns_(start_ns_) {
  shown_.idle = true;  // the browser chooses
  shown_.by_process = false;
  shown_.managed_only = arguments.managed_only;
  shown_.kernel = arguments.kernel;
  shown_.include = arguments.include;
  shown_.exclude = arguments.exclude;
}

tl::expected<void, record::NotOpened> TopRecorder::open_part() {
  auto session = environment_.open_process(pid_);
  if (!session) return tl::unexpected(record::NotOpened{session.error()});
  command_ = command_of((*session)->target().info());
  if (command_.empty()) command_ = name_of(pid_);
  auto part = std::make_unique<Part>();
  record::RecorderOptions options = recorder_options(arguments_);
  options.stacks.start_ns = start_ns_;
  if (arguments_.kernel) options.stacks.kernel = &kernel_;
  const auto process = part->shared.recording.process({.pid = pid_, .comm = name_of(pid_)});
  options.stacks.process = process.value_or(0);
  auto shared_session = std::make_unique<record::SharedSession>();
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

ExitCode TopRecorder::begin() {
  base::raise_file_limit();  // recording needs several open files per thread
  const auto opened = open_part();
  began_ns_ = record::monotonic_ns();
  cpu_before_ns_ = own_cpu_ns();
  return opened ? ExitCode::ok : complain_of(environment_, opened.error(), pid_);
}

void TopRecorder::take(top::Browser& browser) {
  const std::lock_guard lock(part_->shared.mutex);
  Recording& recording = part_->shared.recording;
  browser.add(recording, view_of(recording, shown_));
  recording.forget_samples();
}

std::uint64_t TopRecorder::skipped_of_part() const { return part_->opened.recorder->account().skipped; }

std::uint64_t TopRecorder::lost_of_part() const {
  const record::SourceAccount sources = part_->opened.recorder->account();
  const std::uint64_t in_queue = part_->opened.recorder->lost_in_queue();
  const std::lock_guard lock(part_->shared.mutex);
  const RecordingAccount& account = part_->shared.recording.facts.account;
  return sources.lost_in_kernel + sources.lost_to_stops + in_queue + account.lost_in_tree + account.lost_to_stops;
}

void TopRecorder::end_part(top::Browser& browser) {
  part_->opened.recorder->stop();
  take(browser);
  end_error_ = part_->opened.recorder->end_error();
  samples_ += part_->shared.recording.facts.account.samples;
  lost_ += lost_of_part();
  skipped_ += skipped_of_part();
  part_.reset();
}

void TopRecorder::update(top::Browser& browser) {
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

void TopRecorder::go_on() {
  if (const auto next = open_part(); !next) end_error_ = next.error().error;
}

void TopRecorder::hold(top::Browser& browser) {
  if (part_) end_part(browser);
}

ExitCode TopRecorder::say_end() const {
  if (!has_ended()) return ExitCode::ok;
  const Error& error = part_ ? part_->opened.recorder->end_error() : end_error_;
  if (error.code == ErrorCode::none) return ExitCode::ok;
  if (error.code != ErrorCode::no_such_process && error.code != ErrorCode::process_changed)
    return complain_of(environment_, error, pid_);
  FdOutput(environment_.err).write(fmt::format("mixstack: process {} ended while it was looked at\n", pid_));
  return ExitCode::process_changed;
}

top::HeadFacts TopRecorder::facts() {
  top::HeadFacts facts;
  facts.pid = pid_;
  facts.command = command_;
  facts.elapsed_ns = elapsed_ns();
  facts.own_cpu_ns = own_cpu_ns() - cpu_before_ns_;
  facts.threads = threads_of(pid_);
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

}  // namespace mixstack::cli
