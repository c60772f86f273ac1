#include "output/report/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "support/golden.h"
#include "support/sample_dump.h"

namespace mixstack::report {
namespace {

using nlohmann::json;
using testing::expect_golden;
using testing::sample_dump;

std::string json_of(const ProcessDump& dump, const ReportOptions& options = {}) {
  return collect([&](Writer& out) { write_json(out, dump, options); });
}

TEST(Json, Golden) { expect_golden("report/plain.json", json_of(sample_dump())); }

TEST(Json, EverythingOn) {
  ProcessDump dump = sample_dump();
  Registers registers(Arch::x86_64);
  registers.set(x86_64_reg::rip, 0x1234);
  dump.threads[0].trace.registers = {registers};
  dump.threads[0].trace.frames[0].registers = 1;
  dump.threads[0].trace.evidence = {{StepperId::managed, {ErrorCode::not_found, 0, 0}, 0},
                                    {StepperId::eh_frame, {}, 0}};
  dump.runtimes[0].walkable = false;
  dump.runtimes[0].missing.push_back({{ErrorCode::contract_unsupported, 0, 9}, "Thread", "version 9"});
  ReportOptions options;
  options.merge = options.explain = options.registers = true;
  expect_golden("report/everything.json", json_of(dump, options));
}

TEST(Json, AsyncCallers) {
  ProcessDump dump = sample_dump();
  dump.threads[0].async_callers = {{{}, 3, 0x1000, 2}, {{}, 1000, 0x2000, -1}};
  const json thread = json::parse(json_of(dump))["threads"][0];
  ASSERT_EQ(thread["async_callers"].size(), 2u);
  EXPECT_EQ(thread["async_callers"][0]["name"], "Shop.Cart.Add(Int32)");
  EXPECT_EQ(thread["async_callers"][0]["line"], 42);
  EXPECT_EQ(thread["async_callers"][0]["ip"], nullptr);
  EXPECT_EQ(thread["async_callers"][0]["await"], 2);
  EXPECT_EQ(thread["async_callers"][1]["box"], "0x2000");
  EXPECT_FALSE(json::parse(json_of(sample_dump()))["threads"][0].contains("async_callers"));
}

TEST(Json, ArgumentsOfFrames) {
  ProcessDump dump = sample_dump();
  ProgramValue count{"count", "int", ValueState::told, "3", 0, {}, {}};
  dump.threads[0].arguments = {{3, {count}}, {9999, {count}}};
  ReportOptions options;
  options.arguments = true;
  const json document = json::parse(json_of(dump, options));
  const json& frames = document.at("threads").at(0).at("frames");
  EXPECT_EQ(frames.at(3).at("arguments").at(0).at("text"), "3");
  EXPECT_TRUE(frames.at(0).at("arguments").is_null()) << "nothing is told of it";
  EXPECT_FALSE(json::parse(json_of(dump)).at("threads").at(0).at("frames").at(3).contains("arguments"));
}

TEST(Json, PromisedNames) {
  const json document = json::parse(json_of(sample_dump()));
  const json& thread = document.at("threads").at(0);
  EXPECT_EQ(thread.at("tid"), 4711);
  EXPECT_EQ(thread.at("name"), ".NET TP Worker");
  EXPECT_EQ(thread.at("stop_reason"), "end_of_stack");
  const json& native = thread.at("frames").at(0);
  EXPECT_EQ(native.at("kind"), "native");
  EXPECT_EQ(native.at("ip"), "0x7f12ab10d19d");
  EXPECT_EQ(native.at("sp"), "0x7f0000001000");
  EXPECT_EQ(native.at("name"), "syscall");
  EXPECT_EQ(native.at("module"), "libc.so.6");
  EXPECT_TRUE(native.at("file").is_null());
  EXPECT_TRUE(native.at("line").is_null());
  EXPECT_EQ(thread.at("frames").at(1).at("kind"), "runtime");
  const json& managed = thread.at("frames").at(3);
  EXPECT_EQ(managed.at("kind"), "managed");
  EXPECT_EQ(managed.at("name"), "Shop.Cart.Add(Int32)");
  EXPECT_EQ(managed.at("raw_name"), "Shop.Cart.<Add>b__0(Int32) + lambda in Add");
  EXPECT_EQ(managed.at("file"), "/src/Shop/Cart.cs");
  EXPECT_EQ(managed.at("line"), 42);
  EXPECT_EQ(thread.at("frames").at(4).at("name"), "libcoreclr.so+0x6fa1c5");
  EXPECT_EQ(document.at("threads").at(3).at("stop_reason"), "not_captured");
}

TEST(Json, RepeatsAreToldAndAllFramesStay) {
  const json thread = json::parse(json_of(testing::endless_recursion())).at("threads").at(0);
  EXPECT_EQ(thread.at("frames").size(), 49'005u);
  const json& repeats = thread.at("repeats");
  ASSERT_EQ(repeats.size(), 1u);
  EXPECT_EQ(repeats[0].at("first"), 5);
  EXPECT_EQ(repeats[0].at("period"), 2);
  EXPECT_EQ(repeats[0].at("count"), 24'500);
}

TEST(Json, ExceptionsInFlight) {
  const json managed = json::parse(json_of(sample_dump())).at("threads").at(1).at("managed");
  EXPECT_EQ(managed.at("exception"), "System.InvalidOperationException");
  EXPECT_EQ(managed.at("abort").at("kind"), "unhandled_exception");
  const json& chain = managed.at("exceptions").at(0).at("chain");
  ASSERT_EQ(chain.size(), 3u);
  EXPECT_EQ(chain[0].at("message"), "the cart is\nclosed");
  EXPECT_EQ(chain[0].at("hresult"), "0x80131509");
  EXPECT_TRUE(chain[0].at("inner_of").is_null());
  EXPECT_EQ(chain[0].at("thrown_at").at(0).at("name"), "Shop.Cart.Add(Int32)");
  EXPECT_TRUE(chain[1].at("message").is_null());
  EXPECT_EQ(chain[2].at("inner_of"), 1);
  EXPECT_EQ(chain[2].at("error").at("code"), "mismatch");
}

TEST(Json, OfAThreadThatIsOnlyListedNothingElseIsSaid) {
  ProcessDump dump = sample_dump();
  dump.threads[0].managed.emplace().is_only_listed = true;
  const json managed = json::parse(json_of(dump)).at("threads").at(0).at("managed");
  for (const char* field : {"id", "name", "gc_mode", "state", "allocated_bytes", "exception", "abort"})
    EXPECT_TRUE(managed.at(field).is_null()) << field;
}

TEST(Json, EveryByteInANameGivesValidJson) {
  ProcessDump dump = sample_dump();
  std::string all;
  for (int c = 0; c < 256; c++) all += static_cast<char>(c);
  all += "\xed\xa0\x80 \xf4\x90\x80\x80 \xc0\xaf \xe2\x82";
  for (SymbolInfo& s : dump.symbols)
    s.name = s.raw_name = s.module = s.module_path = s.file = s.note = s.build_id = all;
  for (ThreadDump& t : dump.threads) {
    t.comm = all;
    t.kernel_state = '\xff';
    if (!t.managed) continue;
    t.managed->name = all;
    for (ExceptionInFlight& e : t.managed->exceptions)
      for (ManagedException& x : e.chain) x.type = x.message = all;
    if (t.managed->abort) t.managed->abort->message = all;
  }
  dump.target.executable = dump.target.command_line[0] = dump.runtimes[0].kind = dump.runtimes[0].version = all;
  dump.diagnoses[0].subject = dump.diagnoses[0].text = all;
  const json document = json::parse(json_of(dump));  // throws on bytes that are no UTF-8
  EXPECT_EQ(document.at("threads").size(), 4u);
  EXPECT_EQ(document.at("threads").at(0).at("name").get<std::string>().substr(0, 3), std::string("\0\1\2", 3));
}

TEST(Json, WhichHandlerAFuncletIs) {
  ProcessDump dump = sample_dump();
  auto& frames = dump.threads[0].trace.frames;
  frames[2].funclet = FuncletKind::filter;
  frames[3].funclet = FuncletKind::unknown;
  const json made = json::parse(json_of(dump)).at("threads").at(0).at("frames");
  EXPECT_EQ(made.at(2).at("funclet"), "filter");
  EXPECT_EQ(made.at(2).at("is_funclet"), true);
  EXPECT_EQ(made.at(3).at("funclet"), "funclet");
  EXPECT_TRUE(made.at(0).at("funclet").is_null());
  EXPECT_EQ(made.at(0).at("is_funclet"), false);
}

TEST(Json, FramesWithoutAnyNameAreTheirAddress) {
  ProcessDump dump = sample_dump();
  dump.threads[0].symbols = {0, 0, 77};
  const json frames = json::parse(json_of(dump)).at("threads").at(0).at("frames");
  EXPECT_EQ(frames.at(0).at("name"), "0x7f12ab10d19d");
  EXPECT_EQ(frames.at(2).at("name"), "0x7f12a0001234");
  EXPECT_EQ(frames.at(3).at("raw_name"), "");
  EXPECT_EQ(frames.at(0).at("named"), false);
}

TEST(Json, KeysAreUnique) {
  std::vector<std::set<std::string>> open;
  const auto check = [&open](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key) {
      EXPECT_TRUE(open.back().insert(parsed.get<std::string>()).second) << parsed;
    }
    return true;
  };
  ReportOptions options;
  options.merge = options.explain = options.registers = true;
  EXPECT_FALSE(json::parse(json_of(sample_dump(), options), check).is_discarded());
}

}  // namespace
}  // namespace mixstack::report
