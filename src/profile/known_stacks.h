// Stacks that were walked and named before, by their addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "mixstack/address.h"

namespace mixstack::profile {

/// What was made of a stack.
struct KnownStack {
  std::uint32_t stack = 0;  ///< its number in the recording
  bool is_managed = false;  ///< its innermost frame of user code is
  /// Shared generic code of it tells which types it runs for, which its addresses do not: each sample is looked at.
  bool varies = false;
  friend bool operator==(const KnownStack&, const KnownStack&) = default;
};

/// Of samples whose addresses alone say which frames they have (`Walker::plain_addresses`). A stack that is all of code
/// which stays is known until the mappings change; another as long as the walker that walked it, for code at its
/// addresses may be freed and other code be put there. Two stacks are taken for the same where 128 bits of keyed hashes
/// of their addresses are. Bounded; not thread-safe.
class KnownStacks {
 public:
  static constexpr std::size_t kMost = 1u << 16;  ///< of each sort; then it is begun anew

  struct Key {
    std::uint64_t low = 0, high = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };

  /// `seed`: a number that the target does not know, lest it makes stacks that are taken for each other.
  explicit KnownStacks(std::uint64_t seed) : seed_(seed) {}

  /// Of a thread's addresses in user code and in the kernel, both innermost first.
  [[nodiscard]] Key key(std::span<const CodeAddress> user, std::span<const Address> kernel) const;
  /// Null: not known. Holds until the next call of another member.
  [[nodiscard]] const KnownStack* find(const Key& key) const;
  /// `lasts`: all its code stays.
  void remember(const Key& key, const KnownStack& stack, bool lasts);
  /// Another walker walks from now on. `same`: as long as code stays, it is the same as for the last one.
  void begin_walker(bool same);

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const { return key.low; }
  };
  using Known = std::unordered_map<Key, KnownStack, Hash>;

  std::uint64_t seed_;
  Known lasting_, of_walker_;
};

}  // namespace mixstack::profile
