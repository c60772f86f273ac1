// What the program knows of itself: events that it counts where they happen, and what the runtime counts for it.
using System.Globalization;
using System.Runtime;
using System.Text;

namespace Depot;

/// <summary>A count of what happens, told as a rate by <see cref="Truth"/>.</summary>
internal sealed class Tally
{
    public static readonly List<Tally> All = [];

    public static readonly Tally Turns = new("turns"), Thrown = new("exceptions"), Forced = new("forced"),
        LargeBytes = new("large_bytes"), NativeBytes = new("native_bytes"), KeptBytes = new("kept_bytes"), Pages = new("pages"),
        Writes = new("writes"), WrittenBytes = new("written_bytes"), Flushes = new("flushes"), Children = new("children"),
        LockWaits = new("lock_waits"), LockWaitMicroseconds = new("lock_wait_us"), Served = new("served"), Queued = new("queued"),
        Instantiations = new("instantiations"), TimedOut = new("timed_out");

    private readonly string _name;
    private long _count, _before;

    private Tally(string name)
    {
        _name = name;
        All.Add(this);
    }

    public void Add(long more = 1) => Interlocked.Add(ref _count, more);

    public long Count => Interlocked.Read(ref _count);

    public void Tell(StringBuilder line, double seconds)
    {
        long now = Count;
        Truth.Append(line, _name, (now - _before) / seconds);
        _before = now;
    }
}

internal static class Truth
{
    private sealed class Rate(string name, Func<double> read)
    {
        private double _before = read();

        public void Tell(StringBuilder line, double seconds)
        {
            double now = read();
            Append(line, name, (now - _before) / seconds);
            _before = now;
        }
    }

    /// <summary>A line each second from a thread of its own: the pool may be what is at fault.</summary>
    public static void Tell(string scenario, int seconds) => Stage.Thread("truth", () => Run(scenario, seconds));

    public static void Append(StringBuilder line, string name, double value) =>
        line.Append(CultureInfo.InvariantCulture, $", \"{name}\": {value:0.###}");

    private static void Run(string scenario, int seconds)
    {
        Rate[] rates =
        [
            new("gen0", () => GC.CollectionCount(0)),
            new("gen1", () => GC.CollectionCount(1)),
            new("gen2", () => GC.CollectionCount(2)),
            new("pause_ms", () => GC.GetTotalPauseDuration().TotalMilliseconds),
            new("allocated", () => GC.GetTotalAllocatedBytes()),
            new("methods", () => JitInfo.GetCompiledMethodCount()),
            new("compile_ms", () => JitInfo.GetCompilationTime().TotalMilliseconds),
            new("contentions", () => Monitor.LockContentionCount),
            new("cpu_ms", () => Environment.CpuUsage.TotalTime.TotalMilliseconds),
        ];
        StringBuilder line = new();
        long begin = Environment.TickCount64, last = begin;
        Tally.All.ForEach(tally => tally.Tell(line, 1));  // from here on
        while (Environment.TickCount64 - begin < seconds * 1000L)
        {
            Thread.Sleep(1000);
            long now = Environment.TickCount64;
            double passed = (now - last) / 1000.0;
            last = now;
            line.Clear().Append("{\"scenario\": \"").Append(scenario).Append('"');
            Append(line, "seconds", passed);
            Tally.All.ForEach(tally => tally.Tell(line, passed));
            Array.ForEach(rates, rate => rate.Tell(line, passed));
            Append(line, "heap", GC.GetTotalMemory(false));
            Append(line, "methods_since_start", JitInfo.GetCompiledMethodCount());
            Append(line, "workers", ThreadPool.ThreadCount);
            Append(line, "pending", ThreadPool.PendingWorkItemCount);
            Console.WriteLine(line.Append('}').ToString());
        }
        Environment.Exit(0);
    }
}

/// <summary>Threads of a scenario.</summary>
internal static class Stage
{
    public static void Thread(string name, Action body) =>
        new Thread(() => body(), 512 * 1024) { IsBackground = true, Name = name }.Start();

    /// <summary>A thread that does the same again and again.</summary>
    public static void Loop(string name, Action body) => Thread(name, () =>
    {
        for (; ; )
        {
            body();
        }
    });

    /// <summary>Runs for so long without a system call.</summary>
    public static void Crunch(double milliseconds)
    {
        long until = System.Diagnostics.Stopwatch.GetTimestamp() + (long)(milliseconds / 1000 * System.Diagnostics.Stopwatch.Frequency);
        while (System.Diagnostics.Stopwatch.GetTimestamp() < until)
        {
        }
    }
}
