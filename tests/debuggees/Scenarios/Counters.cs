using System.Runtime;
using System.Text;

namespace Scenarios;

/// <summary>What the runtime counts, and what the program says of it: "count" answers its own numbers as JSON, "work"
/// does more of everything.</summary>
internal static class Counters
{
    private static long s_thrown;
    private static long s_allocated;
    private static object? s_kept;

    [Scenario("counters")]
    private static void Stage()
    {
        AppDomain.CurrentDomain.FirstChanceException += (_, _) => Interlocked.Increment(ref s_thrown);
        Scene.Actor("allocator", () =>
        {
            for (int i = 0; i < 20_000; i++)
            {
                s_kept = new byte[1000];
            }
            for (int i = 0; i < 10; i++)
            {
                s_kept = new byte[1_000_000];
            }
            s_allocated = GC.GetAllocatedBytesForCurrentThread();
            Scene.InPlace();
            Thread.Sleep(Timeout.Infinite);
        });
        Scene.Actor("contender", () =>
        {
            Contend();
            Scene.Park();
        });
    }

    /// <summary>Exceptions, waits for a monitor and for a Lock, collections of each kind.</summary>
    public static string Work()
    {
        for (int i = 0; i < 50; i++)
        {
            try
            {
                throw new InvalidOperationException();
            }
            catch (InvalidOperationException)
            {
            }
        }
        Contend();
        GC.Collect(0);
        GC.Collect(1);
        GC.Collect(2, GCCollectionMode.Forced, blocking: true);
        return Count();
    }

    private static void Contend()
    {
        object monitor = new();
#if NET9_0_OR_GREATER
        Lock gate = new();
#else
        object gate = new();
#endif
        Thread other = new(() =>
        {
            lock (monitor)
            {
            }
            lock (gate)
            {
            }
        });
        lock (gate)
        {
            lock (monitor)
            {
                other.Start();
                Thread.Sleep(200);
            }
            Thread.Sleep(200);
        }
        other.Join();
    }

    /// <summary>One line; formatted by hand, since more code would be compiled for it.</summary>
    public static string Count()
    {
        GCMemoryInfo last = GC.GetGCMemoryInfo(GCKind.Any);
        StringBuilder text = new("COUNTED {");
        void Put(string name, long value) => text.Append(text.Length > 9 ? "," : "").Append('"').Append(name).Append("\":").Append(value);
        Put("exceptions", Volatile.Read(ref s_thrown));
        Put("methods", JitInfo.GetCompiledMethodCount(false));
        Put("il_bytes", JitInfo.GetCompiledILBytes(false));
        Put("compiling", JitInfo.GetCompilationTime(false).Ticks);
        Put("contentions", Monitor.LockContentionCount);
        Put("pauses", GC.GetTotalPauseDuration().Ticks);
        Put("gen0", GC.CollectionCount(0));
        Put("gen1", GC.CollectionCount(1));
        Put("gen2", GC.CollectionCount(2));
        Put("index", last.Index);
        Put("generation", last.Generation);
        Put("committed", last.TotalCommittedBytes);
        Put("fragmented", last.FragmentedBytes);
        Put("heap", last.HeapSizeBytes);
        Put("allocated", s_allocated);
        return text.Append('}').ToString();
    }
}
