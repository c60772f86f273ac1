#include "agent/in_process/recorder.h"

#include <link.h>

#include <algorithm>
#include <utility>

#include "agent/in_process/tasks.h"
#include "agent/protocol/protocol.h"

namespace mixstack::agent {
namespace {

constexpr std::size_t kBatch = 32u << 10;  // bytes of samples in a message
constexpr std::size_t kMostThreadNames = 1u << 16, kMostAddresses = 1u << 18;
constexpr std::size_t kMostWaiting = 4096;            // waiting threads whose last stack is kept
constexpr std::size_t kMostWaitingFrames = 1u << 22;  // frames of all these stacks; later ones are shortened
constexpr std::chrono::milliseconds kSettleEvery{250};
constexpr std::size_t kMostSettled = 1u << 16;  // frames of stacks settled in one pass
constexpr std::uint32_t kNoRoom = 0;            // the first frame of a profile, "[too many]"

[[nodiscard]] std::uint64_t unloaded_libraries() {
  std::uint64_t count = 0;
  (void)::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<std::uint64_t*>(out) = info->dlpi_subs;
        return 1;  // all entries have the same count
      },
      &count);
  return count;
}

}  // namespace

/// Names of native code are cached by address. After a dlclose an address may belong to another library: drop them.
void Recorder::forget_unloaded_libraries() {
  if (std::exchange(has_looked_, true)) return;
  if (const std::uint64_t now = unloaded_libraries(); now != std::exchange(unloaded_, now)) by_address_.clear();
}

std::uint32_t Recorder::number_of(Address lookup, std::uint64_t method) {
  auto& known = method != 0 ? by_method_ : by_address_;
  if (known.size() >= kMostAddresses) known.clear();
  const auto [at, is_new] = known.try_emplace(method != 0 ? method : lookup, kNoRoom);
  if (is_new) {
    const auto number = profile_.frame(namer_(lookup, method));
    if (number) at->second = *number;
  }
  return at->second;
}

void Recorder::add(const Sample& sample) {
  const std::lock_guard lock(mutex_);
  if (profile_.frames().empty()) (void)profile_.frame({FrameKind::undescribed, "[too many]", {}});
  account_.samples++;
  if (sample.stop != StopReason::end_of_stack) account_.cut++;
  Profile::Stack stack{sample.tid, sample.state, sample.stop, {}, sample.doubtful};
  if (is_heard()) {
    forget_unloaded_libraries();
    stack.frames.reserve(sample.count);
    for (std::size_t i = 0; i < sample.count; i++)
      stack.frames.push_back(number_of(sample.address(i) - (i == 0 ? 0 : 1), sample.method(i)));
  }
  forget_waiting(sample.tid);
  if (profile_.is_crowded()) stack.shorten(Profile::kFewFrames);
  if (sample.state == SampleState::waiting && waiting_.size() < kMostWaiting) keep_waiting(stack);
  if (is_heard()) count(std::move(stack), sample.weight);
}

void Recorder::keep_waiting(Profile::Stack stack) {
  if (waiting_frames_ > kMostWaitingFrames) stack.shorten(Profile::kFewFrames);
  waiting_frames_ += stack.frames.size();
  const std::uint32_t tid = stack.tid;
  waiting_.insert_or_assign(tid, Waiting{std::move(stack)});
}

void Recorder::forget_waiting(std::uint32_t tid) {
  const auto known = waiting_.find(tid);
  if (known == waiting_.end()) return;
  settle(known->second);
  waiting_frames_ -= known->second.stack.frames.size();
  waiting_.erase(known);
}

void Recorder::settle(Waiting& waiting) {
  if (const std::uint32_t repeats = std::exchange(waiting.repeats, 0); repeats != 0) count(waiting.stack, repeats);
}

/// Deep stacks are settled more rarely, and few at a time, because the recording command has to read them all.
void Recorder::settle_some() {
  const auto now = Clock::now();
  std::size_t frames = 0;
  for (auto& [tid, waiting] : waiting_) {
    if (waiting.repeats == 0 || now < waiting.next_settling) continue;
    waiting.next_settling = now + kSettleEvery + std::chrono::milliseconds(waiting.stack.frames.size() / 64);
    settle(waiting);
    frames += waiting.stack.frames.size();
    if (frames > kMostSettled) break;
  }
}

void Recorder::settle_all() {
  for (auto& [tid, waiting] : waiting_) settle(waiting);
}

bool Recorder::repeat(std::uint32_t tid) {
  const std::lock_guard lock(mutex_);
  const auto known = waiting_.find(tid);
  if (known == waiting_.end()) return false;
  Waiting& waiting = known->second;
  if (is_heard() && waiting.stack.frames.empty()) return false;  // sampled while nobody recorded
  account_.samples++;
  if (waiting.stack.stop != StopReason::end_of_stack) account_.cut++;
  if (is_heard()) waiting.repeats++;
  return true;
}

void Recorder::count(Profile::Stack stack, std::uint32_t weight) {
  const auto [name, is_new] = profile_.threads.size() < kMostThreadNames
                                  ? profile_.threads.try_emplace(stack.tid)
                                  : std::pair(profile_.threads.find(stack.tid), false);
  if (is_new) name->second = task_name(stack.tid);
  for (Follower& follower : followers_) send(follower, stack, weight);
  const std::uint32_t samples = stack.state == SampleState::waiting ? weight : 1;
  if (counts_ && !profile_.add(std::move(stack), weight)) account_.lost += samples;
}

/// Frames and threads are announced before the first sample that uses them. A slow follower loses samples, never names.
void Recorder::send(Follower& follower, const Profile::Stack& stack, std::uint32_t weight) {
  if (!follower.outbox->has_room()) {
    account_.lost_on_way += stack.state == SampleState::waiting ? weight : 1;
    return;
  }
  for (const std::uint32_t number : stack.frames)
    if (follower.frames.insert(number).second)
      follower.outbox->put(agent_link::encode(agent_link::Frame{number, profile_.frames()[number]}));
  if (follower.tids.size() < kMostThreadNames && follower.tids.insert(stack.tid).second)
    if (const auto name = profile_.threads.find(stack.tid); name != profile_.threads.end())
      follower.outbox->put(agent_link::encode(agent_link::Thread{stack.tid, name->second}));
  const agent_link::Sample sample{stack.tid, weight, stack.state, stack.stop, stack.frames, stack.doubtful};
  if (follower.samples.size() + agent_link::size_of(sample) > agent_link::kMostPayload) send_samples(follower);
  agent_link::append(follower.samples, sample);
  if (follower.samples.size() >= kBatch) send_samples(follower);
}

void Recorder::send_samples(Follower& follower) {
  if (follower.samples.empty()) return;
  follower.outbox->put(agent_link::message(agent_link::Kind::samples, follower.samples));
  follower.samples.clear();
}

void Recorder::flush() {
  const std::lock_guard lock(mutex_);
  settle_some();
  for (Follower& follower : followers_) send_samples(follower);
  has_looked_ = false;
}

void Recorder::finish() {
  const std::lock_guard lock(mutex_);
  settle_all();
  for (Follower& follower : followers_) send_samples(follower);
}

void Recorder::send_to(std::shared_ptr<Outbox> outbox) {
  const std::lock_guard lock(mutex_);
  settle_all();  // earlier repeats do not belong to the new follower
  followers_.push_back({std::move(outbox), {}, {}, {}});
}

bool Recorder::no_longer_to(const Outbox* outbox) {
  const std::lock_guard lock(mutex_);
  settle_all();
  for (Follower& follower : followers_)
    if (follower.outbox.get() == outbox) send_samples(follower);
  std::erase_if(followers_, [&](const Follower& f) { return f.outbox.get() == outbox; });
  return followers_.empty();
}

ProfileAccount Recorder::account() const {
  const std::lock_guard lock(mutex_);
  return account_;
}

Profile Recorder::take() {
  const std::lock_guard lock(mutex_);
  settle_all();
  by_method_.clear();
  by_address_.clear();
  return std::exchange(profile_, {});
}

}  // namespace mixstack::agent
