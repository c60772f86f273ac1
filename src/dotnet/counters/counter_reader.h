// The counters of one runtime, read while it runs.
#pragma once

#include <optional>

#include "dotnet/code/collector.h"
#include "dotnet/contracts/runtime_memory.h"
#include "dotnet/counters/counter_places.h"
#include "mixstack/counters.h"

namespace mixstack::dotnet::counters {

/// Borrows what is behind the memory, which is read anew each time. Not thread-safe.
class CounterReader {
 public:
  static constexpr std::size_t kMostThreads = 16384, kMostHeaps = 1024;

  /// `lock_contentions` is the address of a static of the class library, 64 bits; 0: not known.
  CounterReader(RuntimeMemory memory, const CounterPlaces& places, std::optional<Collector> collector,
                Address lock_contentions)
      : memory_(memory), places_(places), collector_(collector), lock_contentions_(lock_contentions) {}

  /// Some microseconds, and one or two for each thread. Numbers that cannot be read, or cannot be right, are left out.
  [[nodiscard]] RuntimeCounters read() const { return read(nullptr); }
  /// The number of the collection that began last, alone; 0: none yet; nothing: not known.
  [[nodiscard]] std::optional<std::uint64_t> collections() const {
    return number<std::uint64_t>(places_.settings == 0 ? 0 : places_.settings + Settings::kNumber);
  }
  /// The same; `thrown` receives the MethodTables of objects that threads handle as exceptions at this moment. They are
  /// read while threads run: what is no type of exception has to be left out.
  [[nodiscard]] RuntimeCounters read(std::vector<Address>* thrown) const;

 private:
  template <class T>
  [[nodiscard]] std::optional<std::uint64_t> number(Address at) const {
    if (at == 0) return std::nullopt;
    const auto value = memory_.reader().read<T>(at);
    return value ? std::optional<std::uint64_t>(*value) : std::nullopt;
  }
  void read_collector(RuntimeCounters& out) const;
  [[nodiscard]] std::vector<Address> tables() const;
  [[nodiscard]] std::vector<GcGeneration> generations(std::uint64_t number) const;
  [[nodiscard]] std::optional<std::uint64_t> committed(std::uint64_t number) const;
  struct Threads;
  void read_threads(RuntimeCounters& out, std::vector<Address>* thrown) const;
  [[nodiscard]] Address thrown_type(Address tracker) const;
  [[nodiscard]] bool read_list(Threads& out) const;
  [[nodiscard]] std::optional<AllocatedBytes> allocated(Address locals) const;

  RuntimeMemory memory_;
  CounterPlaces places_;
  std::optional<Collector> collector_;
  Address lock_contentions_;
};

}  // namespace mixstack::dotnet::counters
