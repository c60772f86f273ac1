// The fetcher's request loop.
#pragma once

namespace mixstack::fetcher {

/// Answers requests until the socket is closed or a request is malformed.
void serve(int socket);

}  // namespace mixstack::fetcher
