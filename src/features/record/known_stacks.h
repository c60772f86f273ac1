// Stacks that were walked and named before, by their addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "mixstack/address.h"

namespace mixstack::record {

/// A stack that was walked and named, as the recording knows it.
struct KnownStack {
  std::uint32_t stack = 0;  ///< its number in the recording
  bool is_managed = false;  ///< its innermost frame is managed
  /// Its addresses do not tell the types that its shared generic code runs for: each sample must be walked.
  bool varies = false;
  friend bool operator==(const KnownStack&, const KnownStack&) = default;
};

/// Stacks whose addresses alone determine their frames (`Walker::plain_addresses`). A stack made only of code that
/// stays is known until the mappings change. Any other is known as long as the walker that walked it, since code may be
/// freed and its addresses reused. Stacks are equal if 128 bits of keyed hashes of their addresses are. Bounded; not
/// thread-safe.
class KnownStacks {
 public:
  static constexpr std::size_t kMost = 1u << 16;  ///< of each kind; a full table is cleared

  struct Key {
    std::uint64_t low = 0, high = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };

  /// `seed`: secret from the target, so that it cannot construct stacks with equal hashes.
  explicit KnownStacks(std::uint64_t seed) : seed_(seed) {}

  /// The key of a thread's addresses in user code and in the kernel, both innermost first.
  [[nodiscard]] Key key(std::span<const CodeAddress> user, std::span<const Address> kernel) const;
  /// Null: not known. Valid until the next call of another member.
  [[nodiscard]] const KnownStack* find(const Key& key) const;
  /// `lasts`: all its code stays.
  void remember(const Key& key, const KnownStack& stack, bool lasts);
  /// Call for each new walker. `same`: code that stays is the same as for the walker before.
  void begin_walker(bool same);

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const { return key.low; }
  };
  using Known = std::unordered_map<Key, KnownStack, Hash>;

  std::uint64_t seed_;
  Known lasting_, of_walker_;
};

}  // namespace mixstack::record
