// Bytes and packets that TCP connections of a process have sent.
// Input: the open directory of a process. Output: SocketCounters.
// Algorithm: inodes of its sockets by the links of its descriptors; where there are some, the kernel lists established
// connections of the network namespace with their tcp_info, for IPv4 and IPv6. Bounds: kMostFiles descriptors,
// kLongest.
#include "process/live/socket_counters.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/system/number.h"
#include "base/system/scoped_fd.h"
#include "process/live/sock_diag.h"

namespace mixstack::process {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMostFiles = 1024;
constexpr std::chrono::milliseconds kLongest{50};
constexpr std::uint32_t kEstablished = 1u << 1;  // TCP_ESTABLISHED, include/net/tcp_states.h

struct Request {
  nlmsghdr head;
  inet_diag_req_v2 what;
};

/// Sorted.
std::vector<std::uint64_t> sockets_of(const ProcDir& proc) {
  constexpr std::string_view kPrefix = "socket:[";
  std::vector<std::uint64_t> inodes;
  std::error_code error;
  std::size_t seen = 0;
  std::filesystem::directory_iterator at("/proc/" + std::to_string(proc.pid()) + "/fd", error);
  for (const std::filesystem::directory_iterator end; !error && at != end && seen < kMostFiles; at.increment(error)) {
    seen++;
    const auto link = proc.read_link("fd/" + at->path().filename().string());
    if (!link || !link->starts_with(kPrefix) || !link->ends_with(']')) continue;
    const std::string_view digits = std::string_view(*link).substr(kPrefix.size(), link->size() - kPrefix.size() - 1);
    if (const auto inode = base::number<std::uint64_t>(digits)) inodes.push_back(*inode);
  }
  std::sort(inodes.begin(), inodes.end());
  return inodes;
}

bool is_in_our_network(const ProcDir& proc) {
  std::error_code error;
  const auto ours = std::filesystem::read_symlink("/proc/self/ns/net", error);
  const auto theirs = proc.read_link("ns/net");
  return !error && theirs && *theirs == ours.string();
}

std::string peer_words(const inet_diag_msg& message) {
  const std::uint32_t* const words = message.id.idiag_dst;
  const bool is_mapped =
      message.idiag_family == AF_INET6 && words[0] == 0 && words[1] == 0 && words[2] == htonl(0xffff);
  const bool is_v6 = message.idiag_family == AF_INET6 && !is_mapped;
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* const address = is_mapped ? &words[3] : &words[0];
  if (::inet_ntop(is_v6 ? AF_INET6 : AF_INET, address, text.data(), text.size()) == nullptr) return {};
  const std::string port = ":" + std::to_string(ntohs(message.id.idiag_dport));
  return is_v6 ? "[" + std::string(text.data()) + "]" + port : text.data() + port;
}

/// False: the list is not whole.
bool add_connections(int fd, std::uint8_t family, const std::vector<std::uint64_t>& inodes,
                     std::vector<SocketCounters>& found) {
  const auto end = steady_clock::now() + kLongest / 2;
  Request request{};
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.what.sdiag_family = family;
  request.what.sdiag_protocol = IPPROTO_TCP;
  request.what.idiag_ext = 1u << (INET_DIAG_INFO - 1);
  request.what.idiag_states = kEstablished;
  if (::send(fd, &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request)) return false;
  std::vector<std::byte> buffer(64 << 10);
  while (steady_clock::now() < end) {
    const ssize_t size = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (size <= 0) return false;
    auto rest = std::span<const std::byte>(buffer).first(static_cast<std::size_t>(size));
    while (const auto head = base::load_at<nlmsghdr>(rest, 0)) {
      if (head->nlmsg_type == NLMSG_DONE) return true;
      if (head->nlmsg_type == NLMSG_ERROR || head->nlmsg_len < sizeof(nlmsghdr)) return false;
      if (auto socket = parse_socket_message(rest))
        if (std::binary_search(inodes.begin(), inodes.end(), socket->inode)) found.push_back(std::move(*socket));
      rest = rest.subspan(std::min(rest.size(), netlink_aligned(head->nlmsg_len)));
    }
  }
  return false;
}

}  // namespace

std::optional<SocketCounters> parse_socket_message(std::span<const std::byte> message) {
  const auto value = socket_attribute<inet_diag_msg>(message, INET_DIAG_INFO);
  const auto connection = base::load_at<inet_diag_msg>(message, netlink_aligned(sizeof(nlmsghdr)));
  if (!value || !connection) return std::nullopt;
  // An older kernel's structure is shorter: without the last counter nothing is known.
  if (value->size() < offsetof(tcp_info, tcpi_bytes_sent) + sizeof(tcp_info::tcpi_bytes_sent)) return std::nullopt;
  tcp_info info{};
  std::memcpy(&info, value->data(), std::min(value->size(), sizeof info));
  return SocketCounters{connection->idiag_inode, peer_words(*connection), info.tcpi_bytes_sent, info.tcpi_data_segs_out,
                        info.tcpi_data_segs_in};
}

std::vector<SocketCounters> socket_counters(const ProcDir& proc) {
  const std::vector<std::uint64_t> inodes = sockets_of(proc);
  if (inodes.empty() || !is_in_our_network(proc)) return {};
  const base::ScopedFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!fd) return {};
  const timeval patience{.tv_sec = 0, .tv_usec = 20'000};
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::vector<SocketCounters> found;
  if (!add_connections(fd.get(), AF_INET, inodes, found) || !add_connections(fd.get(), AF_INET6, inodes, found))
    return {};
  return found;
}

}  // namespace mixstack::process
