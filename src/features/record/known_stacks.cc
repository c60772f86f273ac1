#include "features/record/known_stacks.h"

namespace mixstack::record {
namespace {

/// XOR of the two halves of a 128-bit product: every bit of either factor reaches the result.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Two hashes at once. The constants are digits of sqrt(2), sqrt(3) and sqrt(5): odd, and not chosen for an effect.
class Hasher {
 public:
  explicit Hasher(std::uint64_t seed)
      : low_(seed ^ 0x6a09e667f3bcc909u), high_(fold(seed ^ 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu)), seed_(seed) {}
  void add(std::uint64_t value) {
    low_ = fold(low_ ^ value, 0xbb67ae8584caa73bu ^ seed_ << 1);
    high_ = fold(high_ + value, 0x6a09e667f3bcc909u) ^ value;
  }
  [[nodiscard]] KnownStacks::Key result() const { return {low_, high_}; }

 private:
  std::uint64_t low_, high_, seed_;
};

}  // namespace

KnownStacks::Key KnownStacks::key(std::span<const CodeAddress> user, std::span<const Address> kernel) const {
  Hasher hasher(seed_);
  hasher.add(user.size());
  // Code addresses never use the top bit of a 64-bit address space's lower half.
  for (const CodeAddress pc : user) hasher.add(pc.raw() << 1 | (pc.is_exact() ? 1u : 0u));
  for (const Address address : kernel) hasher.add(address);
  hasher.add(kernel.size());
  return hasher.result();
}

const KnownStack* KnownStacks::find(const Key& key) const {
  for (const Known* known : {&lasting_, &of_walker_})
    if (const auto at = known->find(key); at != known->end()) return &at->second;
  return nullptr;
}

void KnownStacks::remember(const Key& key, const KnownStack& stack, bool lasts) {
  Known& known = lasts ? lasting_ : of_walker_;
  if (known.size() >= kMost) known.clear();
  known.insert_or_assign(key, stack);
}

void KnownStacks::begin_walker(bool same) {
  of_walker_.clear();
  if (!same) lasting_.clear();
}

}  // namespace mixstack::record
