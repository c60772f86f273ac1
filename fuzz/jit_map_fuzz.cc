// LINK: mixstack_agent_in_process
// The agent's map of code against a list of pieces: four bytes are one of add, free, find, find all around.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "agent/in_process/jit_map.h"

namespace {

using namespace mixstack;
using namespace mixstack::agent;

constexpr Address kHeap = 0x7f1234500000;

[[noreturn]] void differ() { std::abort(); }

/// What the map should hold: a newer piece takes the place of all that lie where it lies.
class Model {
 public:
  void add(const JitCode& code) {
    std::erase_if(pieces_,
                  [&](const JitCode& p) { return p.range.begin < code.range.end && code.range.begin < p.range.end; });
    pieces_.push_back(code);
  }
  std::size_t free_method(std::uint64_t method) {
    return std::erase_if(pieces_, [&](const JitCode& p) { return p.method == method; });
  }
  [[nodiscard]] const JitCode* find(Address address) const {
    for (auto it = pieces_.rbegin(); it != pieces_.rend(); ++it)
      if (it->range.contains(address)) return &*it;
    return nullptr;
  }
  [[nodiscard]] std::size_t size() const { return pieces_.size(); }

 private:
  std::vector<JitCode> pieces_;
};

void check(const JitMap& map, const Model& model, Address address) {
  JitCode code;
  const bool found = map.find(address, code);
  const JitCode* expected = model.find(address);
  if (found != (expected != nullptr)) differ();
  if (found && (code.range != expected->range || code.method != expected->method || code.part != expected->part ||
                code.source != expected->source || code.frame_size != expected->frame_size ||
                !code.rule.same_rule(expected->rule)))
    differ();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  JitMap map({.most_pieces = 48, .most_regions = 8});
  if (!map.is_usable()) return 0;
  Model model;
  std::size_t refused = 0;
  for (; size >= 4; data += 4, size -= 4) {
    // Pieces of 16 bytes to 16 KiB, in four regions of 2 MiB.
    const Address at = kHeap + (data[1] & 3u) * 0x1ffe00 + (data[1] >> 2) * 0x90u + data[2] * 0x40u;
    switch (data[0] & 3) {
      case 0: {
        JitCode code;
        code.range = {at, at + (std::uint64_t{data[3]} + 1) * ((data[0] & 4) != 0 ? 64 : 16)};
        if ((data[0] & 0xf8) == 0xf8) code.range.end = at - data[3];
        code.method = data[0] >> 3;
        code.part = static_cast<JitPart>(data[3] % 3);
        code.source = static_cast<FrameSource>(data[3] % 5);
        code.frame_size = data[2];
        code.rule.kind = unwind::CompactKind::register_offset;
        code.rule.cfa_offset = data[3];
        if (map.add(code)) {
          model.add(code);
        } else {
          refused++;
        }
        break;
      }
      case 1:
        if (map.free_method(data[0] >> 3).size() != model.free_method(data[0] >> 3)) differ();
        break;
      case 2:
        check(map, model, at + data[3]);
        break;
      case 3:
        for (Address a = at; a < at + 0x400; a += data[3] + 1u) check(map, model, a);
        break;
    }
    const JitMap::Account account = map.account();
    std::size_t sum = 0;
    for (const std::size_t n : account.by_source) sum += n;
    if (account.pieces != model.size() || sum != model.size() || account.refused != refused) differ();
  }
  for (Address a = kHeap; a < kHeap + 0x8000; a += 0x31) check(map, model, a);
  return 0;
}
