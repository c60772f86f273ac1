#include "dotnet/async/sockets.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace mixstack::dotnet::objects {
namespace {

constexpr std::string_view kSockets = "System.Net.Sockets";
constexpr std::string_view kEngine = "System.Net.Sockets.SocketAsyncEngine";
constexpr std::string_view kContext = "System.Net.Sockets.SocketAsyncContext";
constexpr std::string_view kOperation = "System.Net.Sockets.SocketAsyncContext+AsyncOperation";
constexpr std::string_view kEventArgs = "System.Net.Sockets.SocketAsyncEventArgs";
constexpr std::size_t kMostContexts = 1 << 16;
constexpr std::size_t kMostOperations = 64;  // of one queue
constexpr std::size_t kMostWords = 64;
constexpr std::size_t kMostHost = 80;

/// An operation's callback leads to who wants to know of its end.
Address event_args_of(ManagedObjects& objects, Delegates& delegates, Address operation) {
  for (const Address word : objects.words_in(operation, kMostWords)) {
    if (word == 0 || word % 8 != 0 || !objects.header_is_clear(word) || !delegates.is_delegate(word)) continue;
    const Address target = delegates.target(word);
    if (objects.is_a(target, kEventArgs)) return target;
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
    at = objects.reference(at, "Next").value_or(0);
    if (at == tail || !objects.is_a(at, kOperation)) return;
  }
}

std::string port_text(std::int32_t port) { return ":" + std::to_string(port); }

/// IPAddress: the number of IPv4 in network order, or eight numbers of IPv6 in the machine's.
std::string address_text(ManagedObjects& objects, Address address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const Address numbers = objects.reference(address, "_numbers").value_or(0);
  if (numbers == 0) {
    const auto number = objects.value<std::uint32_t>(address, "_addressOrScopeId");
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
  const Address engine = objects.types().find(kSockets, kEngine);
  if (engine == 0) return out;
  const Address contexts = objects.static_reference(engine, "s_registeredContexts").value_or(0);
  for (const Address context : objects.references_in(contexts, kMostContexts)) {
    if (out.size() >= most) break;
    if (context == 0 || !objects.is_a(context, kContext)) continue;
    for (const Address word : objects.words_in(context, kMostWords))
      if (word != 0 && word % 8 == 0 && objects.header_is_clear(word) && objects.is_a(word, kOperation))
        add_queue(objects, delegates, word, most, out);
  }
  return out;
}

SocketEnd end_of_socket(ManagedObjects& objects, Address event_args) {
  SocketEnd end;
  const Address socket = objects.reference(event_args, "_currentSocket").value_or(0);
  if (!objects.is_a(socket, "System.Net.Sockets.Socket")) return end;
  const Address handle = objects.reference(socket, "_handle").value_or(0);
  const auto descriptor = objects.value<std::int64_t>(handle, "handle");
  if (descriptor && *descriptor >= 0 && *descriptor <= INT32_MAX)
    end.descriptor = static_cast<std::int32_t>(*descriptor);
  const Address remote = objects.reference(socket, "_remoteEndPoint").value_or(0);
  const auto port = objects.value<std::int32_t>(remote, "_port");
  if (!port || *port < 0 || *port > 65535) return end;
  if (objects.is_a(remote, "System.Net.IPEndPoint")) {
    const Address address = objects.reference(remote, "_address").value_or(0);
    if (const std::string text = address_text(objects, address); !text.empty()) end.peer = text + port_text(*port);
  } else if (objects.is_a(remote, "System.Net.DnsEndPoint")) {
    const std::string host = objects.text(objects.reference(remote, "_host").value_or(0), kMostHost);
    if (!host.empty()) end.peer = host + port_text(*port);
  }
  return end;
}

}  // namespace mixstack::dotnet::objects
