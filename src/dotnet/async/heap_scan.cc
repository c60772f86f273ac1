#include "dotnet/async/heap_scan.h"

#include <algorithm>
#include <cstring>

#include "dotnet/bcl/async_plumbing.h"
#include "dotnet/bcl/tasks.h"
#include "dotnet/bcl/types.h"
#include "dotnet/heap/word_search.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr std::uint32_t kEndedBits = 0x01600000;  // as in StateMachines
constexpr std::int32_t kRunning = -1, kMostAwaits = 1 << 16;
constexpr Address kMark = 1;  // of a MethodTable word, while a collection marks (src/coreclr/gc/gc.cpp, GC_MARKED)
constexpr std::uint64_t kPage = PageStore::kPage;

}  // namespace

/// False: the type is none of F#'s async.
bool HeapScanner::add_of_fsharp(const TypeFacts& type) {
  if (type.assembly != bcl::kFSharpCore) return false;
  has_fsharp_async_ |= type.name == bcl::kFSharpActivation;
  if (type.name != bcl::FSharpResult::kType) return false;
  if (!result_) {
    std::uint32_t at[3] = {};
    const std::string_view names[] = {bcl::FSharpResult::kResult, bcl::FSharpResult::kIsClosed,
                                      bcl::FSharpResult::kRoot};
    for (std::size_t i = 0; i < std::size(names); i++) {
      const auto field = objects_.types().field(type.method_table, names[i]);
      if (!field || field->is_static) return true;
      at[i] = objects_.memory().pointer_size() + field->offset;
    }
    result_ = {at[0], at[1], at[2]};
  }
  BoxType result;
  result.size = type.base_size;
  result.is_result = true;
  known_.emplace(type.method_table, std::move(result));
  types_.push_back(type.method_table);
  return true;
}

void HeapScanner::add_type(Address type) {
  if (types_.size() == kMostTypes || known_.contains(type)) return;
  const TypeFacts* facts = objects_.types().at(type);
  if (facts != nullptr && add_of_fsharp(*facts)) return;
  if (facts != nullptr && machines_.runtime_async().is_type(type)) {
    const auto flags = objects_.types().field(type, bcl::Task::kFlags);
    if (!flags || flags->is_static) return;
    known_.emplace(
        type,
        BoxType{{}, {}, facts->base_size, objects_.memory().pointer_size() + flags->offset, /*is_runtime_async=*/true});
    types_.push_back(type);
    return;
  }
  const auto& layout = machines_.box_layout(type);
  if (!layout || layout->is_iterator || facts == nullptr) return;
  BoxType box{*layout, machines_.machine_layout(layout->machine_type), facts->base_size, {}, false};
  if (!box.machine.state) return;
  if (!layout->is_pooled) {
    const auto flags = objects_.types().field(type, bcl::Task::kFlags);
    if (!flags || flags->is_static) return;
    box.flags = objects_.memory().pointer_size() + flags->offset;
  }
  known_.emplace(type, std::move(box));
  types_.push_back(type);
}

void HeapScanner::find_types() {
  for (const Address module : objects_.types().modules())
    for (const Address type : objects_.types().generic_instances(module)) add_type(type);
  // No generic one, and so in no module's table.
  if (const Address type = objects_.types().find(bcl::kCoreLib, bcl::kThunkTask); type != 0) add_type(type);
}

template <class T>
std::optional<T> HeapScanner::read(const Piece& piece, Address at) const {
  if (at >= piece.base && at - piece.base + sizeof(T) <= piece.bytes.size()) {
    T value;
    std::memcpy(&value, piece.bytes.data() + (at - piece.base), sizeof(T));
    return value;
  }
  return objects_.read<T>(at);
}

std::optional<FoundBox> HeapScanner::prove(const Piece& piece, Address at, Address region_end) {
  const auto type = known_.find(read<Address>(piece, at).value_or(0) & ~kMark);
  if (type == known_.end()) return std::nullopt;
  const BoxType& box = type->second;
  if (at + box.size - 8 > region_end) return std::nullopt;  // its size counts the word before it
  if (read<std::uint32_t>(piece, at - 8) != 0u) return std::nullopt;
  if (box.is_result) {
    if (is_open_result(piece, at)) results_++;
    return std::nullopt;
  }
  if (box.flags) {
    const auto flags = read<std::uint32_t>(piece, at + *box.flags);
    if (!flags || (*flags & kEndedBits) != 0) return std::nullopt;
  }
  if (box.is_runtime_async) return prove_runtime_async(at);
  FoundBox found{at, {at + box.layout.machine, box.layout.machine_type}, kRunning, !box.layout.is_pooled, false, 0};
  if (!box.layout.is_struct) {
    const Address object = read<Address>(piece, found.machine.address).value_or(0);
    if (object % 8 != 0 || read<Address>(piece, object) != box.layout.machine_type) return std::nullopt;
    found.machine.address = object + 8;
    found.machine_object = object;
  }
  const auto state = read<std::int32_t>(piece, found.machine.address + *box.machine.state);
  if (!state || *state < kRunning || *state > kMostAwaits) return std::nullopt;
  // Its builder refers to the box: not in copies that were left behind, nor in boxes that wait to be used again.
  const auto& words = box.machine.builder_words;
  if (std::none_of(words.begin(), words.end(),
                   [&](std::uint32_t word) { return read<Address>(piece, found.machine.address + word) == at; }))
    return std::nullopt;
  found.state = *state;
  return found;
}

/// A cell without a result, that nobody has closed. Each has an object of its own to lock.
bool HeapScanner::is_open_result(const Piece& piece, Address at) const {
  if (!result_ || read<Address>(piece, at + result_->result) != Address{0}) return false;
  if (read<std::uint8_t>(piece, at + result_->is_closed) != std::uint8_t{0}) return false;
  const Address root = read<Address>(piece, at + result_->root).value_or(0);
  return root != 0 && root % 8 == 0 && objects_.type_of(root) != 0;
}

std::optional<FoundBox> HeapScanner::prove_runtime_async(Address at) {
  RuntimeAsync& tasks = machines_.runtime_async();
  if (!tasks.is_task(at)) return std::nullopt;
  return FoundBox{at, {}, tasks.innermost(at) == 0 ? kRunning : 0, true, true, 0};
}

HeapScan HeapScanner::scan(std::span<const AddressRange> regions, const MemoryReader& memory, PageStore& store) {
  HeapScan told;
  boxes_.clear();
  saw_marks_ = false;
  results_ = 0;
  std::vector<Address> wanted = types_;
  for (const Address type : types_) wanted.push_back(type | kMark);
  const WordSearch search(wanted);
  std::vector<std::uint64_t> words(kPiece / 8);
  unsigned missing = 0;
  for (const AddressRange& region : regions) {
    Address at = region.begin & ~Address{kPage - 1};
    while (at < region.end) {
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, region.end - at));
      const auto bytes = std::as_writable_bytes(std::span(words)).first(wanted);
      const auto n = memory.read_some(at, bytes);
      if (!n || *n < 8) {
        const std::uint64_t step = missing++ < kMostMissing ? kPage : kPiece;
        const Address next = std::min(region.end, (at & ~Address{kPage - 1}) + step);
        told.missing += next - std::max(at, region.begin);
        at = next;
        continue;
      }
      const Piece piece{at, bytes.first(*n)};
      const Address begin = std::max(at, region.begin);
      told.bytes += at + *n - begin;
      const std::size_t first = (begin - at) / 8;
      search.in(std::span(words).subspan(first, *n / 8 - first), [&](std::size_t i) {
        const auto box = prove(piece, begin + 8 * i, region.end);
        if (!box) return;
        if ((words[first + i] & kMark) != 0) saw_marks_ = true;
        if (boxes_.size() == kMostBoxes) {
          told.has_more = true;
          return;
        }
        if (box->is_runtime_async && box->state >= 0) {
          told.suspended += machines_.runtime_async().methods_of(box->address).methods.size();
        } else {
          (box->state >= 0 ? told.suspended : told.running)++;
        }
        boxes_.push_back(*box);
        store.keep(box->address, 1, piece.base, piece.bytes);
      });
      at += *n & ~std::size_t{7};
    }
  }
  told.has_fsharp_async = has_fsharp_async_;
  told.fsharp_results = results_;
  return told;
}

}  // namespace mixstack::dotnet::objects
