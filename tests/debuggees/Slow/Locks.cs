// Faults of waiting: contended locks, deadlocks, a thread pool that its own work blocks, and delays that block nobody.
using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Depot;

/// <summary>How long threads wait for locks, by their own clock.</summary>
internal static class Waits
{
    public static long Begin() => Stopwatch.GetTimestamp();

    public static void End(long begin)
    {
        Tally.LockWaits.Add();
        Tally.LockWaitMicroseconds.Add((long)Stopwatch.GetElapsedTime(begin).TotalMicroseconds);
    }
}

/// <summary>Something slow is done under a lock.</summary>
internal sealed class Stock
{
    private readonly object _shelf = new();

    public static void Start()
    {
        Stock stock = new();
        for (int i = 0; i < 6; i++)
        {
            Stage.Loop($"clerk-{i}", stock.Reserve);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Reserve()
    {
        long begin = Waits.Begin();
        lock (_shelf)
        {
            Waits.End(begin);
            Confirm();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Confirm() => Thread.Sleep(15);  // as if it asked another service
}

/// <summary>Each holds the lock for a moment, and there are many: convoys.</summary>
internal sealed class Tickets
{
    private readonly List<int> _sold = [];
    private int _number;

    public static void Start()
    {
        Tickets tickets = new();
        for (int i = 0; i < 8; i++)
        {
            Stage.Loop($"seller-{i}", tickets.Sell);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Sell()
    {
        long begin = Waits.Begin();
        lock (_sold)
        {
            Waits.End(begin);
            _number++;
            Thread.Sleep(1);
        }
        Stage.Crunch(0.05);
    }
}

/// <summary>The newer lock, whose owner computes.</summary>
internal sealed class Gate
{
    private readonly Lock _bar = new();

    public static void Start()
    {
        Gate gate = new();
        for (int i = 0; i < 5; i++)
        {
            Stage.Loop($"guard-{i}", gate.Pass);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Pass()
    {
        long begin = Waits.Begin();
        lock (_bar)
        {
            Waits.End(begin);
            Inspect();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Inspect()
    {
        Stage.Crunch(4);
        Thread.Sleep(4);
    }
}

/// <summary>Readers overlap, so that writers wait for long.</summary>
internal sealed class Catalogue
{
    private readonly ReaderWriterLockSlim _entries = new();

    public static void Start()
    {
        Catalogue catalogue = new();
        for (int i = 0; i < 4; i++)
        {
            Stage.Loop($"reader-{i}", catalogue.Find);
        }
        for (int i = 0; i < 2; i++)
        {
            Stage.Loop($"writer-{i}", catalogue.Update);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Find()
    {
        _entries.EnterReadLock();
        Thread.Sleep(30);
        _entries.ExitReadLock();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Update()
    {
        long begin = Waits.Begin();
        _entries.EnterWriteLock();
        Waits.End(begin);
        Thread.Sleep(3);
        _entries.ExitWriteLock();
    }
}

/// <summary>Two locks in two orders.</summary>
internal sealed class Wagon
{
    private static int s_held;

    public static void Start()
    {
        Wagon front = new(), back = new();
        Stage.Thread("shunter-a", () => front.Couple(back));
        Stage.Thread("shunter-b", () => back.Couple(front));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Couple(Wagon other)
    {
        lock (this)
        {
            Interlocked.Increment(ref s_held);
            SpinWait.SpinUntil(() => Volatile.Read(ref s_held) == 2);
            lock (other)
            {
                Tally.Turns.Add();
            }
        }
    }
}

/// <summary>Two that wait for each other, and give up in time: no deadlock.</summary>
internal sealed class Berth
{
    private static int s_held;

    public static void Start()
    {
        Berth north = new(), south = new();
        Stage.Thread("tug-a", () => north.Swap(south));
        Stage.Thread("tug-b", () => south.Swap(north));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Swap(Berth other)
    {
        lock (this)
        {
            Interlocked.Increment(ref s_held);
            SpinWait.SpinUntil(() => Volatile.Read(ref s_held) == 2);
            while (!Monitor.TryEnter(other, 3000))
            {
                Tally.TimedOut.Add();
            }
        }
    }
}

/// <summary>Each piece of work comes back from its wait, and the next is taken: but more come than that.</summary>
internal static class Labeling
{
    public static void Start()
    {
        Stage.Loop("packing", () =>
        {
            Tally.Queued.Add();
            _ = Task.Run(Print);
            Thread.Sleep(12);
        });
        Thread.Sleep(1500);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Print()
    {
        Thread.Sleep(900);  // the printer
        Tally.Served.Add();
    }
}

/// <summary>Requests block a worker each for the rest of a method that needs a worker.</summary>
internal static class Orders
{
    private static decimal s_sum;

    public static void Start()
    {
        Stage.Loop("front door", () =>
        {
            for (int i = 0; i < 5; i++)  // more than a pool that grows can serve on a quick machine
            {
                Tally.Queued.Add();
                _ = Task.Run(() => Take(7));
            }
            Thread.Sleep(9);
        });
        Thread.Sleep(1500);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Take(int id)
    {
        s_sum += LoadAsync(id).Result;
        Tally.Served.Add();
    }

    private static async Task<decimal> LoadAsync(int id)
    {
        await Task.Yield();  // queued where only the worker looks that waits for it, as long as there is other work
        return await RowAsync(id);
    }

    private static async Task<decimal> RowAsync(int id)
    {
        await Task.Delay(5);
        return id;
    }
}

/// <summary>Each task waits for parts of its own, which are queued behind other tasks.</summary>
internal static class Batches
{
    public static void Start()
    {
        Stage.Loop("intake", () =>
        {
            for (int i = 0; i < 5; i++)
            {
                Tally.Queued.Add();
                _ = Task.Factory.StartNew(() => Assemble(4), CancellationToken.None, TaskCreationOptions.PreferFairness, TaskScheduler.Default);
            }
            Thread.Sleep(6);
        });
        Thread.Sleep(1500);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Assemble(int count)
    {
        Task all = PartsAsync(count);
        all.GetAwaiter().GetResult();
        Tally.Served.Add();
    }

    private static async Task PartsAsync(int count)
    {
        for (int i = 0; i < count; i++)
        {
            await Task.Factory.StartNew(() => Thread.Sleep(2), CancellationToken.None, TaskCreationOptions.PreferFairness, TaskScheduler.Default);
        }
    }
}

/// <summary>Operations that wait for time, and no thread with them.</summary>
internal static class Shipping
{
    public static void Start()
    {
        for (int i = 0; i < 25; i++)
        {
            _ = TrackAsync(i);
        }
    }

    private static async Task TrackAsync(int parcel)
    {
        for (; ; )
        {
            await RetryAsync(parcel);
            Tally.Turns.Add();
        }
    }

    private static async Task RetryAsync(int parcel)
    {
        await Task.Delay(3000);
        Tally.Served.Add(parcel > 0 ? 1 : 0);
    }
}
