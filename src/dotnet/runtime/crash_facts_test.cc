#include "dotnet/runtime/crash_facts.h"

#include <gtest/gtest.h>

#include "support/fake_exceptions.h"

namespace mixstack::dotnet {
namespace {

using names::FakeExceptions;
using Kind = RuntimeAbort::Kind;

constexpr std::string_view kRuntime = "/usr/share/dotnet/libcoreclr.so";

/// A thread of a runtime with exceptions, and a named stack.
class CrashFacts : public ::testing::Test {
 protected:
  CrashFacts() {
    auto& l = heap_.layouts.exception_info;
    l.previous_nested_info.offset = 0, l.thrown_object.offset = 8;
    runtime_.module_path = kRuntime;
    symbols_.resize(1);
  }
  /// The thread handles these, newest first.
  void handle(const std::vector<Address>& objects) {
    Address next = 0;
    for (auto it = objects.rbegin(); it != objects.rend(); ++it) {
      const Address info = heap_.place(), cell = heap_.place();
      heap_.put_words(cell, {*it});
      heap_.put_words(info, {next, cell});
      next = info;
    }
    thread_.exception_tracker = next;
  }
  void last_thrown(Address object) {
    thread_.last_thrown_handle = heap_.place();
    heap_.put_words(thread_.last_thrown_handle, {object});
  }
  ManagedThreadFacts read() {
    names::MethodNames names(heap_.runtime(), {});
    names::ExceptionReader reader(heap_.runtime(), nullptr, names);
    ManagedThreadFacts facts;
    read_exceptions(heap_.runtime(), thread_, reader, facts);
    return facts;
  }
  void frame(FrameKind kind, std::string name, std::string module_path, Address sp = 0, Address cfa = 0) {
    SymbolInfo symbol;
    symbol.name = symbol.raw_name = std::move(name);
    symbol.module_path = module_path;
    symbol.module = std::move(module_path);
    dump_.symbols.push_back(static_cast<std::uint32_t>(symbols_.size()));
    symbols_.push_back(std::move(symbol));
    Frame f;
    f.sp = sp;
    f.kind = kind;
    f.cfa = cfa;
    dump_.trace.frames.push_back(f);
  }
  std::optional<RuntimeAbort> explain(ManagedThreadFacts facts) {
    dump_.managed = std::move(facts);
    explain_abort(heap_.runtime(), runtime_, symbols_, dump_);
    return dump_.managed->abort;
  }
  void native(std::string name, std::string_view module = kRuntime) {
    frame(FrameKind::native, std::move(name), std::string(module));
  }
  void managed(std::string name) { frame(FrameKind::managed, std::move(name), "app"); }
  void fail_fast(const std::vector<std::uint64_t>& words) {
    const Address sp = heap_.place(8 * words.size());
    heap_.put_words(sp, words);
    frame(FrameKind::managed, "System.Environment.FailFast(StackCrawlMarkHandle, String)", "System.Private.CoreLib", sp,
          sp + 8 * words.size());
  }

  FakeExceptions heap_;
  RuntimeSummary runtime_;
  ManagedThread thread_;
  std::vector<SymbolInfo> symbols_;
  ThreadDump dump_;
};

TEST_F(CrashFacts, ExceptionsNewestFirst) {
  const Address newest = heap_.object(heap_.mine, 0, 0), older = heap_.object(heap_.exception, 0, 0);
  handle({newest, 0, older});  // the second has no object yet
  const auto facts = read();
  ASSERT_EQ(facts.exceptions.size(), 2u);
  EXPECT_EQ(facts.exception_type(), "Ns.Mine");
  EXPECT_EQ(facts.exceptions[1].chain[0].object, older);
  EXPECT_FALSE(facts.exceptions_are_cut);
  EXPECT_FALSE(facts.abort);
  handle(std::vector<Address>(40, older));
  EXPECT_EQ(read().exceptions.size(), kMaxNestedExceptions);
  EXPECT_TRUE(read().exceptions_are_cut);
}

TEST_F(CrashFacts, TheLastExceptionThrownIsUsuallyOver) {
  last_thrown(heap_.object(heap_.exception, 0, 0));
  EXPECT_TRUE(read().exceptions.empty());
  EXPECT_FALSE(read().abort);
  // Somebody threw the dying runtime's types himself.
  last_thrown(heap_.object(heap_.overflow, heap_.text(u"mine"), 0));
  EXPECT_FALSE(read().abort);
  last_thrown(heap_.object(heap_.engine, 0, 0, heap_.trace(1)));
  EXPECT_FALSE(read().abort);
  last_thrown(0xdead0000);
  EXPECT_FALSE(read().abort);
}

TEST_F(CrashFacts, ADyingRuntimeLeavesItsMark) {
  last_thrown(heap_.object(heap_.overflow, 0, 0));
  EXPECT_EQ(read().abort.value().kind, Kind::stack_overflow);
  const Address given = heap_.object(heap_.mine, 0, 0);
  last_thrown(heap_.object(heap_.engine, 0, given));
  const auto facts = read();
  EXPECT_EQ(facts.abort.value().kind, Kind::runtime_failure);
  ASSERT_EQ(facts.exceptions.size(), 1u);
  EXPECT_EQ(facts.exceptions[0].chain[0].object, given);
  handle({given});  // what FailFast was given is being handled anyway
  EXPECT_EQ(read().exceptions.size(), 1u);
}

TEST_F(CrashFacts, FailFastsMessageIsPinnedInItsFrame) {
  const Address message = heap_.text(u"out of \u2603"), source = heap_.text(u"source"), other = heap_.text(u"other");
  native("abort", "/lib/libc.so.6");
  native("");
  fail_fast({source + 12, 7, message + 12, other, source, message, message + 12});
  const auto abort = explain({});
  ASSERT_TRUE(abort);
  EXPECT_EQ(abort->kind, Kind::fail_fast);
  EXPECT_EQ(abort->message, "source\nout of \u2603");
  EXPECT_TRUE(abort->message_inferred);
}

TEST_F(CrashFacts, WhatIsNoStringIsNoMessage) {
  const Address object = heap_.object(heap_.exception, 0, 0);
  fail_fast({object, object + 12, 12, 0, 0xdead0000, 0xdead000c});
  const auto abort = explain({});
  ASSERT_TRUE(abort);
  EXPECT_EQ(abort->kind, Kind::fail_fast);
  EXPECT_EQ(abort->message, "");
  EXPECT_FALSE(abort->message_inferred);
}

TEST_F(CrashFacts, OnlyTheInnermostManagedFrameOfCoreLibIsFailFast) {
  managed("System.Environment.FailFast(String)");  // somebody else's
  EXPECT_FALSE(explain({}));
}

TEST_F(CrashFacts, UnhandledWhenTheRuntimeItselfAborts) {
  handle({heap_.object(heap_.mine, 0, 0)});
  native("raise", "/lib/libc.so.6");
  native("abort", "/lib/libc.so.6");
  native("");
  managed("App.Throw()");
  EXPECT_EQ(explain(read()).value().kind, Kind::unhandled_exception);
  EXPECT_FALSE(explain({}));  // no exception
}

TEST_F(CrashFacts, AnAbortOfSomebodyElseIsNotTheRuntimes) {
  handle({heap_.object(heap_.mine, 0, 0)});
  native("abort", "/lib/libc.so.6");
  native("give_up", "/lib/libnative.so");
  native("");
  managed("App.Catch()");
  EXPECT_FALSE(explain(read()));
}

TEST_F(CrashFacts, HandlingAnExceptionIsNoEnd) {
  handle({heap_.object(heap_.mine, 0, 0)});
  native("pthread_cond_wait", "/lib/libc.so.6");
  native("");
  managed("App.Catch()");
  EXPECT_FALSE(explain(read()));
}

}  // namespace
}  // namespace mixstack::dotnet
