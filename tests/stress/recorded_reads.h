// Which reader of the runtime's structures reads which words of a core: what types a mutation.
#pragma once

#include <map>
#include <span>
#include <string>

#include "mixstack/memory_reader.h"

namespace mixstack::stress {

/// Notes each read under the name of the structure that is being read. The first name a word gets stays.
class RecordedReads final : public MemoryReader {
 public:
  explicit RecordedReads(const MemoryReader& inner) : inner_(inner) {}

  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    auto n = inner_.read_some(address, out);
    if (n && *n != 0 && !structure_.empty()) reads_.try_emplace({address, *n}, structure_);
    return n;
  }
  /// What is read from now on belongs to `structure`.
  void now(std::string structure) { structure_ = std::move(structure); }

  struct Place {
    Address address = 0;
    std::size_t size = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  [[nodiscard]] const std::map<Place, std::string>& reads() const { return reads_; }

 private:
  const MemoryReader& inner_;
  std::string structure_;
  mutable std::map<Place, std::string> reads_;
};

}  // namespace mixstack::stress
