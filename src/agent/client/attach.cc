#include "agent/client/attach.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "output/report/words.h"

namespace mixstack::agent_client {
namespace {

/// Makes a relative path absolute: the process has another working folder.
std::string absolute(const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  std::string folder(4096, '\0');
  if (::getcwd(folder.data(), folder.size()) == nullptr) return path;
  folder.resize(folder.find('\0'));
  return folder + "/" + path;
}

}  // namespace

std::string settings_text(const AgentSettings& settings) {
  std::string text =
      fmt::format("MIXSTACK_AGENT_HZ={}\nMIXSTACK_AGENT_WALL={}\n", settings.cpu_hertz, settings.wall_hertz);
  if (settings.wall_threads != 0) text += fmt::format("MIXSTACK_AGENT_WALL_THREADS={}\n", settings.wall_threads);
  if (settings.native_only) text += "MIXSTACK_HYBRID_UNWINDING=0\n";
  if (!settings.out.empty())
    text += fmt::format("MIXSTACK_AGENT_OUT={}\nMIXSTACK_AGENT_FORMAT={}\n", absolute(settings.out),
                        settings.json ? "json" : "collapsed");
  return text;
}

Outcome<TargetPlace> answering_place_of(std::uint32_t pid) {
  auto place = place_of(pid);
  if (!place) return place;
  if (place->state == 'T' || place->state == 't')
    return refuse(ErrorCode::unsupported, "process_stopped",
                  fmt::format("process {0} is stopped and cannot answer: let it go on (kill -CONT {0}, or detach the "
                              "debugger)",
                              pid));
  if (place->state == 'Z' || place->state == 'X')
    return refuse(ErrorCode::no_such_process, "ended", fmt::format("process {} has ended", pid));
  return place;
}

Outcome<agent_link::Report> attach(const TargetPlace& place, const std::string& library, const AgentSettings& settings,
                                   std::chrono::milliseconds timeout) {
  const std::string text = settings_text(settings);
  auto attached = connect_or_attach(place, library, text, timeout);
  if (!attached) return tl::unexpected(attached.error());
  const bool wants_samples = settings.cpu_hertz != 0 || settings.wall_hertz != 0;
  auto report = attached->is_new || !wants_samples ? attached->client.status() : attached->client.start(text);
  if (!report && report.error().error.code == ErrorCode::already_traced)
    report.error().text +=
        fmt::format(" ('mixstack agent status {0}'). To sample otherwise: 'mixstack agent stop {0}' first", place.pid);
  if (report && wants_samples && !report->is_sampling)
    return refuse(ErrorCode::internal, "cannot_sample",
                  fmt::format("the agent was loaded into process {}, but could not begin to sample: no memory or "
                              "no thread is left for it",
                              place.pid));
  return report;
}

std::string recording_text(const AgentClient::Recording& recording, const AgentSettings& wanted) {
  const Profile& profile = recording.profile;
  std::string text;
  if (profile.cpu_hertz != wanted.cpu_hertz || profile.wall_hertz != wanted.wall_hertz)
    text = fmt::format(
        "mixstack: the agent sampled already, at {} Hz of CPU time and {} Hz of wall time: this is what was recorded\n",
        profile.cpu_hertz, profile.wall_hertz);
  const ProfileAccount& a = profile.account;
  return text + fmt::format("mixstack: {}, {} cut, {} lost, {} lost on their way\n",
                            report::counted(a.samples, "sample"), a.cut, a.lost, a.lost_on_way);
}

}  // namespace mixstack::agent_client
