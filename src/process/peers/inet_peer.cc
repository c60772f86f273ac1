#include "process/peers/inet_peer.h"

#include <algorithm>

namespace mixstack::peers {

std::optional<std::uint64_t> inet_peer(process::SocketTables& sockets, const std::string& name) {
  constexpr std::string_view kProtocol = "tcp ", kArrow = " -> ";
  const std::size_t arrow = name.find(kArrow);
  if (!name.starts_with(kProtocol) || arrow == std::string::npos) return std::nullopt;
  std::string other(kProtocol);
  other += name.substr(arrow + kArrow.size());
  other += kArrow;
  other += name.substr(kProtocol.size(), arrow - kProtocol.size());
  const process::SocketNames& all = sockets.all();
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& socket) { return socket.second == other; });
  return at == all.end() ? std::nullopt : std::optional(at->first);
}

}  // namespace mixstack::peers
