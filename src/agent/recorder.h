// What becomes of samples: frames get names, stacks are counted, and whoever records gets both.
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

#include "agent/outbox.h"
#include "agent/sample_ring.h"
#include "model/profile.h"

namespace mixstack::agent {

/// Fed by the sampler's thread; everything else may be called by any thread.
class Recorder {
 public:
  using Namer = std::function<ProfileFrame(Address lookup, std::uint64_t method)>;

  /// `counts`: equal stacks are counted for a report at the end. Else samples go to those who record, and nowhere.
  Recorder(Namer namer, bool counts) : namer_(std::move(namer)), counts_(counts) {}

  void add(const Sample& sample);
  /// The thread stands where its last sample of waiting found it, which counts once more: some of these are handed on
  /// together. False: none is kept.
  bool repeat(std::uint32_t tid);
  /// No more for now: what was collected is sent.
  void flush();
  /// No more at all.
  void finish();

  /// Gets all frames, threads and samples from now on, as messages.
  void send_to(std::shared_ptr<Outbox> outbox);
  /// Answers whether nobody is left.
  bool no_longer_to(const Outbox* outbox);

  [[nodiscard]] ProfileAccount account() const;
  /// What was counted; facts about the whole are left to the caller.
  [[nodiscard]] Profile take();

 private:
  struct Follower {
    std::shared_ptr<Outbox> outbox;
    std::unordered_set<std::uint32_t> frames, tids;  ///< it knows
    std::vector<std::byte> samples;                  ///< payload that is being collected
  };
  [[nodiscard]] bool is_heard() const { return counts_ || !followers_.empty(); }
  /// The last stack of a thread that waited, and how often it was seen again since it was counted.
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
  std::uint64_t unloaded_ = 0;                                               ///< libraries, when last looked at
  bool has_looked_ = false;                                                  ///< since the last pause
  std::vector<Follower> followers_;
  ProfileAccount account_;
};

}  // namespace mixstack::agent
