// Numbers for the methods in samples, never reused.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace mixstack::agent {

/// The runtime reuses the ids of freed methods, and must not be asked about a freed one. So samples hold our own
/// numbers, and the names of methods that may be freed are kept from the beginning. Thread-safe; not for signal
/// handlers.
class MethodNumbers {
 public:
  static constexpr std::size_t kMost = 1u << 22;

  struct Method {
    std::uint64_t id = 0;  ///< the runtime's (FunctionID); 0: freed
    std::string name;      ///< empty: ask the runtime by id
  };
  /// The number of a method, from 1; 0: the table is full. `name`: only of a method that may be freed.
  [[nodiscard]] std::uint64_t number_of(std::uint64_t id, std::string name);
  [[nodiscard]] bool knows(std::uint64_t id) const;
  /// The method is freed, and its id may be reused. Returns its number, 0: not known.
  std::uint64_t forget(std::uint64_t id);
  [[nodiscard]] Method operator[](std::uint64_t number) const;
  [[nodiscard]] std::size_t size() const;  ///< numbers given out

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;  // by id, of present methods
  std::vector<Method> methods_;                               // by number - 1
};

}  // namespace mixstack::agent
