// A bounded map from addresses to what was found there: one probe for a hit.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace mixstack::dotnet {

/// Open addressing over 16-byte slots, values apart. When full it starts anew: what it holds can be found again. A
/// reference holds until the next insert() or clear(). Not thread-safe.
template <class T>
class AddressCache {
 public:
  explicit AddressCache(std::size_t max_entries) : max_(max_entries) {}

  [[nodiscard]] const T* find(std::uint64_t key) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = home(key);; i = (i + 1) & (slots_.size() - 1)) {
      const Slot& s = slots_[i];
      if (s.value == kEmpty) return nullptr;
      if (s.key == key) return &values_[s.value];
    }
  }

  /// `key` must not be in the map.
  const T& insert(std::uint64_t key, T value) {
    if (values_.size() >= max_) clear();
    if (2 * (values_.size() + 1) > slots_.size()) grow();
    place(key, static_cast<std::uint32_t>(values_.size()));
    values_.push_back(std::move(value));
    return values_.back();
  }

  void clear() {
    slots_.clear();
    values_.clear();
  }
  [[nodiscard]] std::size_t size() const { return values_.size(); }

 private:
  static constexpr std::uint32_t kEmpty = 0xffffffffu;
  static constexpr std::size_t kFirstSize = 512;
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = kEmpty;
  };

  // Fibonacci hashing: the top bits of the product depend on all bits of the key.
  [[nodiscard]] std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> shift_);
  }
  void place(std::uint64_t key, std::uint32_t value) {
    std::size_t i = home(key);
    while (slots_[i].value != kEmpty) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {key, value};
  }
  void grow() {
    std::vector<Slot> old = std::exchange(slots_, {});
    slots_.resize(old.empty() ? kFirstSize : 2 * old.size());
    shift_ = 64;
    for (std::size_t n = slots_.size(); n > 1; n >>= 1) shift_--;
    for (const Slot& s : old)
      if (s.value != kEmpty) place(s.key, s.value);
  }

  std::size_t max_;
  unsigned shift_ = 63;
  std::vector<Slot> slots_;
  std::vector<T> values_;
};

}  // namespace mixstack::dotnet
