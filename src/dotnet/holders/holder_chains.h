// The words of memory that an answer rests on: from a root to an object.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "dotnet/holders/held_heap.h"
#include "dotnet/holders/holder_paths.h"

namespace mixstack::dotnet::holders {

/// A word that holds a reference.
struct HeldWord {
  Address at = 0, value = 0;
};

/// A shortest way to an object, as words that can be read again.
struct HolderChain {
  std::vector<HeldWord> words;
  bool is_whole = true;  ///< false: some step lies in no word that is known
};

/// Finds them. Borrows all.
class HolderChains {
 public:
  static constexpr std::size_t kMostSteps = 256;

  struct Parts {
    const HeldHeap& heap;
    const ShortestWays& ways;
    TypeReferences& references;
    const HeapImage& image;
    const HeapRoots& roots;
  };
  explicit HolderChains(const Parts& of);
  [[nodiscard]] HolderChain to(Node object);

 private:
  [[nodiscard]] Address word_in(Node holder, Node held);
  [[nodiscard]] Address word_of(const RootNode& root, Node root_node, Node held);

  Parts of_;
  std::unordered_map<Address, Address> handles_;      ///< by object: where a handle lies
  std::unordered_map<std::uint64_t, Address> known_;  ///< by holder and held
};

/// Chains of all lines of a tree and all paths, in the order of `mark`.
[[nodiscard]] std::vector<HolderChain> chains_of(const HeapHolders& found, const ObjectNumbers& numbers,
                                                 HolderChains& chains);
/// Notes which of these were seen to hold.
void mark(HeapHolders& found, const std::vector<bool>& holds);

}  // namespace mixstack::dotnet::holders
