// Opens a process, and says in words why it or a dump of it failed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "mixstack/problem.h"
#include "mixstack/session.h"

namespace mixstack::machine {

/// Why a process cannot be looked at.
struct Refused {
  Problem problem = Problem::none;
  std::string words{};  ///< a line for what happened, others for what to do; ends with a newline, fit for a terminal
  Error error{};        ///< of the session; code none: it was foreseen, and nothing was tried
  std::string_view reason{};  ///< for programs: what stands in the way, as `report::problem_reason`; empty: not told
};

/// The facts that make it impossible, found before anything is tried. `problem` none: try it.
[[nodiscard]] Refused foreseen_refusal(std::uint32_t pid);
/// The cause of an error of a session. `name`: of a process that may have vanished; empty: as it is called now.
[[nodiscard]] Refused refusal_of(const Error& error, std::uint32_t pid, const std::string& name = {});

/// A process that is opened, and looked at as often as one likes.
struct ExplainedSession {
  std::unique_ptr<Session> session;
  std::function<Refused(const Error& error)> explain;  ///< why a dump of it failed
};
using OpenSession = std::function<Result<std::unique_ptr<Session>>(std::uint32_t pid)>;
[[nodiscard]] tl::expected<ExplainedSession, Refused> open_explained(std::uint32_t pid, const OpenSession& open);

/// Whether the error means that the process has ended, is ending, or runs another program now.
[[nodiscard]] bool has_gone(const Error& error, std::uint32_t pid);
/// Whether the number is the TID of a thread other than the main thread.
[[nodiscard]] bool is_thread(std::uint32_t pid);

}  // namespace mixstack::machine
