#include "agent/in_process/jit_map.h"

#include <algorithm>
#include <bit>

namespace mixstack::agent {
namespace {

constexpr std::uint16_t kMostLayouts = UINT16_MAX;
constexpr std::uint16_t kNoRoomForLayout = 1;  // its rule is computed anew at each walk
// Flags of a piece: its part, whether it may be freed, the source of its frame.
constexpr std::uint8_t kPartMask = 3, kMayBeFreed = 4;
constexpr unsigned kSourceShift = 3;
// User addresses have up to 48 or 52 bits on AArch64, 47 or 56 on x86-64.
constexpr unsigned kMostAddressBits = 56;
constexpr Address kLeastAddress = 1u << 21;
/// No method is this large; a wrong size would take all room.
constexpr std::uint64_t kMostPieceSize = 64u << 20;
/// A look-up fails after this many tries during each of which a piece was freed.
constexpr int kMostTries = 8;

using Presence = self_walk::ZeroedPages::Presence;

template <class T>
[[nodiscard]] T* array_in(const self_walk::ZeroedPages& room) {
  return static_cast<T*>(room.get());
}

[[nodiscard]] bool is_range(const JitCode& code) {
  return code.range.end > code.range.begin && code.range.size() <= kMostPieceSize &&
         code.range.begin >= kLeastAddress && (code.range.end - 1) >> kMostAddressBits == 0 &&
         code.method <= UINT32_MAX;
}

}  // namespace

JitMap::JitMap(const Options& options)
    : options_(options),
      index_({options.most_regions, options.most_pieces / 2}),
      piece_room_((options.most_pieces + 1) * sizeof(SharedPiece), Presence::lazy),
      bytes_room_((options.most_pieces + 1) * sizeof(SharedBytes), Presence::lazy),
      next_room_((options.most_pieces + 1) * sizeof(std::uint32_t), Presence::lazy),
      layout_room_(std::size_t{kMostLayouts} * sizeof(Layout), Presence::lazy),
      bucket_room_(std::bit_ceil(options.most_pieces) * sizeof(std::uint32_t), Presence::lazy),
      pieces_(array_in<SharedPiece>(piece_room_)),
      prologue_bytes_(array_in<SharedBytes>(bytes_room_)),
      layouts_(array_in<Layout>(layout_room_)),
      next_of_method_(array_in<std::uint32_t>(next_room_)),
      buckets_(array_in<std::uint32_t>(bucket_room_)) {
  if (layouts_ != nullptr) layouts_[kNoRoomForLayout] = {unwind::kInterpretedRule, 0};
}

bool JitMap::is_usable() const {
  return options_.most_pieces < std::size_t{1} << CodeIndex::kNumberBits && index_.is_usable() && pieces_ != nullptr &&
         prologue_bytes_ != nullptr && layouts_ != nullptr && next_of_method_ != nullptr && buckets_ != nullptr;
}

/// A sequence lock with `retire`: the piece and the copy made by `take` are valid if the generation is the same before
/// the index look-up and after the copy.
template <class Take>
bool JitMap::look_up(Address address, Piece& found, const Take& take) const {
  for (int i = 0; i < kMostTries; i++) {
    const std::uint64_t before = generation_.load(std::memory_order_acquire);
    const bool is_found = index_.visit(address, [&](std::uint32_t number) {
      found = piece(number);
      if (address - found.begin >= found.size()) return false;
      take(number);
      return true;
    });
    std::atomic_thread_fence(std::memory_order_acquire);
    if (generation_.load(std::memory_order_relaxed) == before) return is_found;
  }
  return false;
}

bool JitMap::find(Address address, JitCode& out) const {
  Piece found;
  if (!look_up(address, found, [](std::uint32_t) {})) return false;
  fill(found, out);
  return true;
}

bool JitMap::find_with_prologue(Address address, JitCode& out) const {
  Piece found;
  SharedBytes::Words bytes{};
  if (!look_up(address, found, [&](std::uint32_t number) { bytes = prologue_bytes_[number].load(); })) return false;
  fill(found, out);
  out.prologue_bytes = std::bit_cast<decltype(out.prologue_bytes)>(bytes);
  return true;
}

void JitMap::fill(const Piece& piece, JitCode& out) const {
  out.range = piece.range();
  out.method = piece.method();
  out.image_base = piece.unwind_data() != 0 ? piece.begin - piece.rva() : 0;
  out.unwind_data = piece.unwind_data();
  out.prologue = piece.prologue();
  out.part = static_cast<JitPart>(piece.flags() & kPartMask);
  out.may_be_freed = (piece.flags() & kMayBeFreed) != 0;
  out.source = static_cast<FrameSource>(piece.flags() >> kSourceShift);
  out.kept = piece.kept();
  out.rule = layouts_[piece.layout()].rule;
  out.frame_size = layouts_[piece.layout()].frame_size;
}

JitMap::Piece JitMap::piece_of(const JitCode& code) {
  Piece piece{};
  piece.begin = code.range.begin;
  piece.size_method = code.range.size() | code.method << 32;
  // Code farther from its image base than 4 GiB cannot be described by unwind data, which consists of RVAs.
  if (const Address rva = code.range.begin - code.image_base; rva <= UINT32_MAX)
    piece.data_rva = code.unwind_data | rva << 32;
  const unsigned flags = static_cast<unsigned>(code.part) | (code.may_be_freed ? kMayBeFreed : 0u) |
                         static_cast<unsigned>(code.source) << kSourceShift;
  piece.rest =
      intern(code) | std::uint64_t{code.prologue} << 16 | std::uint64_t{flags} << 32 | std::uint64_t{code.kept} << 40;
  return piece;
}

/// Layouts never change once added, so a reader with a number may read its layout without a lock.
std::uint16_t JitMap::intern(const JitCode& code) {
  const std::uint64_t hash = unwind::hash_of(code.rule) + code.frame_size;
  const auto [first, last] = layout_by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Layout& known = layouts_[it->second];
    if (known.frame_size == code.frame_size && known.rule.same_rule(code.rule)) return it->second;
  }
  if (layouts_used_ == kMostLayouts) return kNoRoomForLayout;
  layouts_[layouts_used_] = {code.rule, code.frame_size};
  layout_by_hash_.emplace(hash, layouts_used_);
  account_.bytes += sizeof(Layout);
  return layouts_used_++;
}

/// Method numbers are consecutive, so their low bits are as good as a hash.
std::uint32_t& JitMap::bucket_of(std::uint32_t method) {
  return buckets_[method & (std::bit_ceil(options_.most_pieces) - 1)];
}

void JitMap::forget_in_bucket(std::uint32_t number) {
  std::uint32_t* from = &bucket_of(piece(number).method());
  while (*from != 0 && *from != number) from = &next_of_method_[*from];
  if (*from == number) *from = next_of_method_[number];
}

std::uint32_t JitMap::take_piece() {
  if (free_pieces_.empty()) {
    if (next_piece_ > options_.most_pieces) return 0;
    account_.bytes += sizeof(SharedPiece) + sizeof(SharedBytes) + sizeof(std::uint32_t);
    return next_piece_++;
  }
  const std::uint32_t number = free_pieces_.back();
  free_pieces_.pop_back();
  return number;
}

std::vector<std::uint32_t> JitMap::pieces_in(AddressRange range) const {
  std::vector<std::uint32_t> numbers = index_.numbers_around(range);
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::erase_if(numbers, [&](std::uint32_t number) {
    const Piece p = piece(number);
    return p.begin >= range.end || range.begin >= p.range().end;
  });
  return numbers;
}

/// Frees pieces in this order: remove them from the index, change the generation, then reuse their room. So a reader
/// that sees a reused piece also sees the new generation.
std::vector<AddressRange> JitMap::retire(const std::vector<std::uint32_t>& numbers) {
  std::vector<AddressRange> ranges;
  if (numbers.empty()) return ranges;
  for (const std::uint32_t number : numbers) {
    const Piece p = piece(number);
    index_.remove(p.range(), number);
    ranges.push_back(p.range());
    account_.by_source[p.flags() >> kSourceShift]--;
    account_.pieces--;
    account_.freed++;
  }
  generation_.store(generation_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_release);
  free_pieces_.insert(free_pieces_.end(), numbers.begin(), numbers.end());
  return ranges;
}

bool JitMap::add(const JitCode& code, std::vector<AddressRange>* replaced) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t number = is_range(code) && index_.make_room(code.range) ? take_piece() : 0;
  if (number == 0) {
    account_.refused++;
    return false;
  }
  const std::vector<std::uint32_t> before = pieces_in(code.range);
  pieces_[number].store(piece_of(code));
  prologue_bytes_[number].store(std::bit_cast<SharedBytes::Words>(code.prologue_bytes));
  index_.add(code.range, number);
  std::uint32_t& bucket = bucket_of(static_cast<std::uint32_t>(code.method));
  if (bucket == 0) account_.bytes += sizeof(bucket);
  next_of_method_[number] = bucket;
  bucket = number;
  account_.pieces++;
  account_.by_source[static_cast<std::size_t>(code.source)]++;
  for (const std::uint32_t old : before) forget_in_bucket(old);
  std::vector<AddressRange> ranges = retire(before);
  if (replaced != nullptr) *replaced = std::move(ranges);
  return true;
}

std::vector<AddressRange> JitMap::free_method(std::uint64_t method) {
  const std::lock_guard lock(mutex_);
  if (method > UINT32_MAX) return {};
  std::vector<std::uint32_t> numbers;
  std::uint32_t* from = &bucket_of(static_cast<std::uint32_t>(method));
  while (*from != 0) {
    const std::uint32_t number = *from;
    if (piece(number).method() != method) {
      from = &next_of_method_[number];
      continue;
    }
    *from = next_of_method_[number];
    numbers.push_back(number);
  }
  return retire(numbers);
}

JitMap::Account JitMap::account() const {
  const std::lock_guard lock(mutex_);
  Account account = account_;
  account.bytes += index_.bytes();
  return account;
}

}  // namespace mixstack::agent
