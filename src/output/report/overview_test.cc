// The parts before and behind the stacks, in the report as a whole.
#include "output/report/overview.h"

#include <gtest/gtest.h>

#include "output/report/fit.h"
#include "output/report/text.h"
#include "output/report/text_threads.h"
#include "support/thread_builder.h"

namespace mixstack::report {
namespace {

using testing::NamedFrame;
using testing::ThreadBuilder;

const NamedFrame kWait{'N', "libc.so.6", "pthread_cond_wait"},
    kStart{'M', "System.Private.CoreLib", "System.Threading.Thread.StartCallback()"},
    kWorker{'M', "System.Private.CoreLib", "System.Threading.PortableThreadPool.WorkerThread.WorkerThreadStart()"},
    kSignal{'M', "System.Private.CoreLib", "System.Threading.LowLevelLifoSemaphore.WaitForSignal(int)"},
    kAdd{'M', "Shop", "Shop.Cart.Add(int)"}, kBuy{'M', "Shop", "Shop.Till.Buy(Cart, string)"};

std::string text_of(const ProcessDump& dump, const ReportOptions& options = {}) {
  return collect([&](Writer& out) { write_text(out, dump, options); });
}

ThreadBuilder service() {
  ThreadBuilder builder;
  builder.add(100, "shop", {kWait, {'M', "Shop", "Program.Main()"}});
  for (ThreadId tid = 110; tid < 113; tid++) builder.add(tid, "w", {kWait, kSignal, kWorker, kStart});
  for (ThreadId tid = 120; tid < 125; tid++) builder.add(tid, "w", {kWait, kAdd, kBuy, kWorker, kStart});
  builder.add(130, "odd", {kWait, {'M', "System.Private.CoreLib", "System.Odd()"}, kStart});
  return builder;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Overview, CodeOfTheProgramComesFirstAndIdleThreadsLast) {
  ThreadBuilder builder = service();
  const std::string text = text_of(builder.dump());
  EXPECT_TRUE(contains(text,
                       "\nCode of the program, innermost:\n"
                       "    5 threads Shop.Cart.Add(int)  from Shop.Till.Buy(…)\n"
                       "    1 thread  Program.Main()\n"))
      << text;
  EXPECT_TRUE(contains(text,
                       "\n3 threads of the runtime's own wait (their stacks: --all)\n"
                       "    3 pool workers wait for work: 110-112\n"));
  EXPECT_FALSE(contains(text, "Thread 110"));
  EXPECT_LT(text.find("Thread 124"), text.find("Thread 130"));  // its own code before a framework's
  const std::string all = text_of(builder.dump(), {.all = true});
  EXPECT_TRUE(contains(all, "Thread 110"));
  EXPECT_FALSE(contains(all, "of the runtime's own"));
}

TEST(Overview, MergedThreadsTellInWhatTheyDiffer) {
  ThreadBuilder builder;
  builder.add(100, "shop", {kWait, kBuy});
  for (ThreadId tid = 1; tid < 6; tid++) {
    ThreadDump& thread = builder.add(tid, tid == 3 ? "third" : "other", {kWait, kAdd, kStart});
    for (std::size_t i = 0; i < 3; i++) thread.trace.frames[i].pc = CodeAddress::after_call(0x7f0000001000 + i);
    thread.managed = ManagedThreadFacts{tid, "", tid > 3, 0, {}, false, {}};
  }
  const std::string text = text_of(builder.dump(), {.merge = true});
  EXPECT_TRUE(contains(text,
                       "5 threads with this stack: sleeping in futex\n  1-5\n"
                       "  name: other 4, third 1 (3)\n  mode: preemptive 3 (1-3), cooperative 2 (4, 5)\n"))
      << text;
}

TEST(Overview, ATreePartsWhereThreadsDo) {
  ThreadBuilder builder;
  builder.add(1, "a", {kWait, kAdd, kBuy, kStart});
  builder.add(2, "b", {kAdd, kBuy, kStart});
  builder.add(3, "c", {kWait, kStart});
  const std::string text = text_of(builder.dump(), {.tree = true});
  const auto at = text.find("\n3 threads, outermost calls first\n");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.substr(at + 1),
            "3 threads, outermost calls first\n"
            "    3 └ System.Threading.Thread.StartCallback()  (System.Private.CoreLib)\n"
            "    2   ├ Shop.Till.Buy(Cart, string)  (Shop)\n"
            "    2   │ Shop.Cart.Add(int)  (Shop)\n"
            "        │   threads 2\n"
            "    1   │ └ pthread_cond_wait  (libc.so.6)\n"
            "        │     threads 1\n"
            "    1   └ pthread_cond_wait  (libc.so.6)\n"
            "            threads 3\n");
}

TEST(Overview, LinesFitATerminal) {
  ThreadBuilder builder = service();
  builder.add(
      200, std::string(15, 'n'),
      {kWait,
       {'M', "Shop", "Shop.Very.Long.Namespace.With<Type, Arguments>.Method<More>(int, string, Dictionary<K, V>)"}});
  builder.last_symbol().file = "/home/somebody/source/repositories/shop/src/Shop/Very/Long/Namespace.cs";
  builder.last_symbol().line = 4711;
  builder.dump().target.command_line = {"/srv/shop/shop", std::string(200, 'x')};
  for (const ReportOptions& options :
       {ReportOptions{.width = 80}, ReportOptions{.merge = true, .width = 80}, ReportOptions{.tree = true, .width = 80},
        ReportOptions{.all = true, .width = 80}}) {
    const std::string text = text_of(builder.dump(), options);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(columns(text.substr(at, end - at)), 80u) << text.substr(at, end - at);
      at = end + 1;
    }
    EXPECT_TRUE(options.tree || contains(text, "Namespace.cs:4711"));
  }
}

TEST(Overview, NumbersInARow) {
  EXPECT_EQ(number_ranges({}), "");
  EXPECT_EQ(number_ranges({7, 3, 4, 5, 9, 10}), "3-5, 7, 9, 10");
  EXPECT_EQ(wrapped("a, bb, ccc, dddd", 8, "  "), "a, bb,\n  ccc,\n  dddd");
}

}  // namespace
}  // namespace mixstack::report
