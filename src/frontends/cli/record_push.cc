#include "frontends/cli/record_push.h"

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
#include "features/record/sample_source.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/symbol_options.h"
#include "frontends/cli/version.h"
#include "helpers/fetch_protocol/fetch_process.h"
#include "output/report/escape.h"

namespace mixstack::cli {
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
    auto read = text ? push::parse_push_headers(*text) : tl::unexpected(text.error());
    if (!read)
      return tl::unexpected(fmt::format("--push-header-file {}: {}", report::escape_for_terminal(path), read.error()));
    headers = std::move(*read);
  }
  const char* token = ::secure_getenv(kTokenVariable);
  if (token == nullptr) return headers;
  const std::string header = fmt::format("Authorization: Bearer {}", token);
  (void)::unsetenv(kTokenVariable);
  const auto made = push::parse_push_headers(header);
  if (!made || made->size() != 1 || made->front() != header || header.ends_with("Bearer "))
    return tl::unexpected(fmt::format("{} is empty or has a line end", kTokenVariable));
  if (std::any_of(headers.begin(), headers.end(), is_authorization))
    return tl::unexpected(
        fmt::format("an Authorization in {} and {}: one of them", report::escape_for_terminal(path), kTokenVariable));
  headers.push_back(header);
  return headers;
}

tl::expected<push::PushNames, std::string> read_names(const RecordArguments& arguments) {
  push::PushNames names{.name = arguments.push_name, .version = std::string(version_number())};
  if (!names.name.empty() && !push::is_push_name(names.name))
    return tl::unexpected(fmt::format("--push-name: '{}' has other characters than letters, digits and _ . - /",
                                      report::escape_for_terminal(names.name.substr(0, 256))));
  if (arguments.push_labels.size() > kMostLabels)
    return tl::unexpected(fmt::format("--push-label: more than {}", kMostLabels));
  for (const std::string& text : arguments.push_labels) {
    auto label = push::parse_push_label(text);
    if (!label) return tl::unexpected("--push-label: " + label.error());
    if (std::any_of(names.labels.begin(), names.labels.end(),
                    [&label](const push::PushLabel& other) { return other.name == label->name; }))
      return tl::unexpected(fmt::format("--push-label: {} is there twice", label->name));
    names.labels.push_back(std::move(*label));
  }
  return names;
}

push::Send make_send(fetch_link::FetcherOptions options) {
  // Shared, because std::function needs a copyable function.
  auto fetcher = std::make_shared<fetch_link::FetchProcess>(std::move(options));
  return [fetcher](const std::string& url, const fetch_link::FetchBody& body, const fetch_link::FetchLimits& limits,
                   std::string& answer) { return fetcher->send(url, body, limits, answer); };
}

std::string counted(std::uint64_t count) { return fmt::format("{} profile{}", count, count == 1 ? "" : "s"); }

}  // namespace

tl::expected<RecordPush, std::string> RecordPush::make(const RecordArguments& arguments) {
  RecordPush push;
  auto target = push::parse_push_target(arguments.push);
  if (!target) return tl::unexpected("--push: " + target.error());
  push.target_ = std::move(*target);
  auto names = read_names(arguments);
  if (!names) return tl::unexpected(names.error());
  push.names_ = std::move(*names);
  if (push::is_too_long(push.target_, push.names_))
    return tl::unexpected(std::string("--push-label: all of them together make a URL that is too long"));
  auto headers = read_headers(arguments.push_header_file);
  if (!headers) return tl::unexpected(headers.error());
  push.headers_ = std::move(*headers);
  if (!arguments.push_spool.empty() && arguments.push_spool.front() != '/')
    return tl::unexpected(
        fmt::format("--push-spool: '{}' does not begin with /", report::escape_for_terminal(arguments.push_spool)));
  push.spool_ = arguments.push_spool.empty() ? user_cache_folder("push") : arguments.push_spool;
  push.options_.idle = arguments.idle;
  push.options_.managed_only = arguments.managed_only;
  push.options_.include = arguments.include;
  push.options_.exclude = arguments.exclude;
  push.quiet_ = arguments.quiet;
  const auto interval = arguments.push_interval.count() != 0 ? arguments.push_interval : kUsualInterval;
  push.interval_ns_ = static_cast<std::uint64_t>(interval.count()) * 1'000'000u;
  return push;
}

ExitCode RecordPush::start(const Environment& environment) {
  err_ = environment.err;
  fetch_link::FetcherOptions fetcher{
      .environment = proxies_of_environment(), .needed_for = "--push", .most_starts = UINT32_MAX};
  if (const Diagnosis refusal = fetch_link::fetcher_refusal(fetcher); refusal.error.code != ErrorCode::none) {
    FdOutput(err_).write(fmt::format("mixstack: {}: {}. Nothing was recorded\n",
                                     report::escape_for_terminal(refusal.subject),
                                     refusal.text.empty() ? std::generic_category().message(refusal.error.os_error)
                                                          : report::escape_for_terminal(refusal.text)));
    return ExitCode::output;
  }
  if (!headers_.empty() && push::is_open_to_others(target_))
    say("headers are sent without TLS, for everybody on the way to read; https:// hides them");
  if (::getrandom(id_.data(), id_.size(), 0) != static_cast<ssize_t>(id_.size()))
    std::memcpy(id_.data(), &next_ns_, sizeof next_ns_);  // a weak id is enough: it only detects duplicates
  push::PusherOptions options{.target = target_, .headers = headers_, .spool = spool_};
  options.make_send = [fetcher = std::move(fetcher)] { return make_send(fetcher); };
  pusher_ = std::make_unique<push::Pusher>(std::move(options));
  next_ns_ = record::monotonic_ns() + interval_ns_;
  return ExitCode::ok;
}

void RecordPush::go_on(const std::function<Recording()>& take, ProgressLine& progress) {
  if (const auto news = pusher_->take_news(); !news.empty()) {
    progress.end();
    say_all(news);
  }
  if (record::monotonic_ns() < next_ns_) return;
  send(take());
  // Missed intervals are not made up for: they become one piece.
  next_ns_ = std::max(next_ns_ + interval_ns_, record::monotonic_ns());
}

void RecordPush::send(const Recording& piece) {
  if (piece.samples().empty()) return;
  push::PushNames names = names_;
  if (names.name.empty()) names.name = push::push_name_of(piece.processes().front().comm);
  pieces_++;
  std::memcpy(id_.data() + 8, &pieces_, sizeof pieces_);
  auto request = push::make_push_request(target_, names, piece, options_, id_);
  if (request) pusher_->add(std::move(*request));
}

void RecordPush::say(const std::string& text) const {
  FdOutput(err_).write(fmt::format("mixstack: push to {}: {}\n", target_.url, report::escape_for_terminal(text)));
}

void RecordPush::say_all(const std::vector<std::string>& news) const {
  for (const std::string& text : news) say(text);
}

ExitCode RecordPush::finish() {
  const push::PushAccount account = pusher_->finish(kLastTries);
  say_all(pusher_->take_news());
  if (pieces_ == 0 && account.sent + account.spooled + account.dropped() == 0) return ExitCode::ok;
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
  if (!quiet_) say(text);
  return account.dropped() == 0 ? ExitCode::ok : ExitCode::output;
}

}  // namespace mixstack::cli
