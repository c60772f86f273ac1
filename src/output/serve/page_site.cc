#include "output/serve/page_site.h"

#include <fmt/format.h>

#include "base/words/recording_selection.h"
#include "output/report/flame_html.h"
#include "output/report/page_data.h"

namespace mixstack::serve {
namespace {

constexpr int kQuickCompression = 1;

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); i++)
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  return difference == 0;
}

PageSite::PageSite(std::string_view title, std::string token, const report::PageLook& look)
    : token_(std::move(token)),
      look_(look),
      page_(std::make_shared<const std::string>(
          report::collect([&](report::Writer& out) { report::write_live_page(out, title); }))) {}

void PageSite::publish(std::shared_ptr<const Recording> recording, bool ended) {
  const std::lock_guard lock(mutex_);
  published_.recording = std::move(recording);
  published_.version++;
  published_.ended = ended;
}

bool PageSite::is_ours(std::string_view host) const {
  return host == fmt::format("127.0.0.1:{}", port_) || host == fmt::format("localhost:{}", port_);
}

HttpAnswer PageSite::answer(const HttpRequest& request) {
  // DNS rebinding: a foreign name that resolves to 127.0.0.1 shows in the Host field.
  if (!is_ours(request.host)) return plain_answer(403);
  if (request.method != "GET") return plain_answer(405);
  const std::string base = path();
  if (!equal_in_constant_time(std::string_view(request.path).substr(0, base.size()), base)) return plain_answer(404);
  const std::string_view name = std::string_view(request.path).substr(base.size());
  if (name == "data") return data(request);
  if (!name.empty()) return plain_answer(404);
  HttpAnswer page;
  page.type = "text/html; charset=utf-8";
  page.fields = "Content-Security-Policy: " + report::live_page_policy() + "\r\n";
  page.body = page_;
  return page;
}

HttpAnswer PageSite::data(const HttpRequest& request) {
  Published now;
  {
    const std::lock_guard lock(mutex_);
    now = published_;
  }
  HttpAnswer answer;
  answer.fields = fmt::format("X-Version: {}\r\nX-Ended: {}\r\n", now.version, now.ended ? 1 : 0);
  if (!now.recording || number_in(request.query, "after") == now.version) {
    answer.status = 204;
    return answer;
  }
  if (made_version_ != now.version) {
    const std::string data = now.recording->processes().size() > 1
                                 ? report::page_data(selection_of(*now.recording, {.idle = true}), "", look_)
                                 : report::page_data(*now.recording, "", look_);
    made_ = std::make_shared<const std::string>(report::deflated(data, kQuickCompression));
    made_version_ = now.version;
  }
  answer.type = "application/octet-stream";
  answer.body = made_;
  return answer;
}

}  // namespace mixstack::serve
