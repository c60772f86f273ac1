#include "output/report/json_fields.h"
#include "output/report/wait_words.h"
#include "output/report/why.h"
#include "output/report/why_busy.h"
#include "output/report/why_contended.h"
#include "output/report/why_end.h"
#include "output/report/why_pending.h"
#include "output/report/why_slow.h"

namespace mixstack::report {
namespace {

void write_object(JsonObject& in, const WaitedObject& object) {
  in.hex_or_null("address", object.address);
  in.text_or_null("type", object.type);
  in.text_or_null("detail", object.detail);
}

}  // namespace

void write_wait_json(Writer& out, const ThreadWait& wait) {
  JsonObject json(out);
  json.word("kind", to_string(wait.kind));
  json.word("proof", to_string(wait.proof));
  write_object(json, wait.object);
  json_array(json.key("owners"), wait.owners, "", [&](ThreadId id) { out.decimal(std::uint64_t{id}); });
  json_array(json.key("others"), wait.others, "", [&](const WaitedObject& o) {
    JsonObject other(out);
    write_object(other, o);
    other.close();
  });
  json.number("more_others", std::uint64_t{wait.more_others});
  json.text_or_null("method", wait.method);
  json_array(json.key("processes"), wait.processes, "", [&](const OtherProcess& p) {
    JsonObject process(out);
    process.number("pid", std::uint64_t{p.pid});
    process.number("thread", std::uint64_t{p.thread});
    process.text_or_null("name", p.name);
    process.text_or_null("doing", p.doing);
    process.number("syscall", std::int64_t{p.syscall});
    process.boolean("is_stopped", p.is_stopped);
    process.boolean("holds", p.holds);
    process.word("waits_for_us", p.waits_for_us == OtherProcess::WaitsForUs::no    ? "no"
                                 : p.waits_for_us == OtherProcess::WaitsForUs::may ? "may"
                                                                                   : "is_held_up");
    process.close();
  });
  json.boolean("owner_has_ended", wait.owner_has_ended);
  json.boolean("is_reading", wait.is_reading);
  json.number("waiters", std::uint64_t{wait.waiters});
  if (wait.timeout) {
    json.number("timeout_ms", std::int64_t{wait.timeout->count()});
  } else {
    json.null("timeout_ms");
  }
  json.boolean("gives_up", wait.gives_up);
  json.close();
}

void write_why_json(Writer& out, const ProcessDump& dump, std::span<const Verdict> verdicts, const WhyExtras& extras) {
  JsonObject json(out);
  json.number("pid", std::uint64_t{dump.target.pid});
  json.boolean("is_known", knows_waits(dump));
  json_array(json.key("verdicts"), verdicts, "\n", [&](const Verdict& v) {
    JsonObject verdict(out);
    verdict.word("kind", verdict_name(v.kind));
    verdict.boolean("is_certain", v.is_certain);
    verdict.number("threads", std::uint64_t{v.threads});
    json_array(verdict.key("steps"), v.steps, "", [&](const VerdictStep& s) {
      JsonObject step(out);
      step.number("thread", std::uint64_t{s.thread});
      step.number("waits_for", std::uint64_t{s.waits_for});
      step.close();
    });
    json_array(verdict.key("methods"), v.methods, "", [&](const AsyncStep& m) {
      JsonObject method(out);
      method.text("method", m.method);
      method.hex("box", m.box);
      method.number("state", std::int64_t{m.state});
      method.close();
    });
    verdict.number("cycles", std::uint64_t{v.methods.empty() ? 0 : v.cycles});
    verdict.boolean("may_time_out", v.may_time_out);
    verdict.close();
  });
  write_causes_json(json.key("causes"), extras.causes);
  if (extras.health != nullptr) {
    write_health_json(json.key("health"), *extras.health);
  } else {
    json.null("health");
  }
  json_array(json.key("threads"), dump.threads, "\n", [&](const ThreadDump& t) {
    JsonObject thread(out);
    thread.number("tid", std::uint64_t{t.tid});
    thread.text_or_null("comm", t.comm);
    thread.text_or_null("name", t.managed ? t.managed->name : std::string());
    thread.text_or_null("place", place_words(dump, t));
    if (t.wait) {
      write_wait_json(thread.key("wait"), *t.wait);
    } else {
      thread.null("wait");
    }
    thread.close();
  });
  write_contended_json(json.key("contended"), extras.contended);
  if (const OpenEnd open = find_open_end(dump); open.thread != 0) {
    JsonObject end(json.key("open_end"));
    end.number("thread", std::uint64_t{open.thread});
    end.number("behind", std::uint64_t{open.behind});
    end.close();
  } else {
    json.null("open_end");
  }
  write_end_json(json.key("end"), dump);
  write_pending_json(json, out, dump);
  if (extras.busy != nullptr) {
    write_busy_json(json.key("busy"), *extras.busy);
  } else {
    json.null("busy");
  }
  if (extras.unmoved != nullptr) {
    write_unmoved_json(json.key("unmoved"), *extras.unmoved);
  } else {
    json.null("unmoved");
  }
  json_array(json.key("changes"), extras.changes, "", [&](const std::string& line) { out << json_string(line); });
  json.close();
  out << '\n';
}

}  // namespace mixstack::report
