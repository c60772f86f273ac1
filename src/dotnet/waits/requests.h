// Requests that a program serves or has sent: found where threads and async methods work on them.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "dotnet/async/async_chains.h"
#include "dotnet/waits/thread_waits.h"
#include "mixstack/requests.h"

namespace mixstack::dotnet::objects {

/// Finds requests of Kestrel, HttpClient and ADO.NET on the stacks of threads that are inside of their methods, and in
/// the variables of async methods. Private fields of these libraries, by name: where another version has others,
/// nothing is found. For one reading of a process. Borrows everything; not thread-safe.
class Requests {
 public:
  static constexpr std::size_t kMost = 1 << 12;
  static constexpr std::size_t kMostText = 200;       ///< UTF-16 units of a path or a command
  static constexpr std::size_t kMostWords = 1 << 13;  ///< of one thread's stack

  /// `data`: paths, hosts and texts of commands, too. `now`: the runtime's clock in milliseconds; none: not known.
  Requests(ManagedObjects& objects, StateMachines& machines, AsyncChains& chains, bool data,
           std::optional<std::int64_t> now)
      : objects_(objects), machines_(machines), chains_(chains), data_(data), now_(now) {}

  void look_at(const WaitingThread& thread);
  /// `number`: of the chain among all, from 1 on.
  void look_at(const AsyncChain& chain, std::uint32_t number);
  /// Those found, and those of connections that are read from meanwhile. To be called once.
  [[nodiscard]] std::vector<Request> take();
  [[nodiscard]] bool has_more() const { return has_more_; }

 private:
  struct Where {
    std::uint32_t thread = 0, chain = 0;
  };
  /// The kind of request that an object may be; nothing: it is none in progress.
  [[nodiscard]] std::optional<RequestKind> kind_of(Address object);
  void add(Address object, RequestKind kind, Where where);
  void look_at_held(Address object, std::string_view method, Where where);
  void look_at_suspended(Address task, std::string_view method, Where where);
  void look_at_box(Address box, std::string_view method, Where where);
  void look_at_connection(Address transport);
  [[nodiscard]] std::string incoming_method(Address protocol);
  [[nodiscard]] std::string text_of(Address object, RequestKind kind);
  [[nodiscard]] std::optional<std::chrono::milliseconds> age_of(Address protocol);
  [[nodiscard]] std::string string_in(Address object, std::string_view field);

  ManagedObjects& objects_;
  StateMachines& machines_;
  AsyncChains& chains_;
  bool data_;
  std::optional<std::int64_t> now_;
  std::vector<Request> found_;
  std::unordered_set<Address> seen_;
  std::set<Address> transports_;
  bool has_more_ = false;
};

}  // namespace mixstack::dotnet::objects
