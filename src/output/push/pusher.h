// A thread that sends profiles, and keeps those that cannot be sent yet.
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

#include "helpers/fetch_protocol/fetch_process.h"
#include "output/push/back_off.h"
#include "output/push/push_request.h"
#include "output/push/spool.h"

namespace mixstack::push {

/// One POST; as `fetch_link::FetchProcess::send`.
using Send = std::function<tl::expected<fetch_link::FetchEnd, Diagnosis>(
    const std::string& url, const fetch_link::FetchBody& body, const fetch_link::FetchLimits& limits,
    std::string& answer)>;

struct PusherOptions {
  PushTarget target{};
  std::vector<std::string> headers;  ///< of the user, beside those of the protocol
  std::string spool;                 ///< folder; empty: unsent profiles stay in memory, and are lost at the end
  std::uint64_t spool_bytes = 256u << 20;
  std::uint64_t most_held = 64u << 20;  ///< most bytes that wait in memory; beyond, the oldest are dropped
  /// Called by the sending thread, because a fetcher ends with the thread that started it.
  std::function<Send()> make_send{};
};

/// A sentence for the user: "it cannot be reached (...)". Not escaped.
struct PushNews {
  std::string_view code;      ///< for programs, a literal: "push_put_off"
  std::string_view reason{};  ///< of `push_put_off` and `push_refused`, a literal: "http_status", "timed_out"
  std::string text{};
  friend bool operator==(const PushNews&, const PushNews&) = default;
};

/// Counts of profiles, each counted once. Spooled ones may be of earlier runs.
struct PushAccount {
  std::uint64_t sent = 0;
  std::uint64_t sent_from_spool = 0;  ///< the part of `sent` that came from the spool
  std::uint64_t spooled = 0;          ///< waiting in the spool for this server
  std::uint64_t refused = 0;          ///< dropped: the server does not take them
  std::uint64_t crowded_out = 0;      ///< dropped: there was no room for them
  std::uint64_t damaged = 0;          ///< dropped: damaged files of the spool
  [[nodiscard]] std::uint64_t dropped() const { return refused + crowded_out + damaged; }
};

/// Starts its thread at once, which also sends what earlier runs left in the spool. `add` and `take_news` are
/// thread-safe, and never wait for the network or a disk.
class Pusher {
 public:
  explicit Pusher(PusherOptions options);
  ~Pusher();
  Pusher(const Pusher&) = delete;
  Pusher& operator=(const Pusher&) = delete;

  void add(PushRequest request);
  /// Goes on sending for `time`, then spools the rest, including a request that is not answered yet. Call it once.
  PushAccount finish(std::chrono::milliseconds time);
  /// Tells what has happened since the last call.
  [[nodiscard]] std::vector<PushNews> take_news();

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
  void refuse(const Item& item, const PushNews& why);
  void put_off(Item item, const PushNews& why, std::uint32_t retry_after_s, Lock& lock);
  void keep(PushRequest request, Lock& lock);
  void spool_queue(Lock& lock);
  void hold(PushRequest request, bool is_oldest);
  void say(PushNews news);
  void say_once(const PushNews& news);

  PusherOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<PushRequest> queue_;  ///< oldest first
  std::uint64_t queue_bytes_ = 0;
  std::vector<PushNews> news_;
  std::set<std::string> said_;
  PushAccount account_;
  bool has_changed_ = false;
  bool is_stopping_ = false;
  std::atomic<Clock::time_point> deadline_{Clock::time_point::max()};  ///< set once
  // Used by the thread alone.
  Spool spool_;
  BackOff back_off_;
  bool is_failing_ = false;
  bool may_be_spooled_ = true;
  bool has_spool_ = true;  ///< the spool kept the last request given to it
  Clock::time_point next_try_;
  std::thread thread_;
};

}  // namespace mixstack::push
