#include "fetcher/service.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "fetcher/transfer.h"
#include "symbol_files/fetch_protocol.h"

namespace mixstack::fetcher {
namespace {

using symbol_files::FetchEnd;
using symbol_files::FetchPiece;
using symbol_files::FetchRequest;

bool send_all(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

template <class T>
bool send_value(int socket, const T& value) {
  return send_all(socket, std::as_bytes(std::span(&value, 1)));
}

bool receive_all(int socket, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
    if (n > 0) bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

bool send_pieces(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), symbol_files::kMostPieceBytes);
    if (!send_value(socket, FetchPiece{0, static_cast<std::uint32_t>(size)}) || !send_all(socket, bytes.first(size)))
      return false;
    bytes = bytes.subspan(size);
  }
  return true;
}

}  // namespace

void serve(int socket) {
  Transfers transfers;
  while (true) {
    FetchRequest request;
    if (!receive_all(socket, std::as_writable_bytes(std::span(&request, 1)))) return;
    if (request.version != symbol_files::kFetchVersion || request.url_bytes > symbol_files::kMostUrlBytes) return;
    std::string url(request.url_bytes, '\0');
    if (!receive_all(socket, std::as_writable_bytes(std::span(url)))) return;
    const FetchEnd end =
        transfers.get(url, request, [socket](std::span<const std::byte> bytes) { return send_pieces(socket, bytes); });
    if (!send_value(socket, FetchPiece{1, 0}) || !send_value(socket, end)) return;
  }
}

}  // namespace mixstack::fetcher
