// The fetcher's loop: a question, its answer, the next question.
#pragma once

namespace mixstack::fetcher {

/// Until the socket is closed, or what comes over it makes no sense.
void serve(int socket);

}  // namespace mixstack::fetcher
