// The page of `mixstack why --html`, and the JSON that it is drawn from.
// Input: a dump with waits, its verdicts and the optional extras. Output: one HTML file whose data block is that JSON.
// Algorithm: `why_page_data` writes verdicts, then threads, then stacks: threads refer to stacks by number, and
// `Stacks` assigns the numbers while the threads are written. Equal stacks get one number, so a pool of hundreds of
// workers costs one stack. Chains of async methods, lines on the GC, pool and timers, and notes on unknown waits
// follow. Parts that the text has too (busy, contended, unmoved) are made by its own functions, so that both agree.
// Bounds: kMostFrames frames of a stack (the innermost and outermost half each), about 1 KiB of the command line, 12
// threads of a suspension; otherwise linear in the dump. All is held in memory once, to be compressed.
#include "output/report/why_html.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "mixstack/report.h"
#include "output/report/frame_view.h"
#include "output/report/json_fields.h"
#include "output/report/page_template.h"
#include "output/report/pending_words.h"
#include "output/report/thread_role.h"
#include "output/report/wait_words.h"
#include "output/report/why_busy.h"
#include "output/report/why_contended.h"
#include "output/report/why_end.h"
#include "output/report/why_slow.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

std::string program_words(const ProcessDump& dump) {
  const std::string& path = dump.target.executable.empty() ? dump.target.comm : dump.target.executable;
  return escape_for_terminal(path);
}

std::string command_words(const ProcessDump& dump) {
  constexpr std::size_t kMost = 1024;
  std::string text;
  for (const std::string& word : dump.target.command_line) {
    text += (text.empty() ? "" : " ") + escape_for_terminal(word.substr(0, kMost));
    if (text.size() > kMost) return text.substr(0, kMost) + "...";
  }
  return text;
}

std::string runtimes_words(const ProcessDump& dump) {
  std::string text;
  for (const RuntimeSummary& r : dump.runtimes)
    text += (text.empty() ? ".NET " : ", .NET ") +
            (r.version.empty() ? "of unknown version" : escape_for_terminal(r.version));
  return text;
}

/// Lines of stacks, each distinct stack once.
class Stacks {
 public:
  explicit Stacks(const ProcessDump& dump) : dump_(dump), user_(user_code_of(dump)) {}

  std::size_t number(const ThreadDump& thread) {
    const std::string json = collect([&](Writer& out) { write(out, thread); });
    const auto [place, is_new] = known_.try_emplace(json, list_.size());
    if (is_new) list_.push_back(json);
    return place->second;
  }
  [[nodiscard]] const std::vector<std::string>& list() const { return list_; }

 private:
  static constexpr std::size_t kMostFrames = 400;  ///< of a stack; deeper ones are shown by both ends

  void write_line(Writer& out, char kind, std::string_view text) const {
    out << "[\"" << std::string_view(&kind, 1) << "\"," << json_string(text) << ']';
  }

  /// Each line has a letter: u(ser), m(anaged), n(ative), s (of the runtime), and i(nlined) for functions that have no
  /// frame of their own.
  void write_frame(Writer& out, const ThreadDump& thread, std::size_t i) const {
    const Frame& frame = thread.trace.frames[i];
    for (const std::uint32_t s : inlined_of(dump_, thread, i)) {
      write_line(out, 'i',
                 frame_text(frame, dump_.symbols[s]) + std::string(inlining_words(dump_.symbols[s].inlining)));
      out << ',';
    }
    const std::string_view kind = kind_name(frame.kind);
    const bool is_user = user_.is_user(symbol_of(dump_, thread, i), frame.kind);
    write_line(out,
               is_user             ? 'u'
               : kind == "managed" ? 'm'
               : kind == "native"  ? 'n'
                                   : 's',
               frame_text(dump_, thread, i));
  }

  void write(Writer& out, const ThreadDump& thread) const {
    const std::size_t frames = thread.trace.frames.size();
    out << '[';
    for (std::size_t i = 0; i < frames; i++) {
      if (i != 0) out << ',';
      if (frames > kMostFrames && i == kMostFrames / 2) {
        write_line(out, 's', fmt::format("... {} frames more ...", frames - kMostFrames));
        out << ',';
        i = frames - kMostFrames / 2;
      }
      write_frame(out, thread, i);
    }
    if (thread.trace.stop != StopReason::end_of_stack || !thread.captured) {
      if (frames != 0) out << ',';
      write_line(out, 's',
                 "(" + std::string(describe(thread.captured ? thread.trace.stop : StopReason::not_captured)) + ")");
    }
    out << ']';
  }

  const ProcessDump& dump_;
  UserCode user_;
  std::map<std::string, std::size_t> known_;
  std::vector<std::string> list_;
};

void write_page_wait(Writer& out, const ThreadWait& wait) {
  JsonObject json(out);
  json.word("kind", to_string(wait.kind));
  json.boolean("likely", wait.proof == Proof::likely);
  json.hex_or_null("object", wait.object.address);
  json.text("type", escape_for_terminal(wait.object.type));
  json.text("detail", escape_for_terminal(wait.object.detail));
  json_array(json.key("owners"), wait.owners, "", [&](ThreadId id) { out.decimal(std::uint64_t{id}); });
  json.close();
}

void write_thread(Writer& out, const ProcessDump& dump, const ThreadDump& thread, Stacks& stacks,
                  const UserCode& user) {
  const ThreadRole role = role_of(dump, thread);
  JsonObject json(out);
  json.number("tid", std::uint64_t{thread.tid});
  json.text("name",
            escape_for_terminal(thread.managed && !thread.managed->name.empty() ? thread.managed->name : thread.comm));
  json.word("role", role_name(role));
  json.boolean("idle", is_idle(dump, thread, role, user));
  std::string doing = wait_words(dump, thread);
  if (doing.empty()) doing = thread.kernel_state == 'R' ? "runs" : std::string(kernel_state_words(thread.kernel_state));
  json.text("doing", doing);
  json.text("place", place_words(dump, thread));
  json.number("stack", std::uint64_t{stacks.number(thread)});
  if (thread.wait) {
    write_page_wait(json.key("wait"), *thread.wait);
  } else {
    json.null("wait");
  }
  json.close();
}

void write_method(Writer& out, const AsyncStep& method) {
  JsonObject json(out);
  json.text("method", escape_for_terminal(short_method(method.method)));
  json.text("whole", escape_for_terminal(method.method));
  json.hex("box", method.box);
  json.close();
}

void write_chain(Writer& out, const ProcessDump& dump, const AsyncChain& chain) {
  JsonObject json(out);
  json.number("waiter", std::uint64_t{chain.waiter});
  json.number("runner", std::uint64_t{chain.runner});
  json.text("words", chain_words(dump, chain) + due_words(chain));
  json.text("group", chain_words(dump, chain));
  json_array(json.key("steps"), chain.steps, "", [&](const AsyncStep& s) { write_method(out, s); });
  json.word("end", to_string(chain.end));
  json.hex_or_null("awaited", chain.awaited.address);
  json.text("awaited_type", escape_for_terminal(chain.awaited.type));
  json.close();
}

/// Work that is on no thread's stack, in words: suspensions, the thread pool, timers.
std::vector<std::string> lines_of(const ProcessDump& dump) {
  std::vector<std::string> lines;
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (runtime.suspension) {
      std::string text = "GC: thread " + thread_words(dump, runtime.suspension->by);
      text += runtime.suspension->waits_for.empty() ? " has stopped the runtime's threads"
                                                    : " stops the runtime's threads and waits for ";
      for (std::size_t i = 0; i < runtime.suspension->waits_for.size() && i < 12; i++)
        text += (i == 0 ? "" : ", ") + thread_words(dump, runtime.suspension->waits_for[i]);
      lines.push_back(text);
    }
    if (!runtime.pending) continue;
    if (runtime.pending->pool) lines.push_back("thread pool: " + pool_words(dump, *runtime.pending->pool));
    if (runtime.pending->timers && runtime.pending->timers->count != 0)
      lines.push_back("timers: " + timer_words(*runtime.pending->timers));
    if (runtime.pending->has_more_chains) lines.push_back("There are more chains of async methods than are shown.");
  }
  return lines;
}

std::vector<std::string> notes_of(const ProcessDump& dump) {
  std::vector<std::string> notes;
  for (const Diagnosis& d : dump.diagnoses)
    if (d.subject == kWaitsSubject) notes.push_back("Not known: " + escape_for_terminal(d.text));
  return notes;
}

void write_verdicts(Writer& out, const ProcessDump& dump, std::span<const Verdict> verdicts) {
  json_array(out, verdicts, "\n", [&](const Verdict& v) {
    JsonObject verdict(out);
    verdict.word("kind", verdict_name(v.kind));
    verdict.boolean("certain", v.is_certain);
    verdict.text("words", verdict_words(dump, v));
    json_array(verdict.key("steps"), v.steps, "", [&](const VerdictStep& s) { out.decimal(std::uint64_t{s.thread}); });
    json_array(verdict.key("methods"), v.methods, "", [&](const AsyncStep& m) { write_method(out, m); });
    verdict.close();
  });
}

void write_chains(Writer& out, const ProcessDump& dump) {
  std::vector<const AsyncChain*> chains;
  for (const RuntimeSummary& runtime : dump.runtimes)
    if (runtime.pending)
      for (const AsyncChain& chain : runtime.pending->chains)
        if (!chain_words(dump, chain).empty()) chains.push_back(&chain);
  json_array(out, chains, "\n", [&](const AsyncChain* chain) { write_chain(out, dump, *chain); });
}

void write_extras(JsonObject& json, const ProcessDump& dump, const WhyExtras& extras) {
  json.text("nothing", nothing_words(dump, extras.contended));
  json.text("end", end_words(dump));
  json.text("contended", collect([&](Writer& text) {
              Painter painter(text, false);
              write_contended(painter, dump, extras.contended);
            }));
  json.text("slow", collect([&](Writer& text) {
              Painter painter(text, false);
              write_causes_text(painter, extras.causes);
            }));
  json.text("health", extras.health == nullptr ? std::string() : health_words(*extras.health));
  if (extras.busy != nullptr) {
    json.text("busy_words", collect([&](Writer& text) {
                Painter painter(text, false);
                write_busy_text(painter, *extras.busy);
              }));
    write_busy_json(json.key("busy"), *extras.busy);
  } else {
    json.null("busy");
  }
  json.text("unmoved", extras.unmoved == nullptr ? std::string() : collect([&](Writer& text) {
              Painter painter(text, false);
              write_unmoved_text(painter, dump, *extras.unmoved);
              for (const std::string& change : extras.changes) text << "Changed: " << change << '\n';
            }));
}

}  // namespace

std::string why_page_data(const ProcessDump& dump, std::span<const Verdict> verdicts, const WhyExtras& extras) {
  return collect([&](Writer& out) {
    Stacks stacks(dump);
    const UserCode user = user_code_of(dump);
    JsonObject json(out);
    json.number("pid", std::uint64_t{dump.target.pid});
    json.boolean("core", !dump.target.core_path.empty());
    json.text("program", program_words(dump));
    json.text("command", command_words(dump));
    json.text("runtimes", runtimes_words(dump));
    json.boolean("known", knows_waits(dump));
    write_verdicts(json.key("verdicts"), dump, verdicts);
    json_array(json.key("threads"), dump.threads, "\n",
               [&](const ThreadDump& t) { write_thread(out, dump, t, stacks, user); });
    json_array(json.key("stacks"), stacks.list(), "\n", [&](const std::string& stack) { out << stack; });
    write_chains(json.key("chains"), dump);
    json_array(json.key("lines"), lines_of(dump), "", [&](const std::string& line) { out << json_string(line); });
    json_array(json.key("notes"), notes_of(dump), "", [&](const std::string& note) { out << json_string(note); });
    write_extras(json, dump, extras);
    json.close();
  });
}

void write_why_html(Writer& out, const ProcessDump& dump, std::span<const Verdict> verdicts, const WhyExtras& extras) {
  const std::string title = fmt::format("why {} {}", dump.target.pid, program_words(dump));
  write_page(out, why_template(), {title, false, [&](Writer& data) {
                                     write_page_block(data, "data-why", why_page_data(dump, verdicts, extras));
                                   }});
}

}  // namespace mixstack::report
