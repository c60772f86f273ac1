#include "agent/in_process/control_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "agent/protocol/message_socket.h"

namespace mixstack::agent {
namespace {

using agent_link::Kind;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostConnections = 8;
constexpr std::uint32_t kMostQuestion = agent_link::kMostText;
/// A connection that neither records nor sends a request for this long is closed.
constexpr std::chrono::seconds kPatience{30};
/// Time at the end of the process to send the last samples.
constexpr std::chrono::milliseconds kLastWords{1000};

[[nodiscard]] std::string folder() {
  const char* chosen = std::getenv("TMPDIR");
  std::string path = chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

[[nodiscard]] bool may_ask(int fd) {
  const auto peer = agent_link::peer_of(fd);
  return peer && (peer->uid == 0 || peer->uid == ::geteuid());
}

}  // namespace

struct ControlServer::Connection {
  Connection(base::ScopedFd s, int wake) : fd(std::move(s)), outbox(std::make_shared<Outbox>(wake)) {}
  base::ScopedFd fd;
  std::shared_ptr<Outbox> outbox;
  Bytes input;
  bool records = false;
  bool is_closing = false;  ///< closed when its outbox is empty
  bool is_broken = false;
  Clock::time_point asked = Clock::now();
};

ControlServer::ControlServer(std::string agent_version, Hooks hooks)
    : agent_version_(std::move(agent_version)), hooks_(std::move(hooks)) {}

ControlServer::~ControlServer() = default;

Result<std::unique_ptr<ControlServer>> ControlServer::create(UnsampledThreads& own, std::string agent_version,
                                                             Hooks hooks) {
  std::unique_ptr<ControlServer> server(new ControlServer(std::move(agent_version), std::move(hooks)));
  server->wake_ = base::ScopedFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!server->wake_) return fail(ErrorCode::io_error, 0, errno);
  if (const auto made = server->listen(); !made) return fail(made.error());
  server->thread_ = std::make_unique<AgentThread>("mixstack-agent", own, [s = server.get()] { s->run(); });
  if (!server->thread_->is_running()) return fail(ErrorCode::limit_exceeded);
  return server;
}

/// The name holds a random number, so that nobody can create it before us. Until chmod takes effect others may connect:
/// `may_ask` checks the peer's uid.
Result<void> ControlServer::listen() {
  std::uint64_t key = 0;
  if (::getrandom(&key, sizeof key, 0) != static_cast<ssize_t>(sizeof key)) return fail(ErrorCode::io_error, 0, errno);
  std::array<char, 64> name;
  (void)std::snprintf(name.data(), name.size(), "%s%d-%016" PRIx64 "%s", agent_link::kSocketPrefix.data(), ::getpid(),
                      key, agent_link::kSocketSuffix.data());
  const std::string path = folder() + "/" + name.data();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail(ErrorCode::limit_exceeded, path.size());
  std::memcpy(address.sun_path, path.data(), path.size());
  socket_ = base::ScopedFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_ || ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail(ErrorCode::io_error, 0, errno);
  path_ = path;
  (void)::chmod(path.c_str(), S_IRUSR | S_IWUSR);
  if (::listen(socket_.get(), kMostConnections) != 0) return fail(ErrorCode::io_error, 0, errno);
  return {};
}

bool ControlServer::finish(std::chrono::milliseconds time) {
  (void)::unlink(path_.c_str());  // first: the process may end while we wait
  is_ending_ = true;
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
  return thread_->ends_within(time);
}

void ControlServer::close_after_fork() { socket_ = base::ScopedFd(); }

void ControlServer::accept_one() {
  base::ScopedFd fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd || !may_ask(fd.get()) || connections_.size() >= kMostConnections) return;
  connections_.push_back(std::make_unique<Connection>(std::move(fd), wake_.get()));
}

/// False: the peer is gone.
bool ControlServer::read_some(Connection& connection) {
  std::array<std::byte, 4096> bytes;
  const ssize_t n = ::recv(connection.fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (n == 0) return false;
  connection.input.insert(connection.input.end(), bytes.begin(), bytes.begin() + n);
  take_messages(connection);
  return true;
}

void ControlServer::take_messages(Connection& connection) {
  Bytes& input = connection.input;
  while (input.size() >= agent_link::kHeaderSize && !connection.is_closing) {
    const auto header = agent_link::decode_header(input);
    if (!header || header->version != agent_link::kVersion || header->size > kMostQuestion) {
      const bool is_other = header && header->version != agent_link::kVersion;
      const std::string text = is_other
                                   ? "it speaks version " + std::to_string(agent_link::kVersion) + " of the protocol"
                                   : "that was no question";
      connection.outbox->put(agent_link::encode(agent_link::Refusal{
          is_other ? agent_link::RefusalCode::other_version : agent_link::RefusalCode::not_understood, agent_version_,
          text}));
      connection.is_closing = true;
      return;
    }
    const std::size_t size = agent_link::kHeaderSize + header->size;
    if (input.size() < size) return;
    const std::string text(reinterpret_cast<const char*>(input.data()) + agent_link::kHeaderSize, header->size);
    input.erase(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(size));
    connection.asked = Clock::now();
    answer(connection, *header, text);
  }
}

void ControlServer::answer(Connection& connection, const agent_link::Header& header, std::string_view text) {
  switch (header.kind) {
    case Kind::status:
      return connection.outbox->put(hooks_.status());
    case Kind::start:
      return connection.outbox->put(hooks_.start(text));
    case Kind::stop:
      connection.outbox->put(hooks_.stop());
      return end_recordings();
    case Kind::record: {
      if (connection.records) break;
      // Samples may be in the outbox already; the answer goes before them.
      auto answer = hooks_.record(text, connection.outbox);
      connection.records = agent_link::decode_header(answer)->kind == Kind::report;
      return connection.outbox->put_first(std::move(answer));
    }
    case Kind::end:
      if (!connection.records) break;
      connection.records = false;
      connection.outbox->put(hooks_.end_record(connection.outbox.get()));
      connection.is_closing = true;
      return;
    default:
      break;
  }
  connection.outbox->put(agent_link::encode(
      agent_link::Refusal{agent_link::RefusalCode::not_understood, agent_version_, "that was no question"}));
  connection.is_closing = true;
}

/// Sampling has ended: send the last report to all recording connections.
void ControlServer::end_recordings() {
  for (auto& connection : connections_) {
    if (!std::exchange(connection->records, false)) continue;
    connection->outbox->put(hooks_.end_record(connection->outbox.get()));
    connection->is_closing = true;
  }
}

void ControlServer::run() {
  Clock::time_point last = Clock::time_point::max();
  for (;;) {
    if (is_ending_ && last == Clock::time_point::max()) {
      end_recordings();
      last = Clock::now() + kLastWords;
    }
    std::vector<pollfd> waits{{wake_.get(), POLLIN, 0}, {socket_.get(), POLLIN, 0}};
    for (const auto& c : connections_)
      waits.push_back({c->fd.get(), static_cast<short>(c->outbox->is_empty() ? POLLIN : POLLIN | POLLOUT), 0});
    const bool has_more =
        std::any_of(connections_.begin(), connections_.end(), [](const auto& c) { return !c->outbox->is_empty(); });
    if (is_ending_ && (!has_more || Clock::now() >= last)) break;
    // Wakes each second only while there are connections that may time out.
    const int wait = is_ending_ ? 20 : connections_.empty() ? -1 : 1000;
    if (::poll(waits.data(), waits.size(), wait) < 0 && errno != EINTR) break;
    std::uint64_t woken = 0;
    (void)!::read(wake_.get(), &woken, sizeof woken);
    for (std::size_t i = 0; i < waits.size() - 2; i++) {
      Connection& c = *connections_[i];
      if ((waits[i + 2].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !is_ending_) c.is_broken = !read_some(c);
    }
    const auto now = Clock::now();
    for (auto& c : connections_) {
      c->is_broken = c->is_broken || !c->outbox->send_some(c->fd.get());
      if (!c->records && now - c->asked > kPatience) c->is_broken = true;
      if (c->is_broken && std::exchange(c->records, false)) (void)hooks_.end_record(c->outbox.get());
    }
    std::erase_if(connections_, [](const auto& c) { return c->is_broken || (c->is_closing && c->outbox->is_empty()); });
    if ((waits[1].revents & POLLIN) != 0 && !is_ending_) accept_one();
  }
  connections_.clear();
}

}  // namespace mixstack::agent
