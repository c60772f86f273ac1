// Names the frames of samples, counts equal stacks, and sends both to recording commands.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "agent/in_process/outbox.h"
#include "agent/in_process/sample_ring.h"
#include "base/words/profile.h"

namespace mixstack::agent {

/// `add`, `repeat` and `flush` are for the sampler's thread; any thread may call the others.
class Recorder {
 public:
  using Namer = std::function<ProfileFrame(Address lookup, std::uint64_t method)>;

  /// `counts`: equal stacks are counted for a file at the end. Otherwise samples only go to followers.
  Recorder(Namer namer, bool counts) : namer_(std::move(namer)), counts_(counts) {}

  void add(const Sample& sample);
  /// Counts the thread's last waiting sample once more, since the thread has not moved; repeats are passed on in
  /// groups. False: no such sample is kept.
  bool repeat(std::uint32_t tid);
  /// Pause: sends the collected samples.
  void flush();
  /// End: passes on all repeats and sends the collected samples.
  void finish();

  /// Sends all frames, threads and samples from now on to the outbox, as messages.
  void send_to(std::shared_ptr<Outbox> outbox);
  /// Returns whether no follower is left.
  bool no_longer_to(const Outbox* outbox);

  [[nodiscard]] ProfileAccount account() const;
  /// The counted stacks; the caller adds the facts of the recording.
  [[nodiscard]] Profile take();

 private:
  struct Follower {
    std::shared_ptr<Outbox> outbox;
    std::unordered_set<std::uint32_t> frames, tids;  ///< announced ones
    std::vector<std::byte> samples;                  ///< payload of the next message
  };
  [[nodiscard]] bool is_heard() const { return counts_ || !followers_.empty(); }
  /// The last stack of a waiting thread, and its repeats that are not counted yet.
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Profile::Stack stack;
    std::uint32_t repeats = 0;
    Clock::time_point next_settling{};
  };
  void keep_waiting(Profile::Stack stack);
  void forget_waiting(std::uint32_t tid);
  void settle(Waiting& waiting);
  void settle_some();
  void settle_all();
  void count(Profile::Stack stack, std::uint32_t weight);
  [[nodiscard]] std::uint32_t number_of(Address lookup, std::uint64_t method);
  void forget_unloaded_libraries();
  void send(Follower& follower, const Profile::Stack& stack, std::uint32_t weight);
  void send_samples(Follower& follower);

  const Namer namer_;
  const bool counts_;
  mutable std::mutex mutex_;
  Profile profile_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_method_, by_address_;  ///< indices of the profile's frames
  std::unordered_map<std::uint32_t, Waiting> waiting_;                       ///< by thread
  std::size_t waiting_frames_ = 0;                                           ///< of all of them
  std::uint64_t unloaded_ = 0;                                               ///< dlpi_subs at the last check
  bool has_looked_ = false;                                                  ///< checked since the last pause
  std::vector<Follower> followers_;
  ProfileAccount account_;
};

}  // namespace mixstack::agent
