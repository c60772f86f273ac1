#include "agent/jit_map.h"

#include <algorithm>
#include <bit>

namespace mixstack::agent {
namespace {

constexpr std::size_t kMostLayouts = 1 << 16;
constexpr std::uint32_t kNoRoomForLayout = 1;  // its rule is made anew each time
// Of the flags of a piece: its part, whether it may be freed, the source of its frame.
constexpr std::uint8_t kPartMask = 3, kMayBeFreed = 4;
constexpr unsigned kSourceShift = 3;
// AArch64 gives programs addresses of 48 and 52 bits, x86-64 of 47 and 56.
constexpr unsigned kMostAddressBits = 56;

using Presence = self_walk::ZeroedPages::Presence;

template <class T>
[[nodiscard]] T* array_in(const self_walk::ZeroedPages& room) {
  return static_cast<T*>(room.get());
}

[[nodiscard]] std::size_t region_slot(std::uint64_t number, std::size_t regions) {
  return static_cast<std::size_t>((number * 0x9e3779b97f4a7c15ull) >> 32) & (regions - 1);
}

}  // namespace

JitMap::JitMap(const Options& options)
    : options_(options),
      region_room_(options.most_regions * sizeof(Region), Presence::lazy),
      head_room_((options.most_regions + 1) * kGranules * sizeof(std::uint32_t), Presence::lazy),
      piece_room_((options.most_pieces + 1) * sizeof(Piece), Presence::lazy),
      node_room_((2 * options.most_pieces + 1) * sizeof(Node), Presence::lazy),
      layout_room_(kMostLayouts * sizeof(Layout), Presence::lazy),
      bucket_room_(std::bit_ceil(options.most_pieces) * sizeof(std::uint32_t), Presence::lazy),
      regions_(array_in<Region>(region_room_)),
      heads_(array_in<std::atomic<std::uint32_t>>(head_room_)),
      pieces_(array_in<Piece>(piece_room_)),
      nodes_(array_in<Node>(node_room_)),
      layouts_(array_in<Layout>(layout_room_)),
      buckets_(array_in<std::uint32_t>(bucket_room_)) {
  if (layouts_ != nullptr) layouts_[kNoRoomForLayout] = {unwind::kInterpretedRule, 0};
}

bool JitMap::is_usable() const {
  return options_.most_pieces < std::size_t{1} << Node::kPieceBits && regions_ != nullptr && heads_ != nullptr &&
         pieces_ != nullptr && nodes_ != nullptr && layouts_ != nullptr && buckets_ != nullptr &&
         (options_.most_regions & (options_.most_regions - 1)) == 0;
}

const std::atomic<std::uint32_t>* JitMap::head_of(Address address) const {
  const std::uint64_t number = address >> kRegionBits;
  for (std::size_t i = region_slot(number, options_.most_regions), n = 0; n < options_.most_regions; n++) {
    const Region& region = regions_[i];
    const std::uint64_t found = region.number.load(std::memory_order_acquire);
    if (found == number)
      return &heads_[region.heads.load(std::memory_order_relaxed) * kGranules + (address >> kGranuleBits) % kGranules];
    if (found == 0) return nullptr;
    i = (i + 1) & (options_.most_regions - 1);
  }
  return nullptr;
}

bool JitMap::find(Address address, JitCode& out) const {
  if (address >> kRegionBits == 0) return false;
  const std::atomic<std::uint32_t>* head = head_of(address);
  if (head == nullptr) return false;
  for (std::uint32_t n = head->load(std::memory_order_acquire); n != 0;) {
    const Node& node = nodes_[n];
    if (!node.may_cover(address)) {
      n = node.next.load(std::memory_order_acquire);
      continue;
    }
    const Piece& piece = pieces_[node.piece()];
    if (address - piece.begin < piece.size) {
      out.range = {piece.begin, piece.begin + piece.size};
      out.method = piece.method;
      out.image_base = piece.image_base;
      out.unwind_data = piece.unwind_data;
      out.prologue = piece.prologue;
      out.part = static_cast<JitPart>(piece.flags & kPartMask);
      out.may_be_freed = (piece.flags & kMayBeFreed) != 0;
      out.source = static_cast<FrameSource>(piece.flags >> kSourceShift);
      out.kept = piece.kept;
      out.prologue_bytes = piece.prologue_bytes;
      out.rule = layouts_[piece.layout].rule;
      out.frame_size = layouts_[piece.layout].frame_size;
      return true;
    }
    n = node.next.load(std::memory_order_acquire);
  }
  return false;
}

std::atomic<std::uint32_t>* JitMap::make_head(Address address) {
  if (const auto* head = head_of(address)) return const_cast<std::atomic<std::uint32_t>*>(head);
  // Half full at most: probes stay short, and there is always a free slot that ends one.
  if (next_heads_ > options_.most_regions / 2) return nullptr;
  const std::uint64_t number = address >> kRegionBits;
  std::size_t i = region_slot(number, options_.most_regions);
  while (regions_[i].number.load(std::memory_order_relaxed) != 0) i = (i + 1) & (options_.most_regions - 1);
  regions_[i].heads.store(next_heads_++, std::memory_order_relaxed);
  regions_[i].number.store(number, std::memory_order_release);
  account_.bytes += sizeof(Region) + kGranules * sizeof(std::uint32_t);
  return const_cast<std::atomic<std::uint32_t>*>(head_of(address));
}

std::uint32_t JitMap::intern(const JitCode& code) {
  const std::uint64_t hash = unwind::hash_of(code.rule) + code.frame_size;
  const auto [first, last] = layout_by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Layout& known = layouts_[it->second];
    if (known.frame_size == code.frame_size && known.rule.same_rule(code.rule)) return it->second;
  }
  if (next_layout_ == kMostLayouts) return kNoRoomForLayout;
  layouts_[next_layout_] = {code.rule, code.frame_size};
  layout_by_hash_.emplace(hash, next_layout_);
  account_.bytes += sizeof(Layout);
  return next_layout_++;
}

/// Numbers of methods are given one after another, so that their low bits are as good as a hash of them.
std::uint32_t& JitMap::bucket_of(std::uint32_t method) {
  return buckets_[method & (std::bit_ceil(options_.most_pieces) - 1)];
}

void JitMap::forget_in_bucket(std::uint32_t piece) {
  std::uint32_t* from = &bucket_of(pieces_[piece].method);
  while (*from != 0 && *from != piece) from = &pieces_[*from].next_of_method;
  if (*from == piece) *from = pieces_[piece].next_of_method;
}

std::uint32_t JitMap::take_piece() {
  if (free_pieces_.empty()) {
    if (next_piece_ > options_.most_pieces) return 0;
    account_.bytes += sizeof(Piece);
    return next_piece_++;
  }
  const std::uint32_t piece = free_pieces_.back();
  free_pieces_.pop_back();
  return piece;
}

std::uint32_t JitMap::take_node() {
  if (free_nodes_.empty()) {
    if (next_node_ > 2 * options_.most_pieces) return 0;
    account_.bytes += sizeof(Node);
    return next_node_++;
  }
  const std::uint32_t node = free_nodes_.back();
  free_nodes_.pop_back();
  return node;
}

/// Of the granule around `at`.
std::uint32_t JitMap::what_of(std::uint32_t piece, Address at) const {
  const Piece& p = pieces_[piece];
  const Address granule = at >> kGranuleBits << kGranuleBits;
  const Address first = std::max(p.begin, granule) - granule;
  const Address last = std::min(p.begin + p.size, granule + (Address{1} << kGranuleBits)) - 1 - granule;
  return piece | static_cast<std::uint32_t>(first >> Node::kUnitShift) << Node::kPieceBits |
         static_cast<std::uint32_t>(last >> Node::kUnitShift) << (Node::kPieceBits + Node::kUnitBits);
}

void JitMap::link(std::uint32_t piece) {
  const Piece& p = pieces_[piece];
  for (Address at = p.begin; at < p.begin + p.size; at = (at | ((Address{1} << kGranuleBits) - 1)) + 1) {
    std::atomic<std::uint32_t>* head = make_head(at);
    const std::uint32_t node = take_node();
    nodes_[node].what = what_of(piece, at);
    nodes_[node].next.store(head->load(std::memory_order_relaxed), std::memory_order_relaxed);
    head->store(node, std::memory_order_release);
  }
}

/// Nodes that were taken out still lead on: a reader in one of them finds the rest of the list.
void JitMap::unlink(std::uint32_t piece) {
  Retired& retired = retired_[epoch_.load(std::memory_order_relaxed) & 1];
  const Piece& p = pieces_[piece];
  for (Address at = p.begin; at < p.begin + p.size; at = (at | ((Address{1} << kGranuleBits) - 1)) + 1) {
    std::atomic<std::uint32_t>* from = make_head(at);
    while (from != nullptr && from->load(std::memory_order_relaxed) != 0) {
      const std::uint32_t node = from->load(std::memory_order_relaxed);
      if (nodes_[node].piece() == piece) {
        from->store(nodes_[node].next.load(std::memory_order_relaxed), std::memory_order_release);
        retired.nodes.push_back(node);
        break;
      }
      from = &nodes_[node].next;
    }
  }
  retired.pieces.push_back(piece);
  account_.by_source[p.flags >> kSourceShift]--;
  account_.pieces--;
  account_.freed++;
}

/// What was retired an epoch ago can be used again when those who read then have left.
void JitMap::reclaim() {
  const std::uint32_t epoch = epoch_.load(std::memory_order_relaxed);
  Retired& old = retired_[(epoch + 1) & 1];
  if (old.pieces.empty() && retired_[epoch & 1].pieces.empty()) return;
  if (readers_[(epoch + 1) & 1].load(std::memory_order_seq_cst) != 0) return;
  free_pieces_.insert(free_pieces_.end(), old.pieces.begin(), old.pieces.end());
  free_nodes_.insert(free_nodes_.end(), old.nodes.begin(), old.nodes.end());
  old.pieces.clear();
  old.nodes.clear();
  epoch_.store(epoch + 1, std::memory_order_seq_cst);
}

std::uint32_t JitMap::piece_at(AddressRange range) const {
  const auto* head = head_of(range.begin);
  if (head == nullptr) return 0;
  for (std::uint32_t n = head->load(std::memory_order_relaxed); n != 0; n = nodes_[n].next)
    if (const Piece& p = pieces_[nodes_[n].piece()]; p.begin == range.begin) return nodes_[n].piece();
  return 0;
}

bool JitMap::add(const JitCode& code) {
  const Address last = code.range.end - 1;
  const bool is_range = code.range.end > code.range.begin && code.range.size() <= UINT32_MAX &&
                        code.range.begin >> kRegionBits != 0 && last >> kMostAddressBits == 0 &&
                        code.method <= UINT32_MAX;
  const std::lock_guard lock(mutex_);
  if (!is_range) {
    account_.refused++;
    return false;
  }
  reclaim();
  const std::uint32_t before = piece_at(code.range);
  const std::size_t granules = static_cast<std::size_t>(last >> kGranuleBits) - (code.range.begin >> kGranuleBits) + 1;
  const std::size_t nodes_left = free_nodes_.size() + 2 * options_.most_pieces + 1 - next_node_;
  bool has_room = nodes_left >= granules;
  for (Address at = code.range.begin; has_room && at <= last; at = (at | ((Address{1} << kRegionBits) - 1)) + 1)
    has_room = make_head(at) != nullptr;
  const std::uint32_t piece = has_room ? take_piece() : 0;
  if (piece == 0) {
    account_.refused++;
    return false;
  }
  Piece& p = pieces_[piece];
  p.begin = code.range.begin;
  p.image_base = code.image_base;
  p.method = static_cast<std::uint32_t>(code.method);
  p.size = static_cast<std::uint32_t>(code.range.size());
  p.unwind_data = code.unwind_data;
  p.layout = intern(code);
  p.prologue = code.prologue;
  p.flags = static_cast<std::uint8_t>(static_cast<unsigned>(code.part) | (code.may_be_freed ? kMayBeFreed : 0u) |
                                      static_cast<unsigned>(code.source) << kSourceShift);
  p.kept = code.kept;
  p.prologue_bytes = code.prologue_bytes;
  link(piece);
  std::uint32_t& bucket = bucket_of(p.method);
  if (bucket == 0) account_.bytes += sizeof(bucket);
  p.next_of_method = bucket;
  bucket = piece;
  account_.pieces++;
  account_.by_source[static_cast<std::size_t>(code.source)]++;
  if (before != 0) {
    forget_in_bucket(before);
    unlink(before);
  }
  return true;
}

std::vector<AddressRange> JitMap::free_method(std::uint64_t method) {
  const std::lock_guard lock(mutex_);
  std::vector<AddressRange> freed;
  if (method <= UINT32_MAX) {
    std::uint32_t* from = &bucket_of(static_cast<std::uint32_t>(method));
    while (*from != 0) {
      const std::uint32_t piece = *from;
      if (pieces_[piece].method != method) {
        from = &pieces_[piece].next_of_method;
        continue;
      }
      *from = pieces_[piece].next_of_method;
      freed.push_back({pieces_[piece].begin, pieces_[piece].begin + pieces_[piece].size});
      unlink(piece);
    }
  }
  reclaim();
  return freed;
}

JitMap::Account JitMap::account() const {
  const std::lock_guard lock(mutex_);
  return account_;
}

}  // namespace mixstack::agent
