#include "process/live/socket_counters.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/system/byte_cursor.h"
#include "base/system/scoped_fd.h"

namespace mixstack::process {
namespace {

struct Message {
  nlmsghdr head;
  inet_diag_msg what;
  rtattr first;  // of no interest, and empty
  rtattr second;
  tcp_info info;
};

Message message() {
  Message m{};
  m.head.nlmsg_len = sizeof m;
  m.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  m.what.idiag_family = AF_INET;
  m.what.idiag_inode = 77;
  m.what.id.idiag_dport = htons(5000);
  m.what.id.idiag_dst[0] = htonl(0x0a000001);
  m.first = {sizeof(rtattr), INET_DIAG_CONG};
  m.second = {sizeof(rtattr) + sizeof m.info, INET_DIAG_INFO};
  m.info.tcpi_bytes_sent = 4000;
  m.info.tcpi_data_segs_out = 200;
  m.info.tcpi_data_segs_in = 3;
  return m;
}

std::optional<SocketCounters> parsed(const Message& m) { return parse_socket_message(std::as_bytes(std::span(&m, 1))); }

TEST(SocketCountersTest, AMessageOfTheKernel) {
  Message m = message();
  const auto socket = parsed(m);
  ASSERT_TRUE(socket);
  EXPECT_EQ(socket->inode, 77u);
  EXPECT_EQ(socket->peer, "10.0.0.1:5000");
  EXPECT_EQ(socket->bytes_sent, 4000u);
  EXPECT_EQ(socket->packets_sent, 200u);
  EXPECT_EQ(socket->packets_received, 3u);
  m.what.idiag_family = AF_INET6;
  const std::array<std::uint32_t, 4> mapped = {0, 0, htonl(0xffff), htonl(0x7f000001)};
  std::copy(mapped.begin(), mapped.end(), std::begin(m.what.id.idiag_dst));
  EXPECT_EQ(parsed(m)->peer, "127.0.0.1:5000");
  const std::array<std::uint32_t, 4> loopback = {0, 0, 0, htonl(1)};
  std::copy(loopback.begin(), loopback.end(), std::begin(m.what.id.idiag_dst));
  EXPECT_EQ(parsed(m)->peer, "[::1]:5000");
}

TEST(SocketCountersTest, ACutOrFalseMessageTellsNothing) {
  Message m = message();
  for (std::size_t size = 0; size < sizeof m; size++) {
    EXPECT_FALSE(parse_socket_message(std::as_bytes(std::span(&m, 1)).first(size))) << size;
    Message cut = m;
    cut.head.nlmsg_len = static_cast<std::uint32_t>(size);
    EXPECT_FALSE(parsed(cut)) << size;
  }
  for (const unsigned length : {0u, 1u, 3u, 0xffffu}) {
    Message other = m;
    other.first.rta_len = static_cast<unsigned short>(length);
    EXPECT_FALSE(parsed(other)) << length;
    other = m;
    other.second.rta_len = static_cast<unsigned short>(length);
    EXPECT_FALSE(parsed(other)) << length;
  }
  m.second.rta_len = sizeof(rtattr) + offsetof(tcp_info, tcpi_bytes_sent);  // of an older kernel
  EXPECT_FALSE(parsed(m));
  m = message();
  m.head.nlmsg_type = NLMSG_ERROR;
  EXPECT_FALSE(parsed(m));
}

/// Two ends within this process, and the words for the address of the listening one.
struct Connection {
  Connection() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    const base::ScopedFd listening(::socket(AF_INET, SOCK_STREAM, 0));
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    if (::bind(listening.get(), address, size) != 0 || ::listen(listening.get(), 1) != 0) return;
    if (::getsockname(listening.get(), address, &size) != 0) return;
    client = base::ScopedFd(::socket(AF_INET, SOCK_STREAM, 0));
    if (::connect(client.get(), address, size) != 0) return;
    server = base::ScopedFd(::accept(listening.get(), nullptr, nullptr));
    name = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  }
  base::ScopedFd client, server;
  std::string name;
};

/// Whether the kernel answers a question about TCP connections with anything but an error.
bool has_inet_diag() {
  struct {
    nlmsghdr head;
    inet_diag_req_v2 what;
  } request{};
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.what.sdiag_family = AF_INET;
  request.what.sdiag_protocol = IPPROTO_TCP;
  const base::ScopedFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!fd || ::send(fd.get(), &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request)) return false;
  std::array<std::byte, 4096> answer{};
  const ssize_t size = ::recv(fd.get(), answer.data(), answer.size(), 0);
  const auto head = base::load_at<nlmsghdr>(std::span<const std::byte>(answer), 0);
  return size >= static_cast<ssize_t>(sizeof(nlmsghdr)) && head && head->nlmsg_type != NLMSG_ERROR;
}

TEST(SocketCountersTest, OfOurselves) {
  const auto proc = ProcDir::open(static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(proc.has_value());
  const Connection connection;
  ASSERT_TRUE(connection.server);
  constexpr std::string_view kTwenty = "12345678901234567890";
  for (int i = 0; i < 100; i++) ASSERT_EQ(::send(connection.client.get(), kTwenty.data(), kTwenty.size(), 0), 20);
  std::array<char, 2000> text{};
  ASSERT_EQ(::recv(connection.server.get(), text.data(), text.size(), MSG_WAITALL), 2000);
  std::vector<SocketCounters> all;
  for (int i = 0; i < 50 && all.empty(); i++) all = socket_counters(*proc);
  if (all.empty() && !has_inet_diag()) GTEST_SKIP() << "this kernel has no inet_diag";
  const auto is_it = [&](const SocketCounters& s) { return s.peer == connection.name; };
  const auto found = std::find_if(all.begin(), all.end(), is_it);
  ASSERT_NE(found, all.end());
  EXPECT_GE(found->bytes_sent, 2000u);  // more where some were sent again
  EXPECT_GE(found->packets_sent, 1u);
  EXPECT_EQ(found->packets_received, 0u);
}

}  // namespace
}  // namespace mixstack::process
