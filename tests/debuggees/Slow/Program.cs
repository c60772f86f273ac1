// A program with the performance fault that its first argument names, or with none ("healthy_..."). No argument lists them.
// "READY <pid>" when the fault shows; then a line of JSON each second with what the program counted itself (Truth.cs).
// It ends on "quit", and by itself after so many seconds as the second argument says (600). Files go to the current folder.
namespace Depot;

internal static class Program
{
    private static readonly Dictionary<string, Action> s_scenarios = new()
    {
        ["healthy_idle"] = Healthy.Idle,
        ["healthy_service"] = Healthy.Service,
        ["healthy_batch"] = Healthy.Batch,
        ["warmup_done"] = Healthy.WarmUp,
        ["hot_method"] = Routes.Start,
        ["hot_recursion"] = Crates.Start,
        ["hot_library"] = Search.Start,
        ["hot_inlined"] = Tariffs.Start,
        ["native_crypto"] = Seals.Start,
        ["native_deflate"] = Archive.Start,
        ["page_faults"] = Frames.Start,
        ["page_faults_file"] = Charts.Start,
        ["processor_and_lock"] = Maps.Start,
        ["allocation"] = Quotes.Start,
        ["allocation_middle_age"] = Parcels.Start,
        ["large_objects"] = Scans.Start,
        ["large_lists"] = Reports.Start,
        ["forced_collections"] = Ledger.StartClosing,
        ["forced_by_timer"] = Ledger.StartSettling,
        ["forced_young"] = Ledger.StartSweeping,
        ["managed_leak"] = Sessions.Start,
        ["managed_leak_callbacks"] = Trips.Start,
        ["native_leak"] = Images.Start,
        ["native_leak_strings"] = Labels.Start,
        ["queue_grows"] = Labeling.Start,
        ["sync_over_async"] = Orders.Start,
        ["sync_over_tasks"] = Batches.Start,
        ["async_delay"] = Shipping.Start,
        ["contended_monitor"] = Stock.Start,
        ["contended_monitor_short"] = Tickets.Start,
        ["contended_lock"] = Gate.Start,
        ["contended_rwlock"] = Catalogue.Start,
        ["deadlock"] = Wagon.Start,
        ["try_enter_pair"] = Berth.Start,
        ["tiny_writes"] = Audit.Start,
        ["tiny_writes_text"] = Trace.Start,
        ["tiny_writes_opened"] = Diary.Start,
        ["tiny_sends"] = Ticker.Start,
        ["fsync_workers"] = Wal.Start,
        ["swallowed_parse"] = Weights.Start,
        ["swallowed_rethrown"] = Customs.Start,
        ["swallowed_async"] = Remote.Start,
        ["compiling_generics"] = Registry.Start,
        ["compiling_expressions"] = Formulas.Start,
        ["children"] = Thumbs.Start,
        ["exceptions_and_collections"] = () =>
        {
            Weights.Start();
            Quotes.Start();
        },
    };

    private static int Main(string[] arguments)
    {
        if (arguments.Length == 0 || !s_scenarios.TryGetValue(arguments[0], out Action? start))
        {
            Console.WriteLine(string.Join('\n', s_scenarios.Keys));
            return arguments.Length == 0 ? 0 : 2;
        }
        int seconds = arguments.Length > 1 ? int.Parse(arguments[1]) : 600;
        start();
        Thread.Sleep(700);  // until what runs often is compiled for good
        Console.WriteLine($"READY {Environment.ProcessId}");
        Truth.Tell(arguments[0], seconds);
        while (Console.ReadLine() is { } line)
        {
            if (line == "quit")
            {
                return 0;
            }
        }
        Thread.Sleep(Timeout.Infinite);
        return 0;
    }
}
