#include "web/stack_maker.h"

namespace mixstack::web_test {
namespace {

/// Of 1000 samples of Main: so many in each.
struct Split {
  unsigned price = 600, sort = 300;
};

Recording recording_of(Split split) {
  StackMaker maker;
  const std::uint32_t main_thread = maker.thread("dotnet", "Main"), waiter = maker.thread(".NET TP Worker", "Waiter");
  const auto managed = [&](const char* name, std::uint32_t line) {
    return maker.frame(maker.function(name, "Shop", CodeKind::managed, true), line, "/srv/shop/Orders.cs");
  };
  const std::uint32_t start = maker.frame(maker.function("_start", "dotnet", CodeKind::native));
  const std::uint32_t host =
      maker.frame(maker.function("coreclr_execute_assembly", "libcoreclr.so", CodeKind::runtime));
  const std::uint32_t entry = managed("Shop.Program.Main(string[])", 12);
  const std::uint32_t bridge =
      maker.frame(maker.function("call_back", "libbridge.so", CodeKind::native), 40, "/srv/shop/bridge.c");
  const std::uint32_t middle = maker.stack({start, host, entry, bridge});
  const std::uint32_t price = maker.below(middle, managed("Shop.Orders.Price(Order)", 88));
  const std::uint32_t sort = maker.below(middle, managed("Shop.Orders.Sort(List<Order>)", 121));
  const std::uint32_t native =
      maker.below(middle, maker.frame(maker.function("crunch", "libbridge.so", CodeKind::native)));
  const std::uint32_t wait =
      maker.stack({start,
                   maker.frame(maker.function("System.Threading.WaitHandle.WaitOne()", "System.Private.CoreLib",
                                              CodeKind::managed)),
                   maker.frame(maker.function("futex_wait_queue", "[kernel]", CodeKind::kernel))});
  const std::uint32_t runs = maker.context(main_thread, Activity::running);
  const std::uint32_t runs_in_gc = maker.context(main_thread, Activity::running, true);
  const std::uint32_t waits = maker.context(waiter, Activity::waiting);
  for (unsigned i = 0; i < 1000; i++) {
    const unsigned turn = i * 389 % 1000;  // all parts of the time alike
    maker.sample(i * 10,
                 turn < split.price                ? price
                 : turn < split.price + split.sort ? sort
                                                   : native,
                 i >= 500 && i < 550 ? runs_in_gc : runs);
    maker.sample(i * 10, wait, waits);
  }
  return std::move(maker.recording());
}

}  // namespace

Recording small_recording() {
  Recording recording = recording_of({600, 300});
  recording.facts.account.lost_in_queue = 7;
  recording.facts.notes = {"perf events were not allowed (perf_event_paranoid is 3): threads were stopped instead"};
  return recording;
}

Recording faster_recording() { return recording_of({750, 150}); }

Recording several_recording() {
  StackMaker maker;
  Recording several;
  several.facts = maker.recording().facts;
  maker.recording() = std::move(several);
  const std::uint32_t work = maker.stack({maker.frame(maker.function("main", "app", CodeKind::native)),
                                          maker.frame(maker.function("Work()", "App", CodeKind::managed, true))});
  for (std::uint32_t pid = 1; pid <= 5; pid++) {
    maker.process(pid, "worker");
    maker.sample(pid, work, maker.context(maker.thread("worker", ""), Activity::running), 10 * pid);
  }
  return std::move(maker.recording());
}

Recording hostile_recording() {
  StackMaker maker("dotnet </script><script>document.title='owned'</script> <img src=x onerror=alert(1)>");
  Recording& recording = maker.recording();
  recording.facts.notes = {"<b>bold</b> \x1b[31mred\x1b[0m"};
  const std::uint32_t thread = maker.thread("\"><i>", "</script><svg onload=alert(1)>");
  const std::uint32_t context = maker.context(thread, Activity::running);
  const char* const names[] = {"</script><script>document.title='owned'</script>",
                               "<img src=x onerror=document.title='owned'>",
                               "a\xe2\x80\xae"
                               "drawkcab\xe2\x80\xac",
                               "line\nbreak\ttab\r\x01\x7f",
                               "not \xff\xfe UTF-8 \xc3",
                               "&amp;&lt;]]>-->",
                               "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d.Shalom()",
                               "${alert(1)} `x` @SCRIPT@ @TITLE@",
                               "__proto__",
                               "constructor",
                               "1e999",
                               " "};
  std::uint64_t time = 0;
  for (const char* const name : names) {
    const std::uint32_t frame = maker.frame(maker.function(name, name, CodeKind::managed, true), 1, name);
    for (int i = 0; i < 100; i++) maker.sample(time++, maker.stack({frame}), context);
  }
  std::string huge(20000, 'x');
  maker.sample(time, maker.stack({maker.frame(maker.function(huge, "big", CodeKind::unknown))}), context, 100);
  std::uint32_t deep = 0;
  const std::uint32_t again = maker.frame(maker.function("Recursive(int)", "big", CodeKind::managed, true));
  for (int i = 0; i < 5000; i++) deep = maker.below(deep, again);
  maker.sample(time, deep, context, 300);
  return std::move(recording);
}

}  // namespace mixstack::web_test
