// A moment with something of everything.
#pragma once

#include "mixstack/memory_moment.h"

namespace mixstack::testing {

inline TypeCount sample_type(Address method_table, std::string name, std::uint64_t count, std::uint64_t bytes) {
  TypeCount t;
  t.method_table = method_table;
  t.is_free = name == "free";
  t.type = t.is_free || name == "nameless" ? "" : std::move(name);
  t.count = {count / 4, 0, count - count / 4};
  t.bytes = {bytes / 4, 0, bytes - bytes / 4};
  return t;
}

/// Sums of a heap from its types.
inline void sum_up(HeapTypes& h) {
  h.objects = h.bytes = h.free_bytes = 0;
  h.bytes_of = {};
  for (const TypeCount& t : h.types) {
    if (t.is_free) {
      h.free_bytes += t.all_bytes();
      continue;
    }
    h.objects += t.all();
    h.bytes += t.all_bytes();
    for (std::size_t g = 0; g < kHeapGenerations; g++) h.bytes_of.at(g) += t.bytes.at(g);
  }
}

inline MemoryMoment sample_moment() {
  MemoryMoment m;
  m.pid = 4711;
  m.name = "orders";
  m.mark.taken_unix_ns = 1'764'342'000'000'000'000;
  m.mark.started = 12345;
  m.mark.host = "machine";
  m.mark.version = "0.1.0";
  m.mark.runtimes = {{"10.0.12", {20, 6, 2}}};
  MemoryAccount a;
  a.lines = {{MemoryKind::gc_objects, "2", 30'000'000, 40'000'000},
             {MemoryKind::file_program, "", 5'000'000, 9'000'000},
             {MemoryKind::malloc_used, "", 2'000'000, 2'000'000},
             {MemoryKind::unknown, "", 500'000, 600'000}};
  a.resident = a.resident_by_kernel = 37'500'000;
  a.swapped = 1'000'000;
  a.limit = 512'000'000;
  a.used_of_limit = 64'000'000;
  a.allocator = "glibc";
  a.arenas = {{0x7f0000000000, true, true, 1, 1'900'000, 100'000, 1000, 50}};
  a.unknown = {{{0x1000, 0x2000}, "rw-p", "", 500'000}};
  ManagedMemory managed;
  managed.version = "10.0.12";
  managed.is_known = true;
  managed.heaps = 1;
  managed.objects = {1'000'000, 0, 29'000'000};
  managed.regions = {1, 0, 8};
  a.managed = {managed};
  a.diagnoses = {{{ErrorCode::not_found, 0, 0}, "malloc", "one arena"}};
  m.account = std::move(a);
  HeapTypes h;
  h.heaps = 1;
  h.is_exact = true;
  h.pause = std::chrono::microseconds(3600);
  h.stops = 1;
  h.copied_in_stop = 1'000'000;
  h.types = {sample_type(0x7f1000, "Shop.Order", 1000, 32'000), sample_type(0x7f0800, "free", 4, 9'600),
             sample_type(0x7f2000, "nameless", 10, 240)};
  sum_up(h);
  HeapElements e;
  e.strings = {100, 4000};
  e.duplicates = {40, 1200};
  e.most = {{41, 4, 1312, "EUR "}};
  e.zeros_of_them = 600;
  h.elements = std::move(e);
  m.heaps = {std::move(h)};
  return m;
}

}  // namespace mixstack::testing
