// The dominator tree of a heap, folded for people.
#pragma once

#include <functional>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "dotnet/holders/held_heap.h"
#include "dotnet/holders/holder_words.h"
#include "dotnet/holders/shared_roots.h"
#include "mixstack/holders.h"

namespace mixstack::dotnet::holders {

/// Lines of objects of one type that have one holder: objects side by side are one line, and so are those that hold
/// each other in a row, and a collection with what it is made of. The largest lines are opened first, kMostLines in
/// all.
class HolderTree {
 public:
  static constexpr std::size_t kMostLines = 240, kMostHeld = 12, kMostMethods = 3, kMostAsked = 512, kMostServing = 32;

  /// The roots that reach objects at some places, which have no holder.
  using FindRoots = std::function<SharedRoots::Found(std::span<const std::uint32_t>)>;
  static constexpr std::size_t kMostShared = 24, kMostRoots = 6;  ///< lines, and roots of one

  /// Borrows heap and words. `roots_of` is asked for large lines alone.
  HolderTree(const HeldHeap& heap, HolderWords& words, FindRoots roots_of)
      : heap_(heap), words_(words), roots_of_(std::move(roots_of)) {}
  /// Lines of the first level; `rest` receives what is left out of it.
  [[nodiscard]] std::vector<Holder> make(std::uint64_t& rest);

 private:
  using Places = std::vector<std::uint32_t>;
  /// Some of many places, evenly: each second, fourth ... one.
  class Sample {
   public:
    void add(std::uint32_t place);
    [[nodiscard]] std::size_t count() const { return count_; }
    [[nodiscard]] const Places& some() const { return some_; }

   private:
    Places some_;
    std::size_t count_ = 0, step_ = 1;
  };
  /// A line, and the groups that it holds and that are not lines yet.
  struct Line {
    Holder told;
    std::vector<std::unique_ptr<Line>> held;
    std::unordered_map<std::uint64_t, Places> groups;  ///< by type; roots each by themselves
  };
  [[nodiscard]] std::uint64_t key_of(std::uint32_t place) const;
  void group(std::uint32_t place, Line& line) const;
  void gather(const Places& places, Line& line);
  [[nodiscard]] bool is_part(const TypeWords& outer, std::uint32_t outer_type, std::uint32_t place,
                             std::uint32_t parent, unsigned depth);
  [[nodiscard]] std::unique_ptr<Line> line_of(const Places& places, bool is_first_level);
  void find_requests(std::uint32_t type, const Sample& alike, Line& line);
  void find_methods(std::uint32_t type, const Places& places, const Sample& alike, Line& line);
  void describe(const Places& places, const Sample& alike, Line& line);
  void open(Line& line, bool is_first_level);
  void name_roots(const Places& places, Line& line);
  [[nodiscard]] Holder told(Line& line);

  const HeldHeap& heap_;
  HolderWords& words_;
  FindRoots roots_of_;
  std::size_t shared_ = 0;  ///< lines whose roots were asked for
  struct Smaller {
    bool operator()(const Line* a, const Line* b) const { return a->told.retained < b->told.retained; }
  };
  std::priority_queue<Line*, std::vector<Line*>, Smaller> closed_;
  std::size_t lines_ = 0;
};

}  // namespace mixstack::dotnet::holders
