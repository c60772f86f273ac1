#include "output/report/flame_html.h"

#include "output/report/page_data.h"
#include "output/report/page_template.h"

namespace mixstack::report {
namespace {

void write_block(Writer& out, std::string_view id, const Recording& recording, std::string_view name,
                 const PageLook& look) {
  write_page_block(out, id, page_data(recording, name, look));
}

}  // namespace

void write_flame_html(Writer& out, const Recording& recording, const Recording* before, const FlameOptions& options) {
  const std::string title = flame_title(recording, options);
  write_page(out, page_template(), {title, false, [&](Writer& data) {
                                      if (before != nullptr)
                                        write_block(data, "data-before", *before, options.before_name,
                                                    options.before_look);
                                      write_block(data, "data-recording", recording,
                                                  before != nullptr ? options.after_name : options.title, options.look);
                                    }});
}

void write_live_page(Writer& out, std::string_view title) {
  write_page(out, page_template(), {title, true, [](Writer&) {}});
}

std::string live_page_policy() { return page_policy(page_template(), true) + "; frame-ancestors 'none'"; }

}  // namespace mixstack::report
