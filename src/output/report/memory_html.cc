#include "output/report/memory_html.h"

#include <fmt/format.h>

#include "output/report/json_fields.h"
#include "output/report/page_template.h"

namespace mixstack::report {
namespace {

constexpr unsigned kDeepest = 64;

void write_node(Writer& out, const Holder& holder, unsigned depth) {
  JsonObject json(out);
  json.text_or_null("name", holder_words(holder));
  json.number("bytes", holder.retained);
  json.number("count", holder.count);
  const std::span<const Holder> held = depth < kDeepest ? std::span(holder.held) : std::span<const Holder>();
  json_array(json.key("children"), held, "\n", [&](const Holder& h) { write_node(out, h, depth + 1); });
  json.close();
}

/// All heaps together: most processes have one.
void write_tree(Writer& out, std::span<const HeapHolders> heaps) {
  std::uint64_t bytes = 0, objects = 0;
  std::vector<Holder> roots;
  for (const HeapHolders& heap : heaps) {
    bytes += heap.held_bytes + heap.stack_bytes;
    objects += heap.held_objects + heap.stack_objects;
    roots.insert(roots.end(), heap.tree.begin(), heap.tree.end());
  }
  JsonObject json(out);
  json.text_or_null("name", "objects that are held");
  json.number("bytes", bytes);
  json.number("count", objects);
  json_array(json.key("children"), roots, "\n", [&](const Holder& h) { write_node(out, h, 0); });
  json.close();
}

}  // namespace

std::string memory_page_data(const MemoryPage& page) {
  return collect([&](Writer& out) {
    JsonObject json(out);
    json_array(json.key("moments"), page.moments, "\n", [&](const MemoryReport& m) { write_memory_json(out, m); });
    if (page.growth != nullptr) {
      write_growth_json(json.key("growth"), *page.growth);
    } else {
      json.null("growth");
    }
    const std::span<const HeapHolders> holders = page.moments.back().holders;
    if (holders.empty()) {
      json.null("tree");
    } else {
      write_tree(json.key("tree"), holders);
    }
    json.close();
  });
}

void write_memory_html(Writer& out, const MemoryPage& page) {
  const MemoryReport& now = page.moments.back();
  const std::string title = fmt::format("memory {} {}", now.pid, escape_for_terminal(now.name));
  write_page(out, memory_template(),
             {title, false, [&](Writer& data) { write_page_block(data, "data-memory", memory_page_data(page)); }});
}

}  // namespace mixstack::report
