#include "output/report/profile_report.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/words/words.h"
#include "output/report/escape.h"
#include "output/report/json_fields.h"

namespace mixstack::report {
namespace {

[[nodiscard]] std::string one_word(const std::string& name) {
  std::string text = escape_for_terminal(name);
  std::replace(text.begin(), text.end(), ';', ':');
  return text;
}

void write_account(Writer& out, const ProfileAccount& account) {
  JsonObject object(out);
  object.number("samples", account.samples);
  object.number("cut", account.cut);
  object.number("lost", account.lost);
  object.number("lost_on_way", account.lost_on_way);
  object.number("ticks_missed", account.missed);
  object.number("threads_postponed", account.postponed);
  object.close();
}

void write_frame(Writer& out, const ProfileFrame& frame) {
  JsonObject object(out);
  object.word("kind", to_string(frame.kind));
  object.text("name", frame.name);
  object.text("module", frame.module);
  object.close();
}

void write_stack(Writer& out, const Profile::Stack& stack, std::uint64_t count) {
  JsonObject object(out);
  object.number("tid", std::uint64_t{stack.tid});
  object.word("state", word_of(stack.state));
  object.word("stop_reason", to_string(stack.stop));
  object.number("count", count);
  object.number("doubtful_frames", std::uint64_t{stack.doubtful});
  object.key("frames");
  json_array(out, stack.frames, "", [&out](std::uint32_t n) { out.decimal(std::uint64_t{n}); });
  object.close();
}

}  // namespace

void write_collapsed(Writer& out, const Profile& profile) {
  std::vector<std::string> names;
  names.reserve(profile.frames().size());
  for (const ProfileFrame& frame : profile.frames()) names.push_back(one_word(frame.name));
  std::map<std::string, std::uint64_t> lines;
  for (const auto& [stack, count] : profile.stacks()) {
    std::string line;
    const auto add = [&line](const std::string& frame) { line += line.empty() ? frame : ";" + frame; };
    if (profile.wall_hertz != 0) add("[" + std::string(word_of(stack.state)) + "]");
    if (stack.stop != StopReason::end_of_stack) add(words::cut_name(stack.stop));
    const std::size_t sure = stack.frames.size() - std::min<std::size_t>(stack.doubtful, stack.frames.size());
    for (std::size_t i = stack.frames.size(); i-- > 0;) {
      add(names[stack.frames[i]]);
      if (i == sure) add("[in doubt up to here]");
    }
    lines[line] += count;
  }
  for (const auto& [line, count] : lines) (out << line << ' ').decimal(count) << '\n';
}

void write_profile_json(Writer& out, const Profile& profile) {
  JsonObject document(out);
  document.word("format", "mixstack-profile");
  document.number("format_version", std::uint64_t{1});
  document.number("pid", std::uint64_t{profile.pid});
  document.text_or_null("runtime", profile.runtime);
  document.number("cpu_hertz", std::uint64_t{profile.cpu_hertz});
  document.number("wall_hertz", std::uint64_t{profile.wall_hertz});
  document.number("duration_ns", profile.duration);
  document.key("account");
  write_account(out, profile.account);
  out << '\n';
  document.key("threads");
  json_array(out, profile.threads, "\n", [&out](const auto& thread) {
    JsonObject object(out);
    object.number("tid", std::uint64_t{thread.first});
    object.text("name", thread.second);
    object.close();
  });
  out << '\n';
  document.key("frames");
  json_array(out, profile.frames(), "\n", [&out](const ProfileFrame& frame) { write_frame(out, frame); });
  out << '\n';
  document.key("stacks");
  json_array(out, profile.stacks(), "\n", [&out](const auto& s) { write_stack(out, s.first, s.second); });
  document.close();
  out << '\n';
}

}  // namespace mixstack::report
