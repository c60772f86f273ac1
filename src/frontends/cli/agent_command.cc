#include <fmt/format.h>
#include <system_error>

#include "agent/client/agent_client.h"
#include "agent/client/agent_status.h"
#include "agent/client/attach.h"
#include "agent/protocol/protocol.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/output.h"
#include "output/files/end_signals.h"
#include "output/files/output_device.h"
#include "output/report/escape.h"
#include "output/report/profile_report.h"

namespace mixstack::cli {
namespace {

using agent_client::AgentClient;
using agent_client::TargetPlace;
using Verb = AgentArguments::Verb;

ExitCode complain(const Environment& environment, const agent_client::Failure& why) {
  const std::string system =
      why.error.os_error == 0 ? "" : " (" + std::generic_category().message(why.error.os_error) + ")";
  return complain(environment, {why.reason, {}, why.error.os_error}, report::escape_for_terminal(why.text) + system,
                  exit_code_of_agent(why.error));
}

/// `record` starts sampling itself, and its end stops it; the process writes no file then.
agent_client::AgentSettings settings_of(const AgentArguments& arguments) {
  const bool attaches = arguments.verb == Verb::attach;
  return {arguments.cpu_hertz,   arguments.wall_hertz,          arguments.wall_threads,
          arguments.native_only, attaches ? arguments.out : "", arguments.json};
}

ExitCode print(const Environment& environment, std::string_view text) {
  FdOutput out(environment.out);
  out.write(text);
  if (out.error() == 0) return ExitCode::ok;
  return complain(environment, {"not_written", {}, out.error()},
                  fmt::format("cannot write: {}", std::generic_category().message(out.error())), ExitCode::output);
}

ExitCode print_status(const AgentArguments& arguments, const Environment& environment,
                      const agent_client::Outcome<agent_link::Report>& report) {
  if (!report) return complain(environment, report.error());
  return print(environment, arguments.verb == Verb::status && arguments.json
                                ? agent_client::status_json(arguments.pid, *report)
                                : agent_client::status_text(arguments.pid, *report));
}

ExitCode write_profile(const AgentArguments& arguments, const Environment& environment, const Profile& profile) {
  return write_file(arguments.out.empty() ? "-" : arguments.out, true, environment, [&](report::Writer& writer) {
    arguments.json ? report::write_profile_json(writer, profile) : report::write_collapsed(writer, profile);
  });
}

ExitCode record(const AgentArguments& arguments, const Environment& environment, const TargetPlace& place) {
  // Checked before recording, so that no recording is lost.
  if (!arguments.out.empty() && arguments.out != "-")
    if (const auto fault = files::fault_of_place(arguments.out); !fault.words.empty())
      return complain(environment, {"no_output", {}, fault.os_error}, fault.words, ExitCode::output);
  // Attached without a rate: the record request starts sampling, and its end stops it.
  auto attached = agent_client::connect_or_attach(place, arguments.library, {}, arguments.timeout);
  if (!attached) return complain(environment, attached.error());
  const files::EndSignals signals;
  const auto time =
      arguments.duration.count() == 0 ? std::chrono::milliseconds(std::chrono::hours(24 * 365)) : arguments.duration;
  const agent_client::AgentSettings settings = settings_of(arguments);
  const auto recording =
      attached->client.record(agent_client::settings_text(settings), time, [&] { return signals.wait(0) != 0; });
  if (!recording) return complain(environment, recording.error());
  const ExitCode written = write_profile(arguments, environment, recording->profile);
  remark(environment, {"recorded"}, agent_client::recording_text(*recording, settings));
  if (written != ExitCode::ok || recording->is_whole) return written;
  return complain(environment, {"ended_early"},
                  fmt::format("the recording of process {} ended early: {}", arguments.pid, recording->why),
                  ExitCode::partial);
}

}  // namespace

ExitCode run_agent(const AgentArguments& arguments, const Environment& environment) {
  const auto place = agent_client::answering_place_of(arguments.pid);
  if (!place) return complain(environment, place.error());
  if (arguments.verb == Verb::attach)
    return print_status(arguments, environment,
                        agent_client::attach(*place, arguments.library, settings_of(arguments), arguments.timeout));
  if (arguments.verb == Verb::record) return record(arguments, environment, *place);
  auto client = AgentClient::connect(*place);
  if (!client) return complain(environment, client.error());
  return print_status(arguments, environment, arguments.verb == Verb::stop ? client->stop() : client->status());
}

}  // namespace mixstack::cli
