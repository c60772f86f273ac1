#include "features/record/process_recorder.h"

#include <algorithm>

namespace mixstack::record {
namespace {

constexpr std::uint32_t kMostFailures = 1000;  // in a row
/// ns. Kernel losses are read from each event, and there is one per thread and CPU.
constexpr std::uint64_t kAccountInterval = 1'000'000'000;
constexpr std::uint64_t kLateStart = 100'000'000;  // ns

/// A capture that failed now may succeed later: another tracer is attached, or threads come and go.
bool is_passing(const Error& error) {
  return error.code == ErrorCode::already_traced || error.code == ErrorCode::thread_not_stopped ||
         error.code == ErrorCode::no_such_thread;
}

}  // namespace

ProcessRecorder::ProcessRecorder(std::shared_ptr<SharedSession> session,
                                 std::vector<std::unique_ptr<SampleSource>> sources, SharedRecording& shared,
                                 const StackRecorder::Options& options)
    : session_(std::move(session)),
      sources_(std::move(sources)),
      recorder_(*session_, shared, options),
      sampling_sources_(static_cast<std::uint32_t>(sources_.size())),
      accounts_(sources_.size()) {}

ProcessRecorder::~ProcessRecorder() { stop(); }

void ProcessRecorder::warm_up() {
  for (std::uint32_t i = 0; i < sources_.size(); i++) {
    // An error here occurs again after `start`, and is reported then.
    auto batch = sources_[i]->next({});
    if (!batch || batch->empty()) continue;
    batch->source = i;
    recorder_.warm_up(std::move(*batch));
  }
}

void ProcessRecorder::start(std::uint64_t start_ns, std::uint64_t end_ns) {
  recorder_.begin(start_ns, end_ns);
  // Samples since the start count. A process that joins a recording late has missed the time before.
  const std::uint64_t now = monotonic_ns(), missed = now - std::min(now, start_ns);
  for (const auto& source : sources_) source->begin(missed < kLateStart ? now - missed : now);
  walking_ = std::jthread([this] { walk_samples(); });
  for (std::uint32_t i = 0; i < sources_.size(); i++)
    sampling_.emplace_back([this, i](const std::stop_token& stop) { take_samples(stop, i); });
}

void ProcessRecorder::take_samples(const std::stop_token& stop, std::uint32_t source) {
  std::uint32_t failures = 0;
  bool has_taken = false;
  Error last;
  std::uint64_t noted_ns = 0;
  while (!stop.stop_requested() && !is_over_) {
    auto batch = sources_[source]->next(stop);
    if (const std::uint64_t now = monotonic_ns(); now - noted_ns >= kAccountInterval) {
      note_account(source);
      noted_ns = now;
    }
    if (batch) {
      failures = 0;
      has_taken = has_taken || !batch->empty();
      batch->source = source;
      if (!batch->empty()) (void)queue_.push(std::move(*batch), stop);  // the queue counts what it drops
      continue;
    }
    last = batch.error();
    if (is_passing(last) && ++failures < kMostFailures) continue;
    // The first source that finds the process gone ends all others.
    const std::lock_guard lock(end_mutex_);
    end_error_ = last;
    is_over_ = true;
  }
  if (!has_taken && last.code != ErrorCode::none) {  // an error in all that time: a debugger that stays attached
    const std::lock_guard lock(end_mutex_);
    if (end_error_.code == ErrorCode::none) end_error_ = last;
  }
  if (SampleBatch rest = sources_[source]->rest(); !rest.empty()) {
    rest.source = source;
    (void)queue_.push(std::move(rest), {});
  }
  note_account(source);  // also for a source that had no turn before the end
  if (sampling_sources_.fetch_sub(1) != 1) return;
  queue_.close();
  has_ended_.store(true, std::memory_order_release);
}

/// Copies a source's account: the source itself belongs to the thread that takes its samples.
void ProcessRecorder::note_account(std::uint32_t source) {
  SourceAccount now = sources_[source]->account();
  const std::lock_guard lock(accounts_mutex_);
  accounts_[source] = std::move(now);
}

void ProcessRecorder::walk_samples() {
  while (auto batch = queue_.pop()) (void)recorder_.take(std::move(*batch));
  recorder_.end_all();
}

void ProcessRecorder::stop() {
  for (std::jthread& thread : sampling_) thread.request_stop();
  for (std::jthread& thread : sampling_)
    if (thread.joinable()) thread.join();
  if (walking_.joinable()) walking_.join();
}

SourceAccount ProcessRecorder::account() const {
  SourceAccount all;
  const std::lock_guard lock(accounts_mutex_);
  for (const SourceAccount& one : accounts_) {
    all.lost_in_kernel += one.lost_in_kernel;
    all.lost_to_stops += one.lost_to_stops;
    all.skipped += one.skipped;
    all.stopless += one.stopless;
    all.short_buffer = std::max(all.short_buffer, one.short_buffer);
    for (std::size_t i = 0; i < all.holds.counts.size(); i++) all.holds.counts[i] += one.holds.counts[i];
    all.holds.total_ns += one.holds.total_ns;
    all.holds.holds += one.holds.holds;
    all.holds.longest_ns = std::max(all.holds.longest_ns, one.holds.longest_ns);
  }
  return all;
}

bool ProcessRecorder::holds_threads() const {
  return std::any_of(sources_.begin(), sources_.end(), [](const auto& source) { return source->holds_threads(); });
}

std::string ProcessRecorder::source_words() const {
  std::string words;
  for (const auto& source : sources_) words += (words.empty() ? "" : ", ") + source->words();
  return words;
}

}  // namespace mixstack::record
