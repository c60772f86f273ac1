#include "output/report/memory_html.h"

#include <fmt/format.h>

#include "output/report/json_fields.h"
#include "output/report/page_template.h"

namespace mixstack::report {

std::string memory_page_data(const MemoryPage& page) {
  return collect([&](Writer& out) {
    JsonObject json(out);
    json_array(json.key("moments"), page.moments, "\n", [&](const MemoryReport& m) { write_memory_json(out, m); });
    if (page.growth != nullptr) {
      write_growth_json(json.key("growth"), *page.growth);
    } else {
      json.null("growth");
    }
    json.key("tree") << (page.tree.empty() ? std::string_view("null") : page.tree);
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
