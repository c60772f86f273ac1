// Async methods that the runtime suspends itself (runtime-async, a preview of .NET 10; DOTNET_RuntimeAsync=1):
//   RuntimeAsync starved  both workers of the thread pool wait for what it has queued
//   RuntimeAsync deadlock a thread holds a lock and waits for a method that wants it
//   RuntimeAsync kept     a thread waits for methods that keep parameters and local variables
//   RuntimeAsync COUNT    so many of each kind that nothing but the heap knows, and one of each that a thread waits for
// Says what there is: lines "TRUTH count methods, outermost first, and what the last awaits". Then answers "quit".
using Shop;

if (args is ["starved"])
{
    Starved.Begin();
    Console.WriteLine($"READY {Environment.ProcessId}");
    Console.ReadLine();
    return;
}
if (args is ["deadlock"])
{
    Deadlock.Begin();
    Console.WriteLine($"READY {Environment.ProcessId}");
    Console.ReadLine();
    return;
}
if (args is ["kept"])
{
    TaskCompletionSource<int> never = new();
    Shop.Kept.Begin(never.Task);
    Console.WriteLine($"READY {Environment.ProcessId}");
    Console.ReadLine();
    GC.KeepAlive(never);
    return;
}
int count = args.Length > 0 ? int.Parse(args[0]) : 10;
List<object> kept = [];
Task<int> Never()
{
    TaskCompletionSource<int> source = new();
    kept.Add(source);
    return source.Task;
}
Task<object> NeverAny()
{
    TaskCompletionSource<object> source = new();
    kept.Add(source);
    return source.Task;
}
SemaphoreSlim semaphore = new(0);
ManualResetEventSlim ready = new();
Task<int> shared = Db.ReadRow(Never());
(string Truth, Func<Task> Begin, int Times)[] kinds =
[
    ("OrderApi.GetOrder > PriceService.Load > Db.ReadRow promise", () => OrderApi.GetOrder(4711, Never()), 1),
    ("Chains.Delayed > Chains.Slowly > Chains.Slower delay", Chains.Delayed, 1),
    ("Chains.Entered semaphore", () => Chains.Entered(semaphore), 1),
    ("Chains.Both > Db.ReadRow promise", () => Chains.Both(Never(), Never()), 2),
    ("Chains.Yielded > Db.ReadRow promise", () => Chains.Yielded(Never()), 1),
    ("Chains.Kept > Db.ReadRow promise", () => Chains.Kept(shared), 1),
    ("Chains.Fetched > Store.Fetch promise", () => Chains.Fetched(NeverAny()), 1),
    ("Chains.Locals > Db.ReadRow promise", () => Chains.Locals(Never()), 1),
    ("Classic.Above > OrderApi.GetOrder > PriceService.Load > Db.ReadRow promise", () => Classic.Above(Never()), 1),
    ("Classic.Between > Classic.Below promise", () => Classic.Between(Never()), 1),
    ("Classic.Around > Classic.Between > Classic.Below promise", () => Classic.Around(Never()), 1),
];
foreach (var (truth, begin, times) in kinds)
{
    for (int i = 0; i < count; i++)
    {
        kept.Add(begin());
    }
    Console.WriteLine($"TRUTH {count * times} {truth}");
}
void Wait(string truth, Func<Task> begin)
{
    Thread thread = new(() => begin().Wait()) { IsBackground = true, Name = truth.Split(' ')[0] };
    thread.Start();
    while ((thread.ThreadState & ThreadState.WaitSleepJoin) == 0)
    {
        Thread.Sleep(1);
    }
    Console.WriteLine($"TRUTH waited {truth}");
}
foreach (int i in new[] { 0, 1, 8, 10 })
{
    Wait(kinds[i].Truth, kinds[i].Begin);
}
Thread runner = new(() => Chains.Running(ready).Wait()) { IsBackground = true, Name = "waits for one that runs" };
runner.Start();
ready.Wait();
Console.WriteLine("TRUTH waited Chains.Running running");
Thread.Sleep(500);
GC.Collect();
Console.WriteLine($"READY {Environment.ProcessId}");
while (Console.ReadLine() is { } line && line != "quit")
{
}
