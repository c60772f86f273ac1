// Chains of async methods out of all boxes of the heap, equal ones together.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dotnet/async/async_chains.h"
#include "dotnet/async/heap_scan.h"

namespace mixstack::dotnet::objects {

/// Puts each box into a chain: from those that no other box is below of, upwards and down to what is awaited; then from
/// those that are in none yet (several methods may await one). For one reading of a process that stands still. Bounded;
/// cycles end. Borrows everything; not thread-safe.
class HeapChains {
 public:
  static constexpr std::size_t kMostKinds = 1 << 14;  ///< of chains that differ in more than their objects
  static constexpr unsigned kMostHops = 16;           ///< tasks between one method and the next
  static constexpr std::size_t kMostJoined = 256;     ///< tasks that one is told to end with
  static constexpr std::size_t kMostAlsoAwaited = 1 << 20;

  HeapChains(ManagedObjects& objects, StateMachines& machines, AsyncChains& chains, std::span<const FoundBox> boxes);

  /// Objects in the thread pool's queues.
  void set_queued(std::unordered_set<Address> queued) { queued_ = std::move(queued); }
  /// Chains that are told of already, because threads wait for them, are left out: those with one of their boxes, and,
  /// where a thread waits for the outermost, as many of the same methods as are told (objects move). Where one ends in
  /// a promise that does not name whom it waits for, and that is found here, the whole is told with its waiter.
  void leave_out(std::span<const AsyncChain> told);

  /// The most frequent first.
  [[nodiscard]] std::vector<AsyncChain> read();
  [[nodiscard]] bool has_more() const { return has_more_; }
  /// Promises at the ends of told chains below which more was found: those chains are among the ones read.
  [[nodiscard]] const std::unordered_set<Address>& explained() const { return explained_; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  /// A box's neighbours.
  struct Links {
    std::uint32_t above = kNone;  ///< whose method goes on when this one has ended
    std::uint32_t below = kNone;  ///< whose end this one awaits
    Address awaited = 0;          ///< 0: nothing that is known
    Address end = 0;              ///< behind tasks that only stand for others; 0: nothing that is known
    Address joined = 0;           ///< of promises on the way up the last that a told chain ends in; 0: none
    bool has_waiter = false;      ///< a thread waits for it
    bool gives_up = false;        ///< what it awaits ends by itself some time
    bool is_proved = false;       ///< what is awaited names it
    bool ends_first = false;      ///< `above` goes on only when this one has ended (not of Task.WhenAny)
  };
  using Path = std::vector<std::uint32_t>;  ///< outermost first
  /// How the ends of a path are known to be.
  struct PathEnd {
    bool is_cut = false;
    bool is_entered = false;           ///< the outermost is in a cycle that the rest of the path is not in
    std::uint32_t cycle_from = kNone;  ///< the place in the path that its innermost awaits
  };
  struct Kind {
    AsyncChain chain;
    std::size_t order = 0;
  };

  void find_above(std::uint32_t index);
  void join_above(Address task);
  void find_below(std::uint32_t index);
  void find_joined(std::uint32_t index, Address promise);
  [[nodiscard]] std::vector<std::uint32_t> all_awaited_by(std::uint32_t index) const;
  void find_cycles();
  [[nodiscard]] std::uint32_t index_of(Address box) const;
  [[nodiscard]] Path path_through(std::uint32_t index, PathEnd& end) const;
  [[nodiscard]] bool awaits(std::uint32_t upper, std::uint32_t lower) const;
  [[nodiscard]] bool is_cycle(const Path& path, std::size_t from) const;
  void add(std::uint32_t index);
  [[nodiscard]] const AsyncChain* told_above(const Path& path) const;
  [[nodiscard]] bool is_told(const Path& path);
  [[nodiscard]] std::string key_of(const Path& path, const PathEnd& end);
  [[nodiscard]] AsyncChain describe(const Path& path, const PathEnd& end);
  bool add_steps(std::uint32_t index, std::vector<AsyncStep>& steps);
  [[nodiscard]] std::string methods_of(const Path& path);

  ManagedObjects& objects_;
  StateMachines& machines_;
  AsyncChains& chains_;
  std::span<const FoundBox> boxes_;
  std::vector<Links> links_;
  std::vector<bool> is_covered_;
  std::unordered_map<Address, std::uint32_t> by_address_;
  std::unordered_set<Address> queued_, told_boxes_, explained_;
  std::unordered_map<Address, AsyncChain> told_ends_;  ///< by the promise that a told chain ends in
  std::unordered_map<std::string, std::uint32_t> told_methods_;
  std::unordered_map<Address, std::vector<Address>> joined_;  ///< by promise: the tasks that it ends with, all of them
  std::map<std::uint32_t, std::vector<std::uint32_t>> also_awaits_;  ///< besides `below`
  std::size_t also_awaited_ = 0;                                     ///< in all
  std::unordered_map<std::string, Kind> kinds_;
  std::optional<std::uint32_t> continuation_at_;  ///< Task.m_continuationObject
  bool has_more_ = false;
};

}  // namespace mixstack::dotnet::objects
