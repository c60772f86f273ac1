#include "web/memory_answers.h"

#include "support/sample_moment.h"

namespace mixstack::web_test {
namespace {

MemoryMoment moment_with(std::uint64_t managed, std::uint64_t native, std::uint64_t orders) {
  MemoryMoment m = testing::sample_moment();
  m.account->lines = {{MemoryKind::gc_objects, "2", managed, managed},
                      {MemoryKind::malloc_used, "", native, native},
                      {MemoryKind::file_program, "", 15'000'000, 20'000'000},
                      {MemoryKind::unknown, "", 20'000, 20'000}};
  m.account->resident = m.account->resident_by_kernel = managed + native + 15'020'000;
  m.heaps[0].types = {testing::sample_type(1, "Shop.Order", orders, orders * 32),
                      testing::sample_type(2, "string", 1000, 60'000), testing::sample_type(3, "free", 10, 500'000)};
  testing::sum_up(m.heaps[0]);
  return m;
}

MemoryGrowth grown(const MemoryMoment& before, const MemoryMoment& after) {
  MemoryGrowth g;
  g.before = {before.pid, before.name, before.core_path, before.mark};
  g.after = {after.pid, after.name, after.core_path, after.mark};
  g.is_same_process = g.has_account = g.has_types = g.is_exact = true;
  g.between = std::chrono::seconds(60);
  g.collections = {12, 3, 2};
  g.kept_seen = 2;
  g.resident_before = before.account->resident;
  g.resident_after = after.account->resident;
  for (std::size_t i = 0; i < before.account->lines.size(); i++) {
    const MemoryLine &a = before.account->lines[i], &b = after.account->lines[i];
    g.labels.push_back({a.kind, a.detail, a.resident, b.resident});
  }
  for (std::size_t i = 0; i < before.heaps[0].types.size(); i++) {
    const TypeCount &a = before.heaps[0].types[i], &b = after.heaps[0].types[i];
    TypeGrowth t;
    t.type = b.type;
    t.method_table = b.method_table;
    t.is_free = b.is_free;
    t.objects_before = a.all();
    t.objects_after = b.all();
    t.bytes_before = a.all_bytes();
    t.bytes_after = b.all_bytes();
    t.kept = TypeGrowth::Kept{a.all(), b.all(), a.all_bytes(), b.all_bytes()};
    g.types.push_back(std::move(t));
  }
  g.forecast = LimitForecast{512'000'000, 448'000'000, 1e6, std::chrono::seconds(64), true};
  g.next = {{"mixstack why 4711", "how often it collects"}};
  return g;
}

}  // namespace

std::optional<MemoryPages> memory_pages(const std::string& kind) {
  MemoryPages pages{moment_with(30'000'000, 5'000'000, 100'000), moment_with(50'000'000, 4'000'000, 500'000), {}, {}};
  if (kind == "two") {
    pages.growth = grown(pages.before, pages.after);
  } else if (kind == "hostile") {
    pages.after.name = "<b>orders</b>";
    pages.after.heaps[0].types[0].type = "<img src=x onerror=alert(1)>.Order</script>";
    pages.after.heaps[0].elements->most[0].text = "</script><script>alert(2)</script>";
  } else if (kind == "many") {
    constexpr std::uint64_t kTypes = 20'000;
    auto& types = pages.after.heaps[0].types;
    for (std::uint64_t i = 0; i < kTypes; i++)
      types.push_back(
          testing::sample_type(100 + i, "Shop.Generated.Type" + std::to_string(i), 1 + i % 100, 24 * (i + 1)));
    testing::sum_up(pages.after.heaps[0]);
  } else if (kind == "tree") {
    HeapHolders& heap = pages.holders.emplace_back();
    heap.held_bytes = 70;
    heap.stack_bytes = 30;
    heap.held_objects = 10;
    Holder& cache = heap.tree.emplace_back();
    cache.root = RootKind::static_field;
    cache.shape = HolderShape::root;
    cache.name = "Shop.Cache.s_all";
    cache.retained = 60;
    Holder& orders = cache.held.emplace_back();
    orders.name = "Order[]";
    orders.count = 1;
    orders.retained = 40;
    Holder& handles = heap.tree.emplace_back();
    handles.root = RootKind::strong_handle;
    handles.shape = HolderShape::root;
    handles.retained = 30;
  } else if (kind == "core") {
    pages.after.account.reset();
    pages.after.core_path = "/tmp/core.4711";
  } else if (kind != "one") {
    return std::nullopt;
  }
  return pages;
}

}  // namespace mixstack::web_test
