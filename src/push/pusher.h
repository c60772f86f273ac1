// A thread that sends profiles, and keeps those that cannot be sent.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fetch_link/fetch_process.h"
#include "push/back_off.h"
#include "push/push_request.h"
#include "push/spool.h"

namespace mixstack::push {

/// One POST; as `fetch_link::FetchProcess::send`.
using Send = std::function<tl::expected<fetch_link::FetchEnd, Diagnosis>(
    const std::string& url, const fetch_link::FetchBody& body, const fetch_link::FetchLimits& limits,
    std::string& answer)>;

struct PusherOptions {
  PushTarget target{};
  std::vector<std::string> headers;  ///< of the user, beside those of the protocol
  std::string spool;                 ///< folder; empty: what cannot be sent stays in memory, and is lost at the end
  std::uint64_t spool_bytes = 256u << 20;
  std::uint64_t most_held = 64u << 20;  ///< bytes that wait in memory; more, and the oldest are dropped
  /// Made by the thread that sends: a fetcher ends with the thread that started it.
  std::function<Send()> make_send{};
};

/// Profiles, each counted once. What is in the spool may be of earlier runs.
struct PushAccount {
  std::uint64_t sent = 0;
  std::uint64_t sent_from_spool = 0;  ///< of those
  std::uint64_t spooled = 0;          ///< they wait in the spool for this server
  std::uint64_t refused = 0;          ///< dropped: the server does not want them
  std::uint64_t crowded_out = 0;      ///< dropped: there was no room for them
  std::uint64_t damaged = 0;          ///< files of the spool that were none
  [[nodiscard]] std::uint64_t dropped() const { return refused + crowded_out + damaged; }
};

/// Begins with what is in the spool when it is made. `add` and `take_news` are thread-safe, and never wait for the
/// network or a disk.
class Pusher {
 public:
  explicit Pusher(PusherOptions options);
  ~Pusher();
  Pusher(const Pusher&) = delete;
  Pusher& operator=(const Pusher&) = delete;

  void add(PushRequest request);
  /// Sends what there is for so long; what is left then is spooled, and so is what is on its way and not yet answered.
  /// Once.
  PushAccount finish(std::chrono::milliseconds time);
  /// Sentences for the user, about what has happened since the last call: "it cannot be reached (...)". Not escaped.
  [[nodiscard]] std::vector<std::string> take_news();

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  struct Item {
    PushRequest request;
    std::optional<SpooledRequest> spooled;  ///< where it came from; its request was moved out
  };
  void run();
  [[nodiscard]] std::optional<Item> next(Lock& lock);
  void send(Item item, const Send& send, Lock& lock);
  void accept(const Item& item, const std::string& answer);
  void refuse(const Item& item, const std::string& why);
  void put_off(Item item, const std::string& why, std::uint32_t retry_after_s, Lock& lock);
  void keep(PushRequest request, Lock& lock);
  void spool_queue(Lock& lock);
  void hold(PushRequest request, bool is_oldest);
  void say(std::string text);
  void say_once(const std::string& text);

  PusherOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<PushRequest> queue_;  ///< oldest first
  std::uint64_t queue_bytes_ = 0;
  std::vector<std::string> news_;
  std::set<std::string> said_;
  PushAccount account_;
  bool has_changed_ = false;
  bool is_stopping_ = false;
  std::atomic<Clock::time_point> deadline_{Clock::time_point::max()};  ///< set once
  // Of the thread alone.
  Spool spool_;
  BackOff back_off_;
  bool is_failing_ = false;
  bool may_be_spooled_ = true;
  bool has_spool_ = true;  ///< the last time it was asked to keep something, it did
  Clock::time_point next_try_;
  std::thread thread_;
};

}  // namespace mixstack::push
