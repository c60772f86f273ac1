#include "agent/client/agent_client.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "agent/client/agent_library.h"
#include "agent/client/diagnostics.h"
#include "agent/client/recorded.h"
#include "agent/protocol/message_socket.h"

namespace mixstack::agent_client {
namespace {

using agent_link::Clock;
using agent_link::Kind;
using agent_link::Message;
using std::chrono::milliseconds;

constexpr SocketName kAgentSocket{agent_link::kSocketPrefix, agent_link::kSocketSuffix};
constexpr milliseconds kLookEvery{200};
/// An agent that was asked to end may still send what it holds, for so long.
constexpr milliseconds kMostRemains{60'000};

}  // namespace

tl::unexpected<Failure> AgentClient::failed(const Error& error) const {
  const std::string who = "the agent in process " + std::to_string(pid_);
  if (error.code == ErrorCode::limit_exceeded)
    return refuse(error.code, "no_answer",
                  who + " did not answer in time. The process may be stopped or overloaded: 'mixstack dump " +
                      std::to_string(pid_) + "' shows what it does");
  if (error.code == ErrorCode::malformed)
    return refuse(error.code, "not_an_agent",
                  "what answers as " + who + " is none, or of a version that has nothing in common with this one");
  return refuse(ErrorCode::process_changed, "hung_up",
                who +
                    " hung up: the process has ended, or it does not let you ask (be its user or "
                    "root)",
                error.os_error);
}

Outcome<AgentClient> AgentClient::connect(const TargetPlace& place) {
  auto link = connect_to_process(place, kAgentSocket, Clock::now() + kAnswerTime);
  if (link) return AgentClient(place.pid, std::move(*link));
  const std::string pid = std::to_string(place.pid);
  const ErrorCode code = link.error().error.code;
  if (code == ErrorCode::permission_denied)
    return refuse(code, "not_permitted",
                  "the agent in process " + pid + " does not let you ask: be its user (uid " +
                      std::to_string(place.user) + ") or root");
  if (code == ErrorCode::limit_exceeded)
    return refuse(code, "takes_nobody", "the agent in process " + pid + " takes nobody: the process may be stopped");
  return refuse(ErrorCode::not_found, "no_agent",
                "there is no agent in process " + pid + ". To have it loaded: mixstack agent attach " + pid);
}

Outcome<agent_link::Report> AgentClient::report_of(const Message& answer) const {
  if (answer.header.kind == Kind::refused) {
    const auto refusal = agent_link::decode_refusal(answer.payload);
    if (!refusal) return failed({ErrorCode::malformed, 0, 0});
    if (refusal->code == agent_link::RefusalCode::other_version)
      return refuse(ErrorCode::mismatch, "other_version",
                    "the agent in process " + std::to_string(pid_) + " is of another version (" + refusal->agent +
                        ": " + refusal->text + "). Use the mixstack it came with, or restart the process");
    const bool is_there = refusal->code == agent_link::RefusalCode::already_sampling;
    return refuse(is_there ? ErrorCode::already_traced : ErrorCode::unsupported,
                  is_there ? "samples_already" : "refused",
                  "the agent in process " + std::to_string(pid_) + ": " + refusal->text);
  }
  if (answer.header.version != agent_link::kVersion)
    return refuse(ErrorCode::mismatch, "other_version",
                  "the agent in process " + std::to_string(pid_) + " is of another version (of protocol " +
                      std::to_string(answer.header.version) + ", this mixstack speaks " +
                      std::to_string(agent_link::kVersion) +
                      "). Use the mixstack it came with, or restart the process");
  auto report = answer.header.kind == Kind::report ? agent_link::decode_report(answer.payload) : std::nullopt;
  if (!report) return failed({ErrorCode::malformed, 0, 0});
  return std::move(*report);
}

Outcome<agent_link::Report> AgentClient::ask(Kind kind, std::string_view text) {
  const auto deadline = Clock::now() + kAnswerTime;
  const auto sent = agent_link::send_all(link_.get(), agent_link::message(kind, text), deadline);
  // An agent that hung up may have sent its reason before: read on.
  if (!sent && sent.error().code != ErrorCode::not_found) return failed(sent.error());
  const auto answer = agent_link::receive(link_.get(), deadline);
  if (!answer) return failed(answer.error());
  return report_of(*answer);
}

Outcome<AgentClient::Recording> AgentClient::record(std::string_view settings, milliseconds time,
                                                    const std::function<bool()>& is_enough) {
  auto begun = ask(Kind::record, settings);
  if (!begun) return tl::unexpected(begun.error());
  Recorded recorded;
  Recording recording;
  agent_link::Report last = *begun;
  const auto began = Clock::now();
  auto deadline = began + time, latest = Clock::time_point::max();
  bool has_asked = false;
  for (;;) {
    if (Clock::now() >= latest) {
      recording.why = "the agent went on sending after it was asked to end";
      break;
    }
    if (!has_asked && (Clock::now() >= deadline || is_enough())) {
      if (!agent_link::send_all(link_.get(), agent_link::message(Kind::end), Clock::now() + kAnswerTime)) {
        recording.why = "the agent hung up";
        break;
      }
      has_asked = true;
      deadline = Clock::now() + kAnswerTime;
      latest = Clock::now() + kMostRemains;
    }
    // Waits at most kLookEvery, so that `is_enough` is polled; after `end` was sent, waits up to the deadline.
    const auto ready = agent_link::wait_for(link_.get(), POLLIN, std::min(deadline, Clock::now() + kLookEvery));
    if (!ready && ready.error().code == ErrorCode::limit_exceeded) {
      if (!has_asked || Clock::now() < deadline) continue;
      recording.why = "the agent did not answer in time";
      break;
    }
    const auto message = agent_link::receive(link_.get(), Clock::now() + kAnswerTime);
    if (!message) {
      recording.why =
          message.error().code == ErrorCode::not_found ? "the process has ended" : failed(message.error()).value().text;
      break;
    }
    if (message->header.kind == Kind::report) {
      if (const auto report = report_of(*message)) last = *report;
      recording.is_whole = has_asked;
      if (!has_asked) recording.why = "sampling was stopped, or the process ends";
      break;
    }
    if (!recorded.take(message->header.kind, message->payload)) {
      recording.why = "the agent sent what is no message of this version";
      break;
    }
  }
  recording.profile = recorded.finish(last);
  recording.profile.pid = pid_;
  recording.profile.duration =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count());
  return recording;
}

Outcome<Attached> connect_or_attach(const TargetPlace& place, const std::string& library, std::string_view settings,
                                    milliseconds timeout) {
  auto client = AgentClient::connect(place);
  if (client) return Attached{std::move(*client), false};
  if (client.error().error.code != ErrorCode::not_found) return tl::unexpected(client.error());
  const auto path = library_for(place, library);
  if (!path) return tl::unexpected(path.error());
  const auto loaded = attach_profiler(place, *path, settings, timeout);
  client = AgentClient::connect(place);
  if (!loaded) {
    // Another command may have attached it at the same moment.
    if (loaded.error().error.value == kProfilerThere && client) return Attached{std::move(*client), false};
    return tl::unexpected(loaded.error());
  }
  if (client) return Attached{std::move(*client), true};
  return refuse(client.error().error.code, "no_socket_of_agent",
                "the agent was loaded into process " + std::to_string(place.pid) +
                    ", but it cannot be asked: it found no place for its socket (" + place.folders.front() + ")");
}

}  // namespace mixstack::agent_client
