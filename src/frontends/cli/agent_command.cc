#include "frontends/cli/agent_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "agent/client/agent_client.h"
#include "agent/client/agent_status.h"
#include "agent/protocol/protocol.h"
#include "base/system/proc_mount.h"
#include "frontends/cli/end_signals.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/output_place.h"
#include "frontends/cli/profile_file.h"
#include "output/report/escape.h"
#include "output/report/profile_report.h"
#include "output/report/words.h"

namespace mixstack::cli {
namespace {

using agent_client::AgentClient;
using agent_client::TargetPlace;
using Verb = AgentArguments::Verb;

ExitCode exit_code_of(const Error& error) {
  if (error == base::other_pid_namespace_error()) return ExitCode::resources;
  switch (error.code) {
    case ErrorCode::no_such_process:
      return ExitCode::no_such_process;
    case ErrorCode::permission_denied:
      return ExitCode::permission;
    case ErrorCode::already_traced:
      return ExitCode::already_traced;
    case ErrorCode::process_changed:
      return ExitCode::process_changed;
    case ErrorCode::not_found:
    case ErrorCode::unsupported:
    case ErrorCode::mismatch:
    case ErrorCode::malformed:
      return ExitCode::unsupported;
    default:
      return ExitCode::internal;
  }
}

ExitCode complain(const Environment& environment, const Diagnosis& why) {
  const std::string system =
      why.error.os_error == 0 ? "" : " (" + std::generic_category().message(why.error.os_error) + ")";
  FdOutput(environment.err).write(fmt::format("mixstack: {}{}\n", report::escape_for_terminal(why.text), system));
  return exit_code_of(why.error);
}

ExitCode print(const Environment& environment, std::string_view text) {
  FdOutput out(environment.out);
  out.write(text);
  if (out.error() == 0) return ExitCode::ok;
  FdOutput(environment.err)
      .write(fmt::format("mixstack: cannot write: {}\n", std::generic_category().message(out.error())));
  return ExitCode::output;
}

ExitCode print_status(const AgentArguments& arguments, const Environment& environment,
                      const agent_client::Outcome<agent_link::Report>& report) {
  if (!report) return complain(environment, report.error());
  return print(environment, arguments.verb == Verb::status && arguments.json
                                ? agent_client::status_json(arguments.pid, *report)
                                : agent_client::status_text(arguments.pid, *report));
}

/// Makes a relative path absolute: the process has another working folder.
std::string absolute(const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  std::string folder(4096, '\0');
  if (::getcwd(folder.data(), folder.size()) == nullptr) return path;
  folder.resize(folder.find('\0'));
  return folder + "/" + path;
}

/// The agent's settings, in its lines of NAME=VALUE.
std::string settings_of(const AgentArguments& arguments) {
  std::string text =
      fmt::format("MIXSTACK_AGENT_HZ={}\nMIXSTACK_AGENT_WALL={}\n", arguments.cpu_hertz, arguments.wall_hertz);
  if (arguments.wall_threads != 0) text += fmt::format("MIXSTACK_AGENT_WALL_THREADS={}\n", arguments.wall_threads);
  if (arguments.native_only) text += "MIXSTACK_HYBRID_UNWINDING=0\n";
  if (arguments.verb == Verb::attach && !arguments.out.empty())
    text += fmt::format("MIXSTACK_AGENT_OUT={}\nMIXSTACK_AGENT_FORMAT={}\n", absolute(arguments.out),
                        arguments.json ? "json" : "collapsed");
  return text;
}

ExitCode attach(const AgentArguments& arguments, const Environment& environment, const TargetPlace& place) {
  const std::string settings = settings_of(arguments);
  auto attached = agent_client::connect_or_attach(place, arguments.library, settings, arguments.timeout);
  if (!attached) return complain(environment, attached.error());
  const bool wants_samples = arguments.cpu_hertz != 0 || arguments.wall_hertz != 0;
  auto report = attached->is_new || !wants_samples ? attached->client.status() : attached->client.start(settings);
  if (!report && report.error().error.code == ErrorCode::already_traced)
    report.error().text += fmt::format(
        " ('mixstack agent status {0}'). To sample otherwise: 'mixstack agent stop {0}' first", arguments.pid);
  if (report && wants_samples && !report->is_sampling)
    return complain(environment,
                    {{ErrorCode::internal, 0, 0},
                     {},
                     fmt::format("the agent was loaded into process {}, but could not begin to sample: no memory or "
                                 "no thread is left for it",
                                 arguments.pid)});
  return print_status(arguments, environment, report);
}

ExitCode write_profile(const AgentArguments& arguments, const Environment& environment, const Profile& profile) {
  return write_profile_file(
      arguments.out.empty() ? "-" : arguments.out, true, environment, [&](report::Writer& writer) {
        arguments.json ? report::write_profile_json(writer, profile) : report::write_collapsed(writer, profile);
      });
}

ExitCode record(const AgentArguments& arguments, const Environment& environment, const TargetPlace& place) {
  // Checked before recording, so that no recording is lost.
  if (!arguments.out.empty() && arguments.out != "-") {
    if (const std::string fault = fault_of_place(arguments.out); !fault.empty()) {
      FdOutput(environment.err).write("mixstack: " + fault + "\n");
      return ExitCode::output;
    }
  }
  // Attached without a rate: the record request starts sampling, and its end stops it.
  auto attached = agent_client::connect_or_attach(place, arguments.library, {}, arguments.timeout);
  if (!attached) return complain(environment, attached.error());
  const EndSignals signals;
  const auto time =
      arguments.duration.count() == 0 ? std::chrono::milliseconds(std::chrono::hours(24 * 365)) : arguments.duration;
  const auto recording = attached->client.record(settings_of(arguments), time, [&] { return signals.wait(0) != 0; });
  if (!recording) return complain(environment, recording.error());
  const ExitCode written = write_profile(arguments, environment, recording->profile);
  const ProfileAccount& a = recording->profile.account;
  FdOutput errors(environment.err);
  if (recording->profile.cpu_hertz != arguments.cpu_hertz || recording->profile.wall_hertz != arguments.wall_hertz)
    errors.write(fmt::format(
        "mixstack: the agent sampled already, at {} Hz of CPU time and {} Hz of wall time: this is what was recorded\n",
        recording->profile.cpu_hertz, recording->profile.wall_hertz));
  errors.write(fmt::format("mixstack: {}, {} cut, {} lost, {} lost on their way\n",
                           report::counted(a.samples, "sample"), a.cut, a.lost, a.lost_on_way));
  if (written != ExitCode::ok) return written;
  if (recording->is_whole) return ExitCode::ok;
  errors.write(fmt::format("mixstack: the recording of process {} ended early: {}\n", arguments.pid, recording->why));
  return ExitCode::partial;
}

}  // namespace

ExitCode run_agent(const AgentArguments& arguments, const Environment& environment) {
  const auto place = agent_client::place_of(arguments.pid);
  if (!place) return complain(environment, place.error());
  if (place->state == 'T' || place->state == 't')
    return complain(
        environment,
        {{ErrorCode::unsupported, 0, 0},
         {},
         fmt::format("process {0} is stopped and cannot answer: let it go on (kill -CONT {0}, or detach the "
                     "debugger)",
                     arguments.pid)});
  if (place->state == 'Z' || place->state == 'X')
    return complain(environment,
                    {{ErrorCode::no_such_process, 0, 0}, {}, fmt::format("process {} has ended", arguments.pid)});
  if (arguments.verb == Verb::attach) return attach(arguments, environment, *place);
  if (arguments.verb == Verb::record) return record(arguments, environment, *place);
  auto client = AgentClient::connect(*place);
  if (!client) return complain(environment, client.error());
  return print_status(arguments, environment, arguments.verb == Verb::stop ? client->stop() : client->status());
}

}  // namespace mixstack::cli
