// LINK: mixstack_engine_images dw elf
// Symbols: load and look-up against a plain sorted table and libdw's addrinfo, on libc (with its debug file) and
// libstdc++. Files are in memory before anything is timed, for every contestant.
//   symbols_bench [FILE...]
#include <elf.h>
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "engine/images/debug_file.h"
#include "engine/images/file_bytes.h"
#include "engine/images/range_index.h"

namespace {

using namespace mixstack;
using namespace mixstack::images;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 21;
constexpr std::size_t kAddresses = 100000;

double ns_since(Clock::time_point t) {
  return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - t).count());
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}
double fastest(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }

struct PlainSymbol {
  std::uint64_t address;
  std::uint32_t size, name;
};

/// The floor: collect, sort, nothing else.
void collect_plain(const ElfImage& image, std::vector<PlainSymbol>& out) {
  for (const auto& s : image.sections()) {
    if (s.type != SHT_SYMTAB && s.type != SHT_DYNSYM) continue;
    const auto bytes = image.load(s).bytes;
    for (std::size_t i = 0; i < bytes.size() / sizeof(Elf64_Sym); i++) {
      Elf64_Sym y;
      std::memcpy(&y, &bytes[i * sizeof y], sizeof y);
      const unsigned type = ELF64_ST_TYPE(y.st_info);
      if ((type == STT_FUNC || type == STT_GNU_IFUNC) && y.st_shndx != SHN_UNDEF)
        out.push_back({y.st_value, static_cast<std::uint32_t>(y.st_size), y.st_name});
    }
  }
}

std::vector<PlainSymbol> plain_table(const SymbolSources& sources) {
  std::vector<PlainSymbol> out;
  collect_plain(*sources.image, out);
  if (sources.debug) collect_plain(*sources.debug, out);
  std::sort(out.begin(), out.end(), [](const PlainSymbol& a, const PlainSymbol& b) { return a.address < b.address; });
  return out;
}

void report(const char* what, const std::vector<double>& ours, const std::vector<double>& peer, const char* unit,
            double limit) {
  std::printf("  %-38s ours %9.1f %s (min %.1f)", what, median(ours), unit, fastest(ours));
  if (!peer.empty())
    std::printf("   peer %9.1f (min %.1f)   ratio %.2f", median(peer), fastest(peer), median(ours) / median(peer));
  if (limit > 0) std::printf("   goal %.4g", limit);
  std::printf("\n");
}

struct Libdw {
  std::vector<double> load, resolve;
};

/// libdw searches linearly once symbols overlap: few addresses are enough.
Libdw measure_libdw(const std::string& path, const std::vector<std::uint64_t>& addresses) {
  Libdw out;
  static Dwfl_Callbacks callbacks{};
  callbacks.find_elf = dwfl_build_id_find_elf;
  callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
  callbacks.section_address = dwfl_offline_section_address;
  for (int round = 0; round < 5; round++) {
    auto t = Clock::now();
    Dwfl* dwfl = dwfl_begin(&callbacks);
    dwfl_report_begin(dwfl);
    Dwfl_Module* module = dwfl_report_elf(dwfl, path.c_str(), path.c_str(), -1, 0, false);
    dwfl_report_end(dwfl, nullptr, nullptr);
    GElf_Off offset;
    GElf_Sym symbol;
    dwfl_module_addrinfo(module, addresses[0], &offset, &symbol, nullptr, nullptr, nullptr);
    out.load.push_back(ns_since(t) / 1e3);
    t = Clock::now();
    constexpr std::size_t kFew = 1000;
    for (std::size_t i = 0; i < kFew; i++)
      dwfl_module_addrinfo(module, addresses[i], &offset, &symbol, nullptr, nullptr, nullptr);
    out.resolve.push_back(ns_since(t) / static_cast<double>(kFew));
    dwfl_end(dwfl);
  }
  return out;
}

void measure(const std::string& path) {
  const auto open = [](const std::string& p) { return open_file_bytes(p); };
  const auto file = open_file_bytes(path);
  const auto image = file ? ElfImage::from_file(*file) : fail(ErrorCode::not_found);
  if (!image) return;
  const auto sources = find_symbol_sources(*image, std::filesystem::canonical(path), open);
  const auto text = *(*image)->section(".text");
  std::vector<std::uint64_t> addresses;
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < kAddresses; i++) addresses.push_back(text.address + random() % text.size);

  std::vector<double> load, plain_load, resolve, plain_resolve, name;
  std::size_t hits = 0, plain_hits = 0, symbols = 0, letters = 0;
  (void)SymbolTable::build(sources);  // reads the files
  for (int round = 0; round < kRounds; round++) {
    auto t = Clock::now();
    const auto plain = plain_table(sources);
    plain_load.push_back(ns_since(t) / 1e3);
    t = Clock::now();
    const auto table = SymbolTable::build(sources);
    load.push_back(ns_since(t) / 1e3);
    symbols = table->size();

    plain_hits = hits = 0;
    t = Clock::now();
    for (const auto a : addresses) {
      auto it = std::upper_bound(plain.begin(), plain.end(), a,
                                 [](std::uint64_t x, const PlainSymbol& s) { return x < s.address; });
      if (it != plain.begin() && a - (it - 1)->address < (it - 1)->size) plain_hits++;
    }
    plain_resolve.push_back(ns_since(t) / kAddresses);
    t = Clock::now();
    for (const auto a : addresses) hits += table->find_index(a) != SymbolTable::kNone;
    resolve.push_back(ns_since(t) / kAddresses);
    t = Clock::now();
    for (const auto a : addresses)
      if (const auto s = table->find(a)) letters += s->name.size();
    name.push_back(ns_since(t) / kAddresses);
  }
  const auto libdw = measure_libdw(path, addresses);
  std::printf("%s%s: %zu symbols, %zu of %zu addresses named (plain table %zu) [%zu]\n", path.c_str(),
              sources.debug ? " (+ debug file)" : "", symbols, hits, kAddresses, plain_hits, letters % 10);
  report("load, us, against plain sorted table", load, plain_load, "us", 1.2);
  report("load, us, against libdw", load, libdw.load, "us", 0);
  report("resolve a random address, ns", resolve, plain_resolve, "ns", 90);
  report("resolve, against libdw addrinfo", resolve, libdw.resolve, "ns", 0);
  report("the same with its name, ns", name, {}, "ns", 0);

  std::vector<double> cold;
  for (int round = 0; round < 9; round++) {
    const auto t = Clock::now();
    const auto f = open_file_bytes(path);
    const auto fresh = find_symbol_sources(*ElfImage::from_file(*f), std::filesystem::canonical(path), open);
    (void)SymbolTable::build(fresh);
    cold.push_back(ns_since(t) / 1e3);
  }
  report("open, find debug file, read, load, us", cold, {}, "us", 0);
}

void measure_range_index() {
  RangeIndex index;
  for (std::uint64_t i = 0; i < 300; i++)
    index.append({0x7f0000000000 + i * 0x100000, 0x7f0000000000 + i * 0x100000 + 0x80000},
                 static_cast<std::uint32_t>(i));
  std::vector<Address> addresses;
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < kAddresses; i++)
    addresses.push_back(0x7f0000000000 + random() % 300 * 0x100000 + random() % 0x82000);
  std::vector<double> times;
  std::uint64_t sum = 0;
  for (int round = 0; round < kRounds; round++) {
    const auto t = Clock::now();
    for (const auto a : addresses) sum += index.find(a);
    times.push_back(ns_since(t) / kAddresses);
  }
  std::printf("address to module, 300 mappings [%d]\n", static_cast<int>(sum % 10));
  report("random address, ns", times, {}, "ns", 20);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> paths(argv + 1, argv + argc);
  if (paths.empty()) paths = {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libstdc++.so.6"};
  for (const auto& p : paths) measure(p);
  measure_range_index();
}
