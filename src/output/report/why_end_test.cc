#include "output/report/why_end.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mixstack::report {
namespace {

/// A core of a process of one thread, whose innermost function has a name.
ProcessDump core_of(std::int32_t signal) {
  ProcessDump dump;
  dump.target.core_path = "/tmp/core";
  if (signal != 0) {
    CrashFacts& crash = dump.target.crash.emplace();
    crash.tid = 12;
    crash.signal = signal;
  }
  dump.symbols.resize(2);
  dump.symbols[1].name = "crash\x1b";
  dump.symbols[1].module = "libc.so.6";
  ThreadDump& thread = dump.threads.emplace_back();
  thread.tid = 12;
  thread.comm = "main";
  thread.captured = true;
  thread.trace.frames.resize(1);
  thread.trace.frames[0].kind = FrameKind::native;
  thread.symbols = {1};
  return dump;
}

void throw_unhandled(ProcessDump& dump) {
  ManagedThreadFacts& managed = dump.threads[0].managed.emplace();
  managed.abort.emplace().kind = RuntimeAbort::Kind::unhandled_exception;
  ManagedException& exception = managed.exceptions.emplace_back().chain.emplace_back();
  exception.type = "Shop.Broken";
  exception.message = "no stock";
}

nlohmann::json json_of(const ProcessDump& dump) {
  return nlohmann::json::parse(collect([&](Writer& out) { write_end_json(out, dump); }));
}

TEST(WhyEnd, OfAProcessAndOfACoreOfOneThatRunsOn) {
  ProcessDump dump = core_of(11);
  dump.target.core_path.clear();
  EXPECT_EQ(end_words(dump), "");
  EXPECT_EQ(end_words(core_of(0)), "");
  EXPECT_TRUE(json_of(core_of(0)).is_null());
}

TEST(WhyEnd, ASignal) {
  ProcessDump dump = core_of(11);
  dump.target.crash->address = 8;
  EXPECT_EQ(end_words(dump), "The process ended by SIGSEGV at 0x8, in thread 12 \"main\" at crash\\x1b, libc.so.6");
  EXPECT_EQ(json_of(dump)["reason"], "signal");
  EXPECT_EQ(json_of(dump)["name"], "SIGSEGV");
  dump.target.crash->tid = 99;
  EXPECT_EQ(end_words(dump), "The process ended by SIGSEGV at 0x8");
}

TEST(WhyEnd, AnExceptionThatNobodyCaught) {
  ProcessDump dump = core_of(6);
  throw_unhandled(dump);
  EXPECT_TRUE(end_words(dump).starts_with(
      "The process ended by SIGABRT: unhandled exception Shop.Broken: no stock, in thread 12 \"main\""))
      << end_words(dump);
  EXPECT_EQ(json_of(dump)["reason"], "unhandled_exception");
  EXPECT_EQ(json_of(dump)["exception"], "Shop.Broken");
  EXPECT_EQ(json_of(dump)["message"], "no stock");
  dump.target.crash.reset();  // createdump may not tell of it
  EXPECT_TRUE(end_words(dump).starts_with("The process ended: unhandled exception Shop.Broken")) << end_words(dump);
}

TEST(WhyEnd, TheThreadThatFailedIsTold) {
  ProcessDump dump = core_of(6);
  dump.threads.push_back(dump.threads[0]);
  dump.threads[1].tid = 13;
  dump.threads[1].managed.emplace().abort.emplace().kind = RuntimeAbort::Kind::fail_fast;
  dump.threads[1].managed->abort->message = "no more";
  EXPECT_TRUE(end_words(dump).starts_with("The process ended by SIGABRT: Environment.FailFast: no more, in thread 13"))
      << end_words(dump);
}

}  // namespace
}  // namespace mixstack::report
