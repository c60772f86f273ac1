#include "output/serve/page_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "base/system/scoped_fd.h"
#include "output/serve/http_connection.h"
#include "output/serve/page_site.h"

namespace mixstack::serve {
namespace {

/// 128 random bits as hex digits; empty: getrandom(2) failed.
std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

Result<base::ScopedFd> listening(std::uint16_t port) {
  base::ScopedFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail(ErrorCode::io_error, 0, errno);
  const int yes = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket.get(), 64) != 0)
    return fail(ErrorCode::io_error, port, errno);
  return socket;
}

Result<std::uint16_t> port_of(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return fail(ErrorCode::io_error, 0, errno);
  return ntohs(address.sin_port);
}

/// Pause of accepting when no descriptor is free.
constexpr std::chrono::milliseconds kPause{100};

std::uint64_t file_limit() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace

class PageServer::Work {
 public:
  Work(std::string_view title, const report::PageLook& look) : site_(title, random_token(), look) {}

  Result<std::string> start(std::uint16_t port) {
    if (site_.path() == "//" || thread_.joinable()) return fail(ErrorCode::internal);
    auto listener = listening(port);
    if (!listener) return fail(listener.error());
    const auto actual = port_of(listener->get());
    if (!actual) return fail(actual.error());
    end_ = base::ScopedFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!end_) return fail(ErrorCode::io_error, 0, errno);
    listener_ = std::move(*listener);
    most_ = most_connections(file_limit());
    keep_places();
    site_.set_port(*actual);
    thread_ = std::thread([this] { run(); });
    return fmt::format("http://127.0.0.1:{}{}", *actual, site_.path());
  }

  void stop() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    // Cannot block: the counter of an eventfd is far from full.
    [[maybe_unused]] const ssize_t written = write(end_.get(), &one, sizeof one);
    thread_.join();
    connections_.clear();
    places_.clear();
    listener_ = base::ScopedFd();
  }

  PageSite& site() { return site_; }

 private:
  void run() {
    while (true) {
      const bool is_pause = HttpConnection::Clock::now() < pause_end_;
      // poll(2) ignores negative descriptors.
      std::vector<pollfd> waited = {{end_.get(), POLLIN, 0}, {is_pause ? -1 : listener_.get(), POLLIN, 0}};
      for (const HttpConnection& connection : connections_)
        waited.push_back(
            {connection.descriptor(), static_cast<short>(connection.is_answering() ? POLLOUT : POLLIN), 0});
      // Wakes each second to close connections past their deadline.
      const int wait = is_pause ? static_cast<int>(kPause.count()) : connections_.empty() ? -1 : 1000;
      if (poll(waited.data(), waited.size(), wait) < 0 && errno != EINTR) return;
      if (waited[0].revents != 0) return;
      proceed(waited);
      if (waited[1].revents != 0) accept_all();
    }
  }

  void proceed(const std::vector<pollfd>& waited) {
    const auto now = HttpConnection::Clock::now();
    const auto handler = [this](const HttpRequest& request) { return site_.answer(request); };
    std::vector<HttpConnection> kept;
    for (std::size_t i = 0; i < connections_.size(); i++) {
      const bool goes_on = waited[i + 2].revents == 0 || connections_[i].proceed(handler, now);
      if (goes_on && !connections_[i].is_late(now)) kept.push_back(std::move(connections_[i]));
    }
    connections_ = std::move(kept);
    keep_places();
  }

  /// Descriptors that stand for the connections which may come, and for the one that is turned away. The recording
  /// counts them when it opens as many files as the limit allows: else the connections take those that it needs for a
  /// moment.
  void keep_places() {
    while (connections_.size() + places_.size() < most_ + 1) {
      base::ScopedFd place(fcntl(end_.get(), F_DUPFD_CLOEXEC, 0));
      if (!place) return;
      places_.push_back(std::move(place));
    }
  }

  /// At the limit, the oldest connection without a request is closed (browsers open some that they never use); if there
  /// is none, the new one.
  void accept_all() {
    while (true) {
      if (!places_.empty()) places_.pop_back();
      base::ScopedFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket) {
        const int error = errno;
        keep_places();
        return give_way(error);
      }
      if (connections_.size() >= most_ && !end_oldest_idle()) continue;
      connections_.emplace_back(std::move(socket), HttpConnection::Clock::now());
    }
  }

  bool end_oldest_idle() {
    const auto idle = std::find_if(connections_.begin(), connections_.end(),
                                   [](const HttpConnection& c) { return !c.is_answering(); });
    if (idle == connections_.end()) return false;
    connections_.erase(idle);
    return true;
  }

  /// Without a free descriptor the listener stays readable, and the loop would spin: pause it. Free one connection,
  /// too, since the recording needs descriptors.
  void give_way(int error) {
    if (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM) return;
    end_oldest_idle();
    pause_end_ = HttpConnection::Clock::now() + kPause;
  }

  PageSite site_;
  base::ScopedFd listener_, end_;
  std::size_t most_ = kMostConnections;
  HttpConnection::Clock::time_point pause_end_{};
  std::vector<base::ScopedFd> places_;       ///< kept for connections; with `connections_` at most `most_` + 1
  std::vector<HttpConnection> connections_;  ///< used by the thread alone, while it runs
  std::thread thread_;
};

PageServer::PageServer(std::string_view title, const report::PageLook& look)
    : work_(std::make_unique<Work>(title, look)) {}
PageServer::~PageServer() { stop(); }

std::size_t PageServer::most_connections(std::uint64_t most_files) {
  constexpr std::uint64_t kShare = 16;
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(most_files / kShare, 2, kMostConnections));
}

Result<std::string> PageServer::start(std::uint16_t port) { return work_->start(port); }

void PageServer::publish(std::shared_ptr<const Recording> recording, bool ended) {
  work_->site().publish(std::move(recording), ended);
}

void PageServer::publish_rarely(const std::function<std::shared_ptr<const Recording>()>& copy) {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  if (begun < next_copy_) return;
  publish(copy(), false);
  next_copy_ = begun + std::max<Clock::duration>(std::chrono::seconds(1), 20 * (Clock::now() - begun));
}

void PageServer::stop() { work_->stop(); }

}  // namespace mixstack::serve
