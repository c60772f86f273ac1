#include "output/report/thread_role.h"

#include <gtest/gtest.h>

#include "support/thread_builder.h"

namespace mixstack::report {
namespace {

using testing::ThreadBuilder;

const testing::NamedFrame kWait{'N', "libc.so.6", "pthread_cond_wait"}, kRuntime{'N', "libcoreclr.so", ""},
    kStart{'M', "System.Private.CoreLib", "System.Threading.Thread.StartCallback()"},
    kWorker{'M', "System.Private.CoreLib", "System.Threading.PortableThreadPool.WorkerThread.WorkerThreadStart()"},
    kSignal{'M', "System.Private.CoreLib", "System.Threading.LowLevelLifoSemaphore.WaitForSignal(int)"},
    kUser{'M', "Shop", "Shop.Cart.Add(int)"};

bool idle(ThreadBuilder& builder) {
  const ProcessDump& dump = builder.dump();
  const UserCode user = user_code_of(dump);
  return is_idle(dump, dump.threads.back(), role_of(dump, dump.threads.back()), user);
}

TEST(ThreadRole, WorkersThatWaitAreIdle) {
  ThreadBuilder builder;
  const ThreadDump& thread = builder.add(101, "anything", {kWait, kRuntime, kSignal, kWorker, kStart, kRuntime});
  EXPECT_EQ(role_of(builder.dump(), thread), ThreadRole::pool_worker);
  EXPECT_TRUE(idle(builder));
}

TEST(ThreadRole, WorkersThatWorkAreNot) {
  ThreadBuilder builder;
  builder.add(101, ".NET TP Worker", {kWait, kRuntime, kUser, kWorker, kStart});
  EXPECT_EQ(role_of(builder.dump(), builder.dump().threads.back()), ThreadRole::pool_worker);
  EXPECT_FALSE(idle(builder));
  // Code of frameworks that does more than wait.
  builder.add(
      102, ".NET TP Worker",
      {kWait, {'M', "System.Private.CoreLib", "System.Threading.Tasks.Task.InternalWait(int)"}, kWorker, kStart});
  EXPECT_FALSE(idle(builder));
}

TEST(ThreadRole, NothingThatIsWrongIsIdle) {
  ThreadBuilder builder;
  const auto add = [&](auto&& change) {
    change(builder.add(101, "w", {kWait, kSignal, kWorker, kStart}));
    return idle(builder);
  };
  EXPECT_TRUE(add([](ThreadDump&) {}));
  EXPECT_FALSE(add([](ThreadDump& t) { t.trace.stop = StopReason::no_unwind_info; }));
  EXPECT_FALSE(add([](ThreadDump& t) { t.captured = false; }));
  EXPECT_FALSE(add([](ThreadDump& t) { t.kernel_state = 'R'; }));
  EXPECT_FALSE(add([](ThreadDump& t) { t.kernel_state = 'D'; }));
  EXPECT_FALSE(add([](ThreadDump& t) { t.late = std::chrono::milliseconds(3); }));
  EXPECT_FALSE(add([](ThreadDump& t) { t.managed = ManagedThreadFacts{7, "", true, 0, {}, false, {}}; }));
  EXPECT_FALSE(add([](ThreadDump& t) { t.managed = ManagedThreadFacts{7, "", false, 0, {{}}, false, {}}; }));
  EXPECT_FALSE(add([](ThreadDump& t) { t.trace.frames[1].kind = FrameKind::signal_trampoline; }));
  EXPECT_FALSE(add([&](ThreadDump& t) {
    builder.dump().target.crash = CrashFacts{};
    builder.dump().target.crash->tid = t.tid;
  }));
}

TEST(ThreadRole, NamesCountOnlyWhereNoManagedMethodTells) {
  ThreadBuilder builder;
  EXPECT_EQ(role_of(builder.dump(), builder.add(101, ".NET Finalizer", {kWait, kRuntime})), ThreadRole::finalizer);
  EXPECT_TRUE(idle(builder));
  EXPECT_EQ(role_of(builder.dump(), builder.add(102, ".NET Server GC", {kWait, kUser, kStart})), ThreadRole::other);
  EXPECT_EQ(role_of(builder.dump(), builder.add(103, ".NET Something", {kWait, kRuntime})), ThreadRole::runtime);
  EXPECT_EQ(role_of(builder.dump(), builder.add(100, "shop", {kWait, kUser})), ThreadRole::main);
  EXPECT_FALSE(idle(builder));
  EXPECT_EQ(role_of(builder.dump(), builder.add(104, "mine", {kWait, kUser, kStart})), ThreadRole::other);
}

TEST(ThreadRole, ProcessesWithoutARuntimeHaveNoIdleThreads) {
  ThreadBuilder builder;
  builder.dump().runtimes.clear();
  EXPECT_EQ(role_of(builder.dump(), builder.add(101, ".NET Finalizer", {kWait})), ThreadRole::other);
  EXPECT_FALSE(idle(builder));
}

TEST(UserCodeTest, OfAProgramCompiledAheadOfTime) {
  ProcessDump dump;
  dump.runtimes.resize(1);
  dump.runtimes[0].kind = "NativeAOT";
  dump.runtimes[0].module_path = "/srv/shop/shop";
  const UserCode user = user_code_of(dump);
  const auto is_user = [&](std::string name, std::string raw_name) {
    SymbolInfo symbol;
    symbol.name = std::move(name);
    symbol.raw_name = std::move(raw_name);
    symbol.module_path = "/srv/shop/shop";
    return user.is_user(symbol, FrameKind::native);
  };
  // By the metadata in the program.
  EXPECT_TRUE(is_user("Shop.Cart.Add(int)", "Shop.Cart.Add(int)"));
  EXPECT_TRUE(is_user("Shop.Cart.Add", "Shop.Cart.Add(int)"));  // signatures are not wanted
  EXPECT_TRUE(is_user("Program.Main.lambda()", "Program.<>c.<Main>b__0()"));
  EXPECT_FALSE(is_user("System.Net.Client.<Send>d__3.MoveNext()", "System.Net.Client.<Send>d__3.MoveNext()"));
  EXPECT_FALSE(is_user("Interop.Sys.Read(SafeHandle, byte*, int)", "Interop.Sys.Read(SafeHandle, byte*, int)"));
  // By the linker's symbols.
  EXPECT_TRUE(is_user("shop_Cart__Add", "shop_Cart__Add"));
  EXPECT_FALSE(is_user("S_P_CoreLib_System_String__Concat", "S_P_CoreLib_System_String__Concat"));
  EXPECT_FALSE(is_user("FinalizerStart(void*)", "_ZL14FinalizerStartPv"));
  EXPECT_FALSE(is_user("RhpNewFast__x", "RhpNewFast__x"));
}

TEST(UserCodeTest, IsWhatNoFrameworkHolds) {
  ThreadBuilder builder;
  ProcessDump& dump = builder.dump();
  const UserCode user = user_code_of(dump);
  const auto is_user = [&](std::string module, std::string path, FrameKind kind = FrameKind::managed) {
    SymbolInfo symbol = testing::named("f", std::move(module));
    symbol.module_path = std::move(path);
    return user.is_user(symbol, kind);
  };
  EXPECT_TRUE(is_user("Shop", "/srv/shop/Shop.dll"));
  EXPECT_TRUE(is_user("Npgsql", "/srv/shop/Npgsql.dll"));
  EXPECT_TRUE(is_user("plugin", "/srv/plugins/plugin.dll"));
  EXPECT_TRUE(is_user("generated", ""));  // an assembly that exists in memory only
  EXPECT_FALSE(is_user("", ""));          // a dynamic method
  EXPECT_FALSE(is_user("System.Text.Json", "/srv/shop/System.Text.Json.dll"));
  EXPECT_FALSE(is_user("mscorlib", "/srv/shop/mscorlib.dll"));
  EXPECT_FALSE(is_user("Other", "/usr/share/dotnet/shared/Some.Framework/1.0/Other.dll"));
  EXPECT_TRUE(is_user("libshop.so", "/srv/shop/libshop.so", FrameKind::native));
  EXPECT_FALSE(is_user("libclrjit.so", "/srv/shop/libclrjit.so", FrameKind::native));
  EXPECT_FALSE(is_user("libc.so.6", "/usr/lib/libc.so.6", FrameKind::native));
}

}  // namespace
}  // namespace mixstack::report
