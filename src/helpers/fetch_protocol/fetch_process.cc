#include "helpers/fetch_protocol/fetch_process.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace mixstack::fetch_link {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kGrace{1000};  // beyond the limit, for the fetcher to report its own time-out

/// Deadline of an exchange with the fetcher, and the user's wish to end it.
class Patience {
 public:
  Patience(std::chrono::milliseconds time, const FetchLimits& limits)
      : end_(Clock::now() + time), is_wanted_(limits.is_wanted) {}

  /// Waits until the socket is ready, or for a moment; false: the deadline has passed, or nobody wants the answer.
  [[nodiscard]] bool wait_for(int fd, short what) {
    constexpr std::int64_t kMoment = 100, kLong = 1 << 30;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count();
    has_given_up_ = is_wanted_ && !is_wanted_();
    if (left <= 0 || has_given_up_) return false;
    pollfd entry{.fd = fd, .events = what, .revents = 0};
    (void)::poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left, is_wanted_ ? kMoment : kLong)));
    return true;
  }
  [[nodiscard]] bool has_given_up() const { return has_given_up_; }

 private:
  Clock::time_point end_;
  const std::function<bool()>& is_wanted_;
  bool has_given_up_ = false;
};

/// Fills `bytes`; false: the peer is late or gone.
bool receive_all(int fd, std::span<std::byte> bytes, Patience& patience) {
  while (!bytes.empty()) {
    const ssize_t n = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
      continue;
    }
    if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) return false;
    if (!patience.wait_for(fd, POLLIN)) return false;
  }
  return true;
}

bool send_all(int fd, std::string_view bytes, Patience& patience) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return false;
    if (!patience.wait_for(fd, POLLOUT)) return false;
  }
  return true;
}

template <class T>
bool receive_value(int fd, T& value, Patience& patience) {
  return receive_all(fd, std::as_writable_bytes(std::span(&value, 1)), patience);
}

std::uint32_t milliseconds(std::chrono::milliseconds time) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(time.count(), 1, 1 << 30));
}

}  // namespace

Diagnosis fetcher_refusal(const FetcherOptions& options) {
  auto program = base::find_service("mixstack-fetch", options.needed_for, options.program);
  return program ? Diagnosis{} : std::move(program.error());
}

tl::expected<void, Diagnosis> FetchProcess::start() {
  auto program = base::find_service("mixstack-fetch", options_.needed_for, options_.program);
  if (!program) return tl::unexpected(std::move(program.error()));
  if (starts_++ >= options_.most_starts)
    return tl::unexpected(Diagnosis{{ErrorCode::limit_exceeded, 0, starts_}, program->path, "it broke too often"});
  auto process = base::ServiceProcess::start(*program, {}, options_.environment);
  if (!process) return tl::unexpected(std::move(process.error()));
  process_ = std::move(*process);
  return {};
}

FetchOutcome FetchProcess::ask(const Question& question, const FetchLimits& limits) {
  FetchRequest request;
  request.kind = question.kind;
  request.url_bytes = static_cast<std::uint32_t>(question.url.size());
  request.header_bytes = static_cast<std::uint32_t>(question.headers.size());
  request.body_bytes = question.body.size();
  request.connect_ms = milliseconds(limits.connect);
  request.stall_ms = milliseconds(limits.stall);
  request.total_ms = milliseconds(limits.total);
  request.redirects = limits.redirects;
  request.most_bytes = limits.bytes;
  std::string message(sizeof request, '\0');
  std::memcpy(message.data(), &request, sizeof request);
  message += question.url;
  message += question.headers;
  // A live fetcher reads the request at once, but a body can be larger than the socket's buffer.
  Patience patience(kGrace + kGrace, limits);
  if (send_all(process_.socket(), message, patience) && send_all(process_.socket(), question.body, patience))
    return FetchOutcome::done;
  return patience.has_given_up() ? FetchOutcome::given_up : FetchOutcome::fetcher_broken;
}

FetchEnd FetchProcess::receive(const FetchLimits& limits, const Sink& sink) {
  Patience patience(limits.total + kGrace, limits);
  const auto broken = [&patience] {
    return FetchEnd{patience.has_given_up() ? FetchOutcome::given_up : FetchOutcome::fetcher_broken, 0, 0};
  };
  std::array<std::byte, kMostPieceBytes> buffer;
  std::uint64_t received = 0;
  while (true) {
    FetchPiece piece;
    if (!receive_value(process_.socket(), piece, patience)) return broken();
    if (piece.is_end != 0) {
      FetchEnd said;
      const bool is_sane =
          receive_value(process_.socket(), said, patience) && said.outcome <= FetchOutcome::last_of_fetcher;
      return is_sane ? said : broken();
    }
    if (piece.bytes == 0 || piece.bytes > buffer.size()) return broken();
    const std::span bytes = std::span(buffer).first(piece.bytes);
    if (!receive_all(process_.socket(), bytes, patience)) return broken();
    received += piece.bytes;
    if (received > limits.bytes) return {FetchOutcome::too_large, 0, received};
    if (!sink(bytes)) return {FetchOutcome::failed, 0, 0};
  }
}

tl::expected<FetchEnd, Diagnosis> FetchProcess::exchange(const Question& question, const FetchLimits& limits,
                                                         const Sink& sink) {
  if (question.url.size() > kMostUrlBytes) return FetchEnd{FetchOutcome::failed, 0, question.url.size()};
  if (!process_.is_running())
    if (auto started = start(); !started) return tl::unexpected(std::move(started.error()));
  FetchEnd end{ask(question, limits), 0, 0};
  if (end.outcome == FetchOutcome::done) end = receive(limits, sink);
  // After an answer that was not read to its end, the rest would be taken for the next answer: end the fetcher.
  const bool in_step = end.outcome <= FetchOutcome::last_of_fetcher && end.outcome != FetchOutcome::too_large &&
                       !(end.outcome == FetchOutcome::failed && end.value == 0);
  if (!in_step) (void)process_.end();
  return end;
}

tl::expected<FetchEnd, Diagnosis> FetchProcess::get(const std::string& url, const FetchLimits& limits,
                                                    const Sink& sink) {
  return exchange({url}, limits, sink);
}

tl::expected<FetchEnd, Diagnosis> FetchProcess::send(const std::string& url, const FetchBody& body,
                                                     const FetchLimits& limits, std::string& answer) {
  answer.clear();
  Question question{.url = url, .body = body.bytes, .kind = FetchKind::send};
  for (const std::string& header : body.headers) question.headers += header + "\n";
  if (body.bytes.size() > kMostBodyBytes) return FetchEnd{FetchOutcome::too_large, 0, body.bytes.size()};
  if (question.headers.size() > kMostHeaderBytes) return FetchEnd{FetchOutcome::too_large, 0, question.headers.size()};
  return exchange(question, limits, [&answer](std::span<const std::byte> bytes) {
    answer.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return true;
  });
}

std::string_view outcome_name(FetchOutcome outcome) {
  constexpr std::string_view kNames[] = {"done",      "not_found", "http_status", "no_connection", "no_such_host",
                                         "timed_out", "too_large", "cut_short",   "redirects",     "untrusted",
                                         "garbled",   "failed",    "fetcher",     "given_up"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::string outcome_words(const FetchEnd& end) {
  switch (end.outcome) {
    case FetchOutcome::done:
    case FetchOutcome::not_found:
      return {};
    case FetchOutcome::refused:
      return "it answered with HTTP status " + std::to_string(end.value);
    case FetchOutcome::no_connection:
      return "it cannot be reached" +
             (end.value != 0 ? " (" + std::string(std::strerror(static_cast<int>(end.value & 0xffff))) + ")" : "");
    case FetchOutcome::no_such_host:
      return "there is no server of that name";
    case FetchOutcome::timed_out:
      return "it did not answer in time";
    case FetchOutcome::too_large:
      return "a file is larger than what is taken (" + std::to_string(end.value) + " bytes)";
    case FetchOutcome::cut_short:
      return "it sent less than it said";
    case FetchOutcome::redirects:
      return "it redirects too often, or to where we do not go";
    case FetchOutcome::untrusted:
      return "its certificate or TLS connection is not good";
    case FetchOutcome::garbled:
      return "what it answers is not HTTP";
    case FetchOutcome::failed:
      return "a file could not be fetched (libcurl error " + std::to_string(end.value) + ")";
    case FetchOutcome::given_up:
      return "it did not answer before the end";
    case FetchOutcome::fetcher_broken:
      break;
  }
  return "mixstack-fetch broke over it";
}

bool is_hopeless(FetchOutcome outcome) {
  return outcome == FetchOutcome::no_connection || outcome == FetchOutcome::no_such_host ||
         outcome == FetchOutcome::timed_out || outcome == FetchOutcome::untrusted || outcome == FetchOutcome::garbled ||
         outcome == FetchOutcome::redirects || outcome == FetchOutcome::fetcher_broken;
}

}  // namespace mixstack::fetch_link
