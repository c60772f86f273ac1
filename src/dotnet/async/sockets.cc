#include "dotnet/async/sockets.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "dotnet/bcl/sockets_and_requests.h"
#include "dotnet/bcl/types.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr std::size_t kMostContexts = 1 << 16;
constexpr std::size_t kMostOperations = 64;  // of one queue
constexpr std::size_t kMostWords = 64;
constexpr std::size_t kMostHost = 80;

/// An operation's callback leads to who wants to know of its end.
Address event_args_of(ManagedObjects& objects, Delegates& delegates, Address operation) {
  for (const Address word : objects.words_in(operation, kMostWords)) {
    if (word == 0 || word % 8 != 0 || !objects.header_is_clear(word) || !delegates.is_delegate(word)) continue;
    const Address target = delegates.target(word);
    if (objects.is_a(target, bcl::SocketEventArgs::kType)) return target;
  }
  return 0;
}

/// Queues keep their last operation, and each the next one: a ring.
void add_queue(ManagedObjects& objects, Delegates& delegates, Address tail, std::size_t most,
               std::vector<Address>& out) {
  Address at = tail;
  for (std::size_t n = 0; n < kMostOperations && out.size() < most; n++) {
    const Address args = event_args_of(objects, delegates, at);
    if (args != 0 && std::find(out.begin(), out.end(), args) == out.end()) out.push_back(args);
    at = objects.reference(at, bcl::SocketOperation::kNext).value_or(0);
    if (at == tail || !objects.is_a(at, bcl::SocketOperation::kType)) return;
  }
}

std::string port_text(std::int32_t port) { return ":" + std::to_string(port); }

/// IPAddress: the number of IPv4 in network order, or eight numbers of IPv6 in the machine's.
std::string address_text(ManagedObjects& objects, Address address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const Address numbers = objects.reference(address, bcl::IpAddress::kNumbers).value_or(0);
  if (numbers == 0) {
    const auto number = objects.value<std::uint32_t>(address, bcl::IpAddress::kNumber);
    if (!number || inet_ntop(AF_INET, &*number, text.data(), text.size()) == nullptr) return {};
    return text.data();
  }
  std::array<std::uint16_t, 8> parts{};
  if (objects.array_length(numbers) != 8u ||
      !objects.memory().reader().read_exact(objects.elements_of(numbers), std::as_writable_bytes(std::span(parts))))
    return {};
  for (std::uint16_t& part : parts) part = htons(part);
  constexpr std::array<std::uint16_t, 6> kMapped{0, 0, 0, 0, 0, 0xffff};  // an IPv4 address
  if (std::equal(kMapped.begin(), kMapped.end(), parts.begin()))
    return inet_ntop(AF_INET, &parts[6], text.data(), text.size()) == nullptr ? std::string() : text.data();
  if (inet_ntop(AF_INET6, parts.data(), text.data(), text.size()) == nullptr) return {};
  return std::string("[") + text.data() + "]";
}

}  // namespace

std::vector<Address> read_socket_waits(ManagedObjects& objects, Delegates& delegates, std::size_t most) {
  std::vector<Address> out;
  const Address engine = objects.types().find(bcl::kSockets, bcl::SocketEngine::kType);
  if (engine == 0) return out;
  const Address contexts = objects.static_reference(engine, bcl::SocketEngine::kContexts).value_or(0);
  for (const Address context : objects.references_in(contexts, kMostContexts)) {
    if (out.size() >= most) break;
    if (context == 0 || !objects.is_a(context, bcl::SocketContext::kType)) continue;
    for (const Address word : objects.words_in(context, kMostWords))
      if (word != 0 && word % 8 == 0 && objects.header_is_clear(word) &&
          objects.is_a(word, bcl::SocketOperation::kType))
        add_queue(objects, delegates, word, most, out);
  }
  return out;
}

SocketEnd end_of_socket(ManagedObjects& objects, Address event_args) {
  SocketEnd end;
  const Address socket = objects.reference(event_args, bcl::SocketEventArgs::kSocket).value_or(0);
  if (!objects.is_a(socket, bcl::Socket::kType)) return end;
  const Address handle = objects.reference(socket, bcl::Socket::kHandle).value_or(0);
  const auto descriptor = objects.value<std::int64_t>(handle, bcl::SafeHandle::kNumber);
  if (descriptor && *descriptor >= 0 && *descriptor <= INT32_MAX)
    end.descriptor = static_cast<std::int32_t>(*descriptor);
  const Address remote = objects.reference(socket, bcl::Socket::kRemote).value_or(0);
  const auto port = objects.value<std::int32_t>(remote, bcl::IpEndPoint::kPort);
  if (!port || *port < 0 || *port > 65535) return end;
  if (objects.is_a(remote, bcl::IpEndPoint::kType)) {
    const Address address = objects.reference(remote, bcl::IpEndPoint::kAddress).value_or(0);
    if (const std::string text = address_text(objects, address); !text.empty()) end.peer = text + port_text(*port);
  } else if (objects.is_a(remote, bcl::DnsEndPoint::kType)) {
    const std::string host = objects.text(objects.reference(remote, bcl::DnsEndPoint::kHost).value_or(0), kMostHost);
    if (!host.empty()) end.peer = host + port_text(*port);
  }
  return end;
}

}  // namespace mixstack::dotnet::objects
