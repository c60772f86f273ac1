#include "output/push/piece_sender.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/system/regular_file.h"
#include "helpers/fetch_protocol/fetch_process.h"
#include "output/report/escape.h"

namespace mixstack::push {
namespace {

constexpr std::chrono::milliseconds kUsualInterval = std::chrono::seconds(10);
constexpr std::chrono::milliseconds kLastTries = std::chrono::seconds(5);
constexpr std::size_t kMostLabels = 32, kMostHeaderFile = 64 << 10;
constexpr char kTokenVariable[] = "MIXSTACK_PUSH_TOKEN";

tl::expected<std::string, std::string> read_small_file(const std::string& path) {
  const auto file = base::open_regular(path);
  if (!file) return tl::unexpected(std::generic_category().message(file.error().os_error));
  std::string text(kMostHeaderFile + 1, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t n = ::read(file->get(), text.data() + have, text.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tl::unexpected(std::generic_category().message(errno));
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  if (have > kMostHeaderFile) return tl::unexpected(std::string("it is larger than 64 KiB"));
  text.resize(have);
  return text;
}

bool is_authorization(const std::string& header) { return ::strncasecmp(header.c_str(), "authorization:", 14) == 0; }

tl::expected<std::vector<std::string>, std::string> read_headers(const std::string& path) {
  std::vector<std::string> headers;
  if (!path.empty()) {
    const auto text = read_small_file(path);
    auto read = text ? parse_push_headers(*text) : tl::unexpected(text.error());
    if (!read)
      return tl::unexpected(fmt::format("--push-header-file {}: {}", report::escape_for_terminal(path), read.error()));
    headers = std::move(*read);
  }
  const char* token = ::secure_getenv(kTokenVariable);
  if (token == nullptr) return headers;
  const std::string header = fmt::format("Authorization: Bearer {}", token);
  (void)::unsetenv(kTokenVariable);
  const auto made = parse_push_headers(header);
  if (!made || made->size() != 1 || made->front() != header || header.ends_with("Bearer "))
    return tl::unexpected(fmt::format("{} is empty or has a line end", kTokenVariable));
  if (std::any_of(headers.begin(), headers.end(), is_authorization))
    return tl::unexpected(
        fmt::format("an Authorization in {} and {}: one of them", report::escape_for_terminal(path), kTokenVariable));
  headers.push_back(header);
  return headers;
}

tl::expected<PushNames, std::string> read_names(const PieceSenderOptions& options) {
  PushNames names{.name = options.name, .version = options.version};
  if (!names.name.empty() && !is_push_name(names.name))
    return tl::unexpected(fmt::format("--push-name: '{}' has other characters than letters, digits and _ . - /",
                                      report::escape_for_terminal(names.name.substr(0, 256))));
  if (options.labels.size() > kMostLabels)
    return tl::unexpected(fmt::format("--push-label: more than {}", kMostLabels));
  for (const std::string& text : options.labels) {
    auto label = parse_push_label(text);
    if (!label) return tl::unexpected("--push-label: " + label.error());
    if (std::any_of(names.labels.begin(), names.labels.end(),
                    [&label](const PushLabel& other) { return other.name == label->name; }))
      return tl::unexpected(fmt::format("--push-label: {} is there twice", label->name));
    names.labels.push_back(std::move(*label));
  }
  return names;
}

Send make_send(fetch_link::FetcherOptions options) {
  // Shared, because std::function needs a copyable function.
  auto fetcher = std::make_shared<fetch_link::FetchProcess>(std::move(options));
  return [fetcher](const std::string& url, const fetch_link::FetchBody& body, const fetch_link::FetchLimits& limits,
                   std::string& answer) { return fetcher->send(url, body, limits, answer); };
}

std::string counted(std::uint64_t count) { return fmt::format("{} profile{}", count, count == 1 ? "" : "s"); }

}  // namespace

tl::expected<PieceSender, std::string> PieceSender::make(PieceSenderOptions options) {
  auto target = parse_push_target(options.url);
  if (!target) return tl::unexpected("--push: " + target.error());
  auto names = read_names(options);
  if (!names) return tl::unexpected(names.error());
  if (is_too_long(*target, *names))
    return tl::unexpected(std::string("--push-label: all of them together make a URL that is too long"));
  auto headers = read_headers(options.header_file);
  if (!headers) return tl::unexpected(headers.error());
  if (!options.spool.empty() && options.spool.front() != '/')
    return tl::unexpected(
        fmt::format("--push-spool: '{}' does not begin with /", report::escape_for_terminal(options.spool)));
  PieceSender sender(std::move(options));
  sender.target_ = std::move(*target);
  sender.names_ = std::move(*names);
  sender.headers_ = std::move(*headers);
  sender.spool_ = sender.options_.spool.empty() ? sender.options_.usual_spool : sender.options_.spool;
  sender.interval_ = sender.options_.interval.count() != 0 ? sender.options_.interval : kUsualInterval;
  return sender;
}

tl::expected<void, std::string> PieceSender::start() {
  fetch_link::FetcherOptions fetcher{
      .environment = options_.proxies, .needed_for = "--push", .most_starts = UINT32_MAX};
  if (const Diagnosis refusal = fetch_link::fetcher_refusal(fetcher); refusal.error.code != ErrorCode::none)
    return tl::unexpected(fmt::format("{}: {}. Nothing was recorded", report::escape_for_terminal(refusal.subject),
                                      refusal.text.empty() ? std::generic_category().message(refusal.error.os_error)
                                                           : report::escape_for_terminal(refusal.text)));
  if (!headers_.empty() && is_open_to_others(target_))
    say({"push_headers_in_clear",
         {},
         "headers are sent without TLS, for everybody on the way to read; https:// hides them"});
  const auto now = std::chrono::steady_clock::now();
  if (::getrandom(id_.data(), id_.size(), 0) != static_cast<ssize_t>(id_.size())) {
    const std::int64_t weak = now.time_since_epoch().count();  // enough: it only detects duplicates
    std::memcpy(id_.data(), &weak, sizeof weak);
  }
  PusherOptions options{.target = target_, .headers = headers_, .spool = spool_};
  options.make_send = [fetcher = std::move(fetcher)] { return make_send(fetcher); };
  pusher_ = std::make_unique<Pusher>(std::move(options));
  next_ = now + interval_;
  return {};
}

void PieceSender::go_on(const std::function<Recording()>& take) {
  say_all(pusher_->take_news());
  if (std::chrono::steady_clock::now() < next_) return;
  send(take());
  // Missed intervals are not made up for: they become one piece.
  next_ = std::max(next_ + interval_, std::chrono::steady_clock::now());
}

void PieceSender::send(const Recording& piece) {
  if (piece.samples().empty()) return;
  PushNames names = names_;
  if (names.name.empty()) names.name = push_name_of(piece.processes().front().comm);
  pieces_++;
  std::memcpy(id_.data() + 8, &pieces_, sizeof pieces_);
  auto request = make_push_request(target_, names, piece, options_.shown, id_);
  if (request) pusher_->add(std::move(*request));
}

void PieceSender::say(const PushNews& news) const {
  options_.say(news, fmt::format("push to {}: {}", target_.url, report::escape_for_terminal(news.text)));
}

void PieceSender::say_all(const std::vector<PushNews>& news) const {
  for (const PushNews& one : news) say(one);
}

std::string PieceSender::totals(const PushAccount& account) const {
  std::string text = counted(account.sent) + " sent";
  if (account.sent_from_spool != 0) text += fmt::format(" ({} out of the spool)", account.sent_from_spool);
  text += fmt::format(", {} spooled", account.spooled);
  if (account.spooled != 0) text += " in " + spool_;
  text += fmt::format(", {} dropped", account.dropped());
  std::string why;
  const auto add = [&why](std::uint64_t count, std::string_view words) {
    if (count != 0) why += fmt::format("{}{} {}", why.empty() ? "" : ", ", count, words);
  };
  add(account.refused, "that the server does not take");
  add(account.crowded_out, "for want of room");
  add(account.damaged, "damaged in the spool");
  if (!why.empty()) text += ": " + why;
  return text;
}

bool PieceSender::finish(bool tells_totals) {
  const PushAccount account = pusher_->finish(kLastTries);
  say_all(pusher_->take_news());
  if (pieces_ == 0 && account.sent + account.spooled + account.dropped() == 0) return true;
  if (tells_totals) say({"push_totals", {}, totals(account)});
  return account.dropped() == 0;
}

}  // namespace mixstack::push
