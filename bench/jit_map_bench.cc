// LINK: mixstack_agent_in_process
// The agent's map of jitted code: a look-up from anywhere, and what a method takes. Peers in the same run: a sorted
// array with a binary search (what a map without writers could be), and std::map behind a mutex (what one may not have
// in a signal handler).
//   jit_map_bench [METHODS]
#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <vector>

#include "agent/in_process/jit_map.h"
#include "measure.h"

namespace {

using mixstack::Address;
using mixstack::agent::JitCode;
using mixstack::agent::JitMap;

/// Sizes and gaps as the JIT makes them: most methods of some hundred bytes, few large ones.
std::vector<JitCode> methods(std::size_t count) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> size(5.2, 0.9);
  std::vector<JitCode> all(count);
  Address at = 0x7f0000000000;
  for (std::size_t i = 0; i < count; i++) {
    const auto bytes = static_cast<Address>(std::clamp(size(random), 16.0, 20'000.0));
    all[i].range = {at, at + bytes};
    all[i].method = i + 1;
    all[i].unwind_data = static_cast<std::uint32_t>(random());
    all[i].image_base = at - random() % (1u << 21);
    all[i].prologue = static_cast<std::uint16_t>(random() % 40);
    all[i].rule.kind = mixstack::unwind::CompactKind::register_offset;
    all[i].rule.cfa_offset = static_cast<std::int32_t>(random() % 300 * 8);  // layouts, as many as large programs have
    at = (at + bytes + 32 + 31) & ~Address{31};
  }
  return all;
}

template <class Find>
bench::Summary look_up(const std::vector<Address>& places, const Find& find, bool after_another = false) {
  std::vector<double> ns;
  std::uint64_t sum = 0;
  for (int round = 0; round < 30; round++) {
    const auto start = bench::now_ns();
    std::uint64_t method = 0;
    for (const Address place : places) {
      // 0, as methods have 32 bits: the next look-up begins when this one has its answer, as a walk's does.
      method = find(after_another ? place + (method >> 40) : place);
      sum += method;
    }
    ns.push_back(static_cast<double>(bench::now_ns() - start) / static_cast<double>(places.size()));
  }
  if (sum == 0) std::printf("nothing was found\n");
  return bench::summarize(ns);
}

std::string ratio(const bench::Summary& peer, const bench::Summary& ours) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.2fx of ours", peer.min / ours.min);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? static_cast<std::size_t>(std::atol(argv[1])) : 100'000;
  const std::vector<JitCode> all = methods(count);
  JitMap map;
  if (!map.is_usable()) return 1;
  const auto start = bench::now_ns();
  for (const JitCode& code : all)
    if (!map.add(code)) return std::printf("refused\n"), 1;
  const double add = static_cast<double>(bench::now_ns() - start) / static_cast<double>(count);

  std::map<Address, JitCode> tree;
  for (const JitCode& code : all) tree.emplace(code.range.begin, code);
  std::mutex mutex;
  std::mt19937_64 random(3);
  std::vector<Address> places(1u << 16), few(1u << 16);
  for (std::size_t i = 0; i < places.size(); i++) {
    const auto& wide = all[random() % count].range;
    places[i] = wide.begin + random() % wide.size();
    const auto& hot = all[(random() % 64) * (count / 64)].range;
    few[i] = hot.begin + random() % hot.size();
  }
  const auto ours = [&](Address place) {
    JitCode code;
    return map.find(place, code) ? code.method : 0;
  };
  const auto sorted = [&](Address place) {
    const auto at =
        std::upper_bound(all.begin(), all.end(), place, [](Address p, const JitCode& c) { return p < c.range.begin; });
    return at == all.begin() || !(at - 1)->range.contains(place) ? 0 : (at - 1)->method;
  };
  const auto locked = [&](Address place) {
    const std::lock_guard lock(mutex);
    const auto at = tree.upper_bound(place);
    return at == tree.begin() || !std::prev(at)->second.range.contains(place) ? 0 : std::prev(at)->second.method;
  };
  char title[96];
  std::snprintf(title, sizeof(title), "look-up among %zu methods, ns", count);
  bench::print_head(title);
  for (const auto& [name, where] : {std::pair("any method", &places), std::pair("64 methods", &few)}) {
    const auto mine = look_up(*where, ours), array = look_up(*where, sorted), tree_of = look_up(*where, locked);
    bench::print_row(std::string(name) + ": JitMap", mine, "ns");
    bench::print_row(std::string(name) + ": JitMap, one after another", look_up(*where, ours, true), "ns");
    bench::print_row(std::string(name) + ": sorted array", array, "ns", ratio(array, mine));
    bench::print_row(std::string(name) + ": std::map and a mutex", tree_of, "ns", ratio(tree_of, mine));
  }
  const auto account = map.account();
  std::printf("\n%.1f bytes a method (%zu KiB in all); %.0f ns to add one\n",
              static_cast<double>(account.bytes) / static_cast<double>(count), account.bytes >> 10, add);
  return 0;
}
