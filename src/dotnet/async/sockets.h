// Operations of sockets that have not ended: what the runtime's own engine waits for.
#pragma once

#include <string>
#include <vector>

#include "dotnet/heap/delegates.h"

namespace mixstack::dotnet::objects {

/// The objects that go on when an operation of a socket has ended (SocketAsyncEventArgs), at most `most`: of all
/// sockets that the engine of System.Net.Sockets watches. Empty: there are none, or they cannot be told.
[[nodiscard]] std::vector<Address> read_socket_waits(ManagedObjects& objects, Delegates& delegates, std::size_t most);

/// The remote end of such an object's socket, "10.0.0.1:443", as the program knows it, and its file descriptor.
struct SocketEnd {
  std::string peer;              ///< empty: not known
  std::int32_t descriptor = -1;  ///< -1: not known
};
[[nodiscard]] SocketEnd end_of_socket(ManagedObjects& objects, Address event_args);

}  // namespace mixstack::dotnet::objects
