#include "dotnet/holders/heap_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "dotnet/holders/held_heap.h"
#include "dotnet/holders/holder_chains.h"
#include "dotnet/holders/holder_paths.h"
#include "dotnet/holders/shared_roots.h"
#include "support/fake_heap.h"

namespace mixstack::dotnet::holders {
namespace {

constexpr std::uint32_t kReferences = 0x01000000;
constexpr std::size_t kHeader = 64;

class HeapGraphTest : public ::testing::Test {
 protected:
  HeapGraphTest() {
    // An object[] has references from its first element on.
    const Address flags = heap_.array + heap_.layouts.method_table.flags.offset;
    heap_.memory.put_u32(flags, *heap_.memory.read<std::uint32_t>(flags) | kReferences);
    heap_.memory.put_u64(heap_.array - 8, 1);
    heap_.memory.put_u64(heap_.array - 16, 16);
    heap_.memory.put_u64(heap_.array - 24, 0 - std::uint64_t{24});
  }

  Address plain() { return make(heap_.object_type, 24, 0); }
  Address array(const std::vector<Address>& items) {
    const auto length = static_cast<std::uint32_t>(items.size());
    const Address at = make(heap_.array, 24 + 8 * length, length);
    for (std::uint32_t i = 0; i < length; i++) heap_.memory.put_u64(at + 16 + 8 * i, items[i]);
    return at;
  }
  Address make(Address type, std::uint32_t bytes, std::uint32_t length) {
    const Address at = next_;
    heap_.memory.put_u64(at, type);
    heap_.memory.put_u32(at + 8, length);
    next_ += bytes;
    return at;
  }

  /// An array of a type without references, of any size: only its header is there.
  Address huge(std::uint64_t bytes) {
    if (numbers_type_ == 0) {
      numbers_type_ = heap_.array + 0x80;
      std::array<std::byte, 0x60> copy{};
      EXPECT_TRUE(heap_.memory.read_exact(heap_.array, copy));
      heap_.memory.put_bytes(numbers_type_, copy);
      const auto& t = heap_.layouts.method_table;
      heap_.memory.put_u32(numbers_type_ + t.flags.offset, 0x80080008);
      heap_.memory.put_u64(numbers_type_ + t.ee_class_or_canon.offset, heap_.array | 1);
    }
    const Address at = make(numbers_type_, 0, static_cast<std::uint32_t>((bytes - 24) / 8));
    next_ += bytes;
    return at;
  }

  /// The same where objects are too large for a buffer: their headers are read.
  void walk_headers() {
    objects::GcRegion region;
    region.generation = HeapGeneration::large;
    region.objects = {test::FakeHeap::kRegion, next_};
    region.committed = region.reserved = next_;
    std::vector<RegionObjects> all;
    all.push_back(RegionWalk(sizes_, references_, shapes_).walk(region, {}, objects::bytes_of(heap_.memory, kHeader)));
    EXPECT_EQ(all[0].end, objects::RegionCount::End::whole);
    numbers_.emplace(std::move(all));
  }

  /// Numbers what was made.
  void walk(HeapGeneration generation = HeapGeneration::two) {
    objects::GcRegion region;
    region.generation = generation;
    region.objects = {test::FakeHeap::kRegion, next_};
    region.committed = region.reserved = next_;
    std::vector<std::byte> bytes(next_ - region.objects.begin);
    EXPECT_TRUE(heap_.memory.read_exact(region.objects.begin, bytes));
    std::vector<RegionObjects> all;
    all.push_back(
        RegionWalk(sizes_, references_, shapes_).walk(region, {}, objects::bytes_of(region.objects.begin, bytes)));
    EXPECT_EQ(all[0].end, objects::RegionCount::End::whole);
    referring_ = all[0].referring;
    is_listed_ = all[0].bits.empty();
    numbers_.emplace(std::move(all));
  }
  GraphParts parts() {
    return {*numbers_, shapes_, sizes_, references_,
            image_,    roots_,  slots_, [](const StaticSlot& slot) { return slot.field; }};
  }
  HeapGraph graph() {
    auto made = make_graph(parts());
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  HeldHeap held() { return {graph(), *numbers_, shapes_, sizes_}; }
  void handle(objects::HandleKind kind, Address object, Address second = 0) {
    roots_.handles.handles.push_back({kind, 0x1000, object, second});
  }
  void stack(std::uint64_t tid, const std::string& name, const std::vector<std::uint64_t>& words) {
    roots_.stacks.push_back({tid, name, words, {}, {}, 0});
  }
  void local(std::uint64_t tid, Address object, const std::string& method, const std::string& variable) {
    roots_.locals.push_back({tid, object, {static_cast<std::uint32_t>(tid), method, variable, "", 0x7000}});
  }
  /// Names of the roots that reach an object.
  std::vector<std::string> roots_of(const HeldHeap& heap, Address object) {
    SharedRoots shared(heap);
    static_cast<void>(tell_edges(parts(), shared));
    shared.sort();
    std::vector<std::string> names;
    for (const Node root : shared.roots_of(std::array{place_of(heap, object)}).roots)
      names.push_back(to_string(heap.root_of(root)->kind) + (" " + heap.root_of(root)->name));
    return names;
  }
  static std::uint32_t place_of(const HeldHeap& heap, Address object) {
    for (std::uint32_t p = 0; p < heap.places(); p++)
      if (heap.is_object(p) && heap.address(p) == object) return p;
    return 0;
  }
  static const RootNode* root_named(const HeldHeap& heap, const std::string& name, std::uint64_t& retained) {
    for (std::uint32_t p = 1; p < heap.places(); p++) {
      const RootNode* root = heap.root(p);
      if (root == nullptr || root->name != name) continue;
      retained = heap.retained(p);
      return root;
    }
    return nullptr;
  }

  test::FakeHeap heap_;
  ObjectSizes sizes_{heap_.runtime()};
  TypeReferences references_{heap_.runtime(), sizes_};
  ObjectShapes shapes_;
  HeapImage image_{heap_.memory, heap_.memory};
  HeapRoots roots_;
  std::vector<StaticSlot> slots_;
  bool is_listed_ = false;
  std::optional<ObjectNumbers> numbers_;
  std::vector<AddressRange> referring_;
  Address next_ = test::FakeHeap::kRegion, numbers_type_ = 0;
};

TEST_F(HeapGraphTest, NumbersAndAddresses) {
  std::vector<Address> all;
  for (int i = 0; i < 2000; i++) all.push_back(i % 3 == 0 ? array({0, 0}) : plain());
  walk();
  ASSERT_EQ(numbers_->size(), all.size());
  for (Node n = 0; n < all.size(); n++) {
    ASSERT_EQ(numbers_->address(n), all[n]);
    ASSERT_EQ(numbers_->find(all[n]), n);
    ASSERT_EQ(numbers_->find(all[n] + 8), kNoNode);
    ASSERT_EQ(numbers_->find_before(all[n] + 11), n);
  }
  EXPECT_EQ(numbers_->find(next_), kNoNode);
  EXPECT_EQ(numbers_->find_before(test::FakeHeap::kRegion - 8), kNoNode);
  EXPECT_FALSE(referring_.empty());
}

/// Regions of both kinds, one behind the other, with gaps between them.
TEST(ObjectNumbers, KnowAllObjectsByNumberAndAddress) {
  std::minstd_rand engine(5);
  std::vector<RegionObjects> regions;
  std::vector<Address> all;
  Address next = 0x10000;
  for (unsigned r = 0; r < 9; r++) {
    RegionObjects one;
    one.range = {next, next + 8 * 512 * (1 + r % 3)};
    if (r % 3 != 1) one.bits.assign(512 / 64 * (1 + r % 3), 0);
    for (Address at = one.range.begin; at + 24 <= one.range.end; at += 24 + 8 * (engine() % (r == 4 ? 2000 : 20))) {
      const std::uint64_t word = (at - one.range.begin) / 8;
      if (one.bits.empty()) {
        one.begins.push_back(at);
      } else {
        one.bits[word / 64] |= std::uint64_t{1} << word % 64;
      }
      one.shapes.push_back(static_cast<std::uint32_t>(all.size()) * 7);
      all.push_back(at);
    }
    next = one.range.end + (r % 2) * 0x1000;
    regions.push_back(std::move(one));
  }
  const ObjectNumbers numbers(std::move(regions));
  ASSERT_EQ(numbers.size(), all.size());
  Node n = 0;
  numbers.each([&](Node object, Address address) {
    ASSERT_EQ(object, n);
    ASSERT_EQ(address, all[n++]);
  });
  ASSERT_EQ(n, all.size());
  for (n = 0; n < all.size(); n++) {
    ASSERT_EQ(numbers.address(n), all[n]);
    ASSERT_EQ(numbers.find(all[n]), n);
    ASSERT_EQ(numbers.find(all[n] + 8), kNoNode);
    ASSERT_EQ(numbers.find_before(all[n] + 16), n);
    ASSERT_EQ(numbers.shape(n), n * 7);
  }
  EXPECT_EQ(numbers.find(0xfff8), kNoNode);
  EXPECT_EQ(numbers.find_before(next), kNoNode);
}

TEST(RegionObjects, ReadingCostsPiecesAndGaps) {
  RegionObjects one;
  one.range = {0x10000, 0x90000};
  one.referring = {{0x10000, 0x10100}, {0x10300, 0x10400}, {0x80000, 0x80010}};
  EXPECT_EQ(one.referring_bytes(), 0x210U);
  EXPECT_EQ(one.reading_bytes(), 0x210U + 0x200 + 2 * RegionObjects::kGapRead);
}

TEST(ObjectNumbers, ManyShapes) {
  std::vector<RegionObjects> regions(1);
  regions[0].range = {0x1000, 0x2000};
  regions[0].bits.assign(8, 0);
  regions[0].bits[0] = 9;
  regions[0].shapes = {70'000, 3};
  const ObjectNumbers numbers(std::move(regions));
  EXPECT_EQ(numbers.shape(0), 70'000U);
  EXPECT_EQ(numbers.shape(1), 3U);
}

TEST_F(HeapGraphTest, LargeObjectsNeedNoBits) {
  const Address shared = plain(), own = plain(), first = array({shared, own}), second = array({shared});
  walk(HeapGeneration::large);
  EXPECT_TRUE(is_listed_);
  handle(objects::HandleKind::strong, first);
  handle(objects::HandleKind::pinned, second);
  const HeldHeap heap = held();
  EXPECT_EQ(heap.retained(place_of(heap, first)), 40U + 24);
  EXPECT_EQ(heap.above(place_of(heap, shared)), 0U);
}

TEST_F(HeapGraphTest, PlacesBelowOneAnother) {
  const Address a = plain(), b = array({a}), c = plain(), d = array({c, b}), e = array({d, c, a});
  walk();
  handle(objects::HandleKind::strong, e);
  const HeldHeap heap = held();
  const auto below = [&](Address object) {
    std::vector<Address> out;
    for (const std::uint32_t p : heap.held(place_of(heap, object))) out.push_back(heap.address(p));
    std::sort(out.begin(), out.end());
    return out;
  };
  EXPECT_EQ(below(e), (std::vector<Address>{a, c, d}));
  EXPECT_EQ(below(d), std::vector<Address>{b});
  EXPECT_EQ(below(b), std::vector<Address>{});
  for (std::uint32_t p = 1; p < heap.places(); p++) EXPECT_LT(heap.above(p), p);
}

TEST_F(HeapGraphTest, RetainedByHandles) {
  const Address shared = plain(), own = plain();
  const Address first = array({shared, own}), second = array({shared});
  const Address garbage = array({shared});
  walk();
  handle(objects::HandleKind::strong, first);
  handle(objects::HandleKind::pinned, second);
  handle(objects::HandleKind::weak_short, garbage);
  const HeapGraph made = graph();
  EXPECT_EQ(made.references, 4U);
  EXPECT_EQ(made.dangling, 0U);
  const HeldHeap heap = held();
  EXPECT_EQ(heap.retained(place_of(heap, first)), 40U + 24);
  EXPECT_EQ(heap.retained(place_of(heap, second)), 32U);
  EXPECT_EQ(heap.above(place_of(heap, shared)), 0U);
  EXPECT_EQ(place_of(heap, garbage), 0U);
  EXPECT_EQ(heap.retained(0), 40U + 24 + 24 + 32);
}

/// Sums of 8 bytes fit into 32 bits up to 32 GB less 8: there, one step beyond, and far beyond.
TEST_F(HeapGraphTest, RetainedSizesOfAnyHeap) {
  constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30, kMostNarrow = 32 * kGigabyte - 8;
  constexpr std::uint64_t kLists = 2 * (24 + 2 * 8);
  for (const std::uint64_t all : {kMostNarrow, kMostNarrow + 8, 100 * kGigabyte}) {
    next_ = test::FakeHeap::kRegion;
    roots_ = {};
    const std::uint64_t most = 31 * kGigabyte;  // of one array of numbers
    std::vector<Address> large;
    std::uint64_t left = all - kLists;
    while (left > most) {
      large.push_back(huge(most - 24));
      left -= most - 24;
    }
    large.push_back(huge(left));
    const Address list = array({large[0], large[1]});
    const Address first = array({list, large.size() > 2 ? large[2] : 0});
    if (large.size() > 3) handle(objects::HandleKind::pinned, large[3]);
    handle(objects::HandleKind::strong, first);
    walk_headers();
    const HeldHeap heap = held();
    EXPECT_EQ(heap.retained(0), all);
    EXPECT_EQ(heap.retained(place_of(heap, large[0])), most - 24);
    EXPECT_EQ(heap.retained(place_of(heap, list)),
              heap.size(place_of(heap, large[0])) + heap.size(place_of(heap, large[1])) + 40);
    const std::uint64_t pinned = large.size() > 3 ? heap.size(place_of(heap, large[3])) : 0;
    EXPECT_EQ(heap.retained(place_of(heap, first)), all - pinned);
    EXPECT_EQ(pinned == 0 ? 0 : heap.retained(place_of(heap, large[3])), pinned);
  }
}

TEST_F(HeapGraphTest, ASlotOfAStaticIsARootOfItsOwn) {
  const Address one = array({plain()}), other = plain();
  const Address statics = array({one, other});
  walk();
  handle(objects::HandleKind::pinned, statics);
  slots_ = {{statics + 16, 0, "s_one", 0}};
  const HeldHeap heap = held();
  std::uint64_t retained = 0;
  const RootNode* root = root_named(heap, "s_one", retained);
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(root->kind, RootKind::static_field);
  EXPECT_EQ(retained, 32U + 24);
  EXPECT_EQ(heap.retained(place_of(heap, statics)), 40U + 24);
}

TEST_F(HeapGraphTest, ASecondObjectLivesAsLongAsTheFirst) {
  const Address value = array({plain()}), key = plain(), dead = plain(), other = plain();
  walk();
  handle(objects::HandleKind::dependent, key, value);
  handle(objects::HandleKind::dependent, dead, other);
  EXPECT_EQ(held().places(), kRootClasses);  // nothing refers to the keys
  handle(objects::HandleKind::strong, key);
  const HeldHeap heap = held();
  EXPECT_EQ(heap.retained(place_of(heap, key)), 24U + 32 + 24);
  EXPECT_EQ(place_of(heap, other), 0U);
}

TEST_F(HeapGraphTest, StacksTakeNothingFromOtherRoots) {
  const Address shared = plain(), first = array({shared}), local = array({shared, plain()});
  walk();
  handle(objects::HandleKind::strong, first);
  stack(7, "main", {shared, local + 20, 12345});  // one word points into an object
  const HeldHeap heap = held();
  EXPECT_EQ(heap.retained(place_of(heap, first)), 32U + 24);
  EXPECT_EQ(heap.retained(place_of(heap, local)), 40U + 24);
  EXPECT_LT(place_of(heap, shared), heap.begin_of(RootClass::words));
  EXPECT_GT(place_of(heap, local), heap.begin_of(RootClass::words));
}

TEST_F(HeapGraphTest, LiveVariablesTakeNothingFromOtherRootsAndWordsNothingFromThem) {
  const Address shared = plain(), first = array({shared}), list = array({shared, plain()}), old = array({list});
  walk();
  handle(objects::HandleKind::strong, first);
  stack(7, "main", {list, old});
  stack(8, "", {list});
  local(7, list, "Shop.Sort()", "");
  local(7, list, "Shop.Load()", "orders");
  local(7, list, "Shop.Main()", "");
  local(7, 0x10, "Shop.Main()", "none");
  const HeldHeap heap = held();
  const std::uint32_t place = place_of(heap, list);
  EXPECT_EQ(heap.class_of(place), RootClass::locals);
  EXPECT_EQ(heap.retained(place), 40U + 24);
  EXPECT_EQ(heap.class_of(place_of(heap, old)), RootClass::words);
  EXPECT_EQ(heap.retained(place_of(heap, old)), 32U);
  EXPECT_EQ(heap.class_of(place_of(heap, shared)), RootClass::certain);
  const RootNode* root = heap.root(heap.above(place));
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(root->kind, RootKind::local);
  EXPECT_EQ(root->name, "thread 7 (main)");
  const StackPlace* at = heap.place_of(heap.node(heap.above(place)), heap.node(place));
  ASSERT_NE(at, nullptr);
  EXPECT_EQ(at->method, "Shop.Load()");
  EXPECT_EQ(at->variable, "orders");
  EXPECT_EQ(heap.place_of(heap.node(heap.above(place)), heap.node(place_of(heap, old))), nullptr);
}

TEST_F(HeapGraphTest, RootsOfWhatNoneHoldsAlone) {
  const Address shared = plain(), deep = array({shared});
  const Address both = array({deep}), one = array({both}), two = array({array({both})}), third = array({shared});
  walk();
  const Address pinned = one;
  handle(objects::HandleKind::pinned, pinned);
  handle(objects::HandleKind::strong, two);
  roots_.ready.objects = {third};
  stack(9, "", {both, shared});
  const HeldHeap heap = held();
  EXPECT_EQ(heap.above(place_of(heap, both)), 0U);
  EXPECT_EQ(roots_of(heap, both), (std::vector<std::string>{"strong_handle ", "pinned_handle "}));
  EXPECT_EQ(roots_of(heap, shared), (std::vector<std::string>{"finalizer ", "strong_handle ", "pinned_handle "}));
}

/// Whether a node leads to another one.
bool reaches(const HeapGraph& graph, Node from, Node to) {
  std::vector<bool> seen(graph.graph.nodes());
  std::vector<Node> queue{from};
  for (std::size_t i = 0; i < queue.size(); i++) {
    if (queue[i] == to) return true;
    for (std::uint32_t e = graph.graph.begin(queue[i]); !graph.graph.is_end(e); e++) {
      const Node next = graph.graph.to(queue[i], e);
      if (!seen[next]) queue.push_back(next);
      seen[next] = true;
    }
  }
  return false;
}

TEST_F(HeapGraphTest, RootsOfRandomGraphsAreAllThatReachThem) {
  std::minstd_rand engine(11);
  const auto random = [&](std::size_t below) { return static_cast<std::size_t>(engine()) % below; };
  std::vector<Address> all;
  for (int i = 0; i < 120; i++) all.push_back(array(std::vector<Address>(random(4))));
  const Address statics = array(std::vector<Address>(12));
  for (const Address object : all)
    for (std::uint32_t i = 0; i < *heap_.memory.read<std::uint32_t>(object + 8); i++)
      heap_.memory.put_u64(object + 16 + 8 * i, all[random(all.size())]);
  for (std::uint32_t i = 0; i < 12; i++) {
    heap_.memory.put_u64(statics + 16 + 8 * i, all[random(all.size())]);
    slots_.push_back({statics + 16 + 8 * i, 0, "s_" + std::to_string(i), 0});
  }
  walk();
  handle(objects::HandleKind::pinned, statics);
  const HeapGraph made = graph();
  const HeldHeap heap = held();
  SharedRoots shared(heap);
  static_cast<void>(tell_edges(parts(), shared));
  shared.sort();
  std::size_t compared = 0;
  for (std::uint32_t p = 1; p < heap.places(); p++) {
    if (!heap.is_object(p) || !heap.is_top(p)) continue;
    std::vector<Node> expected;
    for (Node r = 0; r < made.roots.size(); r++)
      if (reaches(made, made.objects + r, heap.node(p))) expected.push_back(made.objects + r);
    auto found = shared.roots_of(std::array{p});
    std::sort(found.roots.begin(), found.roots.end());
    EXPECT_EQ(found.roots, expected);
    EXPECT_TRUE(found.is_whole);
    EXPECT_GE(expected.size(), 2U);
    compared++;
  }
  EXPECT_GT(compared, 5U);
}

TEST_F(HeapGraphTest, TheRootsOfMostBytesComeFirst) {
  std::vector<Address> shared;
  for (int i = 0; i < 20; i++) shared.push_back(plain());
  const Address few = array({shared[0]}), fewer = array({shared[0]});
  const Address most = array(std::vector<Address>(shared.begin() + 1, shared.end()));
  const Address many = array({array(std::vector<Address>(shared.begin() + 1, shared.end()))});
  walk();
  local(1, few, "A()", "a");
  local(2, fewer, "B()", "b");
  local(3, many, "C()", "c");
  local(4, most, "D()", "d");
  const HeldHeap heap = held();
  SharedRoots found(heap);
  static_cast<void>(tell_edges(parts(), found));
  found.sort();
  std::vector<std::uint32_t> places;
  for (const Address object : shared) places.push_back(place_of(heap, object));
  std::vector<std::string> names;
  for (const Node root : found.roots_of(places).roots) names.push_back(heap.root_of(root)->name);
  ASSERT_EQ(names.size(), 4U);
  std::sort(names.begin(), names.begin() + 2);
  EXPECT_EQ(names[0] + names[1], "thread 3thread 4");
}

TEST_F(HeapGraphTest, RootsOfWhatTwoThreadsHold) {
  const Address both = plain(), one = array({both}), two = array({both});
  walk();
  local(7, one, "A()", "a");
  local(8, two, "B()", "b");
  const HeldHeap heap = held();
  EXPECT_EQ(heap.above(place_of(heap, both)), heap.begin_of(RootClass::locals));
  EXPECT_EQ(roots_of(heap, both), (std::vector<std::string>{"local thread 7", "local thread 8"}));
}

TEST_F(HeapGraphTest, ReferencesIntoNothingAreCounted) {
  const Address broken = array({next_ + 8, 0x10});
  walk();
  handle(objects::HandleKind::strong, broken);
  EXPECT_EQ(graph().dangling, 2U);
}

TEST_F(HeapGraphTest, ShortestWays) {
  const Address target = plain();
  const Address inner = array({target}), middle = array({inner}), outer = array({middle});
  const Address direct = make(heap_.db, 24, 0);
  walk();
  handle(objects::HandleKind::strong, outer);
  HeapGraph made = graph();
  const ShortestWays ways(made, [&](Node n) { return shapes_[numbers_->shape(n)].type; });
  const Node from = numbers_->find(target);
  EXPECT_EQ(ways.before(from), numbers_->find(inner));
  EXPECT_EQ(ways.before(numbers_->find(outer)), made.objects);  // the root of strong handles
  EXPECT_EQ(ways.before(numbers_->find(direct)), kNoNode);
  // Arrays one behind the other are one step.
  EXPECT_EQ(ways.way(numbers_->find(inner)), ways.way(numbers_->find(outer)));
  EXPECT_NE(ways.way(from), ways.way(numbers_->find(inner)));
}

TEST_F(HeapGraphTest, ChainsAreWordsFromARootOn) {
  const Address target = plain(), inner = array({0, target}), outer = array({inner}), queued = array({plain()});
  const Address of_static = array({target}), statics = array({of_static, 0}), unheld = plain();
  walk();
  handle(objects::HandleKind::strong, outer);
  handle(objects::HandleKind::pinned, statics);
  roots_.ready.objects = {queued};
  slots_ = {{statics + 16, 0, "s_one", 0}};
  HeapGraph made = graph();
  const ShortestWays ways(made, [&](Node n) { return shapes_[numbers_->shape(n)].type; });
  const HeldHeap heap(std::move(made), *numbers_, shapes_, sizes_);
  HolderChains chains({heap, ways, references_, image_, roots_});
  const auto words = [&](Address object) {
    std::vector<std::pair<Address, Address>> out;
    const HolderChain chain = chains.to(numbers_->find(object));
    if (!chain.is_whole) return out;
    for (const HeldWord& w : chain.words) out.emplace_back(w.at, w.value);
    return out;
  };
  using Words = std::vector<std::pair<Address, Address>>;
  EXPECT_EQ(words(inner), (Words{{outer + 16, inner}, {0x1000, outer}}));
  EXPECT_EQ(words(target), (Words{{of_static + 16, target}, {statics + 16, of_static}}));  // the shorter one
  EXPECT_EQ(words(queued), Words{});  // the queue's word is not known
  EXPECT_EQ(words(unheld), Words{});

  HeapHolders found;
  found.tree.resize(1);
  found.tree[0].held.resize(2);
  found.tree[0].held[0].largest = inner;
  found.tree[0].held[1].largest = unheld;
  found.paths.resize(1);
  found.paths[0].steps = {{RootKind::none, "", "", 1, target, "", {}, {}}};
  const auto all = chains_of(found, *numbers_, chains);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_TRUE(all[0].is_whole && !all[1].is_whole && all[2].is_whole);
  mark(found, {true, false, false});
  EXPECT_TRUE(found.tree[0].is_verified && found.tree[0].held[0].is_verified);
  EXPECT_FALSE(found.tree[0].held[1].is_verified || found.paths[0].is_verified);
  EXPECT_EQ(found.chains, 3U);
  EXPECT_EQ(found.chains_verified, 1U);
}

TEST(HeapImage, CopiesBeforeTheMemoryBelow) {
  test::SparseMemory below;
  for (Address a = 0x1000; a < 0x3000; a += 8) below.put_u64(a, a);
  HeapImage image(below, below);
  image.reserve(64, 1);
  const auto copy = image.add({0x2000, 0x2010});
  ASSERT_EQ(copy.size(), 16U);
  std::fill(copy.begin(), copy.end(), std::byte{7});
  EXPECT_TRUE(image.add({0x2100, 0x2200}).empty());  // no room
  image.sort();
  EXPECT_EQ(*image.read<std::uint8_t>(0x2008), 7U);
  EXPECT_EQ(*image.read<std::uint64_t>(0x2010), 0x2010U);
  EXPECT_EQ(*image.read<std::uint64_t>(0x1ff8), 0x1ff8U);
  image.close();
  EXPECT_EQ(image.left(), 0U);
  EXPECT_EQ(*image.read<std::uint8_t>(0x2008), 7U);
  image.set_moving({{0x2000, 0x2800}, {0x2900, 0x2a00}, {0, 0}});
  EXPECT_FALSE(image.read<std::uint64_t>(0x2010).has_value());
  EXPECT_EQ(*image.read<std::uint64_t>(0x2800), 0x2800U);
  EXPECT_FALSE(image.read<std::uint64_t>(0x29f8).has_value());
  EXPECT_FALSE(image.read<std::uint64_t>(0x28fc).has_value());  // a part of it moves
  EXPECT_EQ(*image.read<std::uint64_t>(0x2a00), 0x2a00U);
}

}  // namespace
}  // namespace mixstack::dotnet::holders
