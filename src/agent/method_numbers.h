// The methods that samples name: each has a number that is never used again.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace mixstack::agent {

/// The runtime uses the id of a method again for another one when the first was freed, and must not be asked about one
/// that was. So samples hold numbers of ours, and of methods that may be freed the name is kept from the beginning.
/// Thread-safe; not for signal handlers.
class MethodNumbers {
 public:
  static constexpr std::size_t kMost = 1u << 22;

  struct Method {
    std::uint64_t id = 0;  ///< the runtime's (FunctionID); 0: it is gone
    std::string name;      ///< empty: to be asked for by id
  };
  /// The number of a method, from 1; 0: the table is full. `name` is what to call one that may be freed.
  [[nodiscard]] std::uint64_t number_of(std::uint64_t id, std::string name);
  [[nodiscard]] bool knows(std::uint64_t id) const;
  /// It is freed: its id may soon be another's. Answers its number, 0: not known.
  std::uint64_t forget(std::uint64_t id);
  [[nodiscard]] Method operator[](std::uint64_t number) const;
  [[nodiscard]] std::size_t size() const;  ///< how many were given out

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;  // by id, of those that are there
  std::vector<Method> methods_;                               // by number - 1
};

}  // namespace mixstack::agent
