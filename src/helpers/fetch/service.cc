#include "helpers/fetch/service.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "helpers/fetch/transfer.h"
#include "helpers/fetch_protocol/protocol.h"

namespace mixstack::fetcher {
namespace {

using fetch_link::FetchEnd;
using fetch_link::FetchKind;
using fetch_link::FetchPiece;
using fetch_link::FetchRequest;

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
    const std::size_t size = std::min<std::size_t>(bytes.size(), fetch_link::kMostPieceBytes);
    if (!send_value(socket, FetchPiece{0, static_cast<std::uint32_t>(size)}) || !send_all(socket, bytes.first(size)))
      return false;
    bytes = bytes.subspan(size);
  }
  return true;
}

bool is_sane(const FetchRequest& request) {
  const bool has_body = request.header_bytes != 0 || request.body_bytes != 0;
  return request.version == fetch_link::kFetchVersion && request.kind <= FetchKind::last &&
         request.url_bytes <= fetch_link::kMostUrlBytes && request.header_bytes <= fetch_link::kMostHeaderBytes &&
         request.body_bytes <= fetch_link::kMostBodyBytes && (request.kind == FetchKind::send || !has_body);
}

bool receive_text(int socket, std::string& text, std::uint64_t bytes) {
  text.resize(bytes);
  return receive_all(socket, std::as_writable_bytes(std::span(text)));
}

}  // namespace

void serve(int socket) {
  Transfers transfers;
  const auto sink = [socket](std::span<const std::byte> bytes) { return send_pieces(socket, bytes); };
  while (true) {
    FetchRequest request;
    if (!receive_all(socket, std::as_writable_bytes(std::span(&request, 1))) || !is_sane(request)) return;
    std::string url, headers, body;
    if (!receive_text(socket, url, request.url_bytes) || !receive_text(socket, headers, request.header_bytes) ||
        !receive_text(socket, body, request.body_bytes))
      return;
    const FetchEnd end = request.kind == FetchKind::get ? transfers.get(url, request, sink)
                                                        : transfers.send(url, {headers, body}, request, sink);
    if (!send_value(socket, FetchPiece{1, 0}) || !send_value(socket, end)) return;
  }
}

}  // namespace mixstack::fetcher
