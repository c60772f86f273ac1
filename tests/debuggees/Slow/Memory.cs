// Faults of memory: what the collector does and why, and what grows, inside the managed heap and outside of it.
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Depot;

/// <summary>Trees of short lives, of which much is alive at every collection.</summary>
internal static class Quotes
{
    private sealed class Quote(Quote? left, Quote? right, string text)
    {
        public readonly Quote? Left = left, Right = right;
        public readonly string Text = text;
    }

    private static long s_made;

    public static void Start()
    {
        for (int i = 0; i < 2; i++)
        {
            Stage.Loop($"quoter-{i}", () => s_made += Ask(15).Text.Length);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Quote Ask(int depth) =>
        depth == 0 ? new(null, null, "leaf " + Environment.TickCount64) : new(Ask(depth - 1), Ask(depth - 1), new string('q', depth));
}

/// <summary>Objects die in their middle age: each is copied twice, and dies in the oldest generation.</summary>
internal static class Parcels
{
    private sealed class Parcel(int number)
    {
        public readonly byte[] Label = new byte[40];
        public readonly string Name = number.ToString();
    }

    private static readonly Queue<Parcel> s_belt = new();

    public static void Start()
    {
        for (int i = 0; i < 400_000; i++)
        {
            s_belt.Enqueue(new(i));
        }
        Stage.Loop("belt", Move);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Move()
    {
        for (int i = 0; i < 1000; i++)
        {
            s_belt.Dequeue();
            s_belt.Enqueue(new(i));
        }
        Tally.Turns.Add();
    }
}

/// <summary>Large arrays, each used for a moment.</summary>
internal static class Scans
{
    private static readonly byte[]?[] s_recent = new byte[]?[6];
    private static int s_next;

    public static void Start() => Stage.Loop("scanner", Decode);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Decode()
    {
        byte[] scan = new byte[400_000];
        scan[s_next % scan.Length] = 1;
        s_recent[s_next++ % s_recent.Length] = scan;
        Tally.LargeBytes.Add(scan.Length);
        if (s_next % 4 == 0)
        {
            Thread.Sleep(1);
        }
    }
}

/// <summary>Large arrays that nobody asked for: a list that grows by doubling.</summary>
internal static class Reports
{
    private static long s_rows;

    public static void Start() => Stage.Loop("reporter", Gather);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Gather()
    {
        List<long> rows = [];
        for (long i = 0; i < 600_000; i++)
        {
            rows.Add(i);
        }
        s_rows += rows.Count;
        Tally.LargeBytes.Add(sizeof(long) * ((1 << 21) - (1 << 14)));  // 2^14 and so on until 2^20 items
    }
}

/// <summary>Somebody believes that the collector must be told.</summary>
internal static class Ledger
{
    private static readonly List<object[]> s_books = [];

    private static void Fill()
    {
        for (int i = 0; i < 400_000; i++)
        {
            s_books.Add([i]);
        }
    }

    public static void StartClosing()
    {
        Fill();
        Stage.Loop("closer", () =>
        {
            Close();
            Thread.Sleep(60);
        });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Close()
    {
        byte[][] pages = new byte[200][];
        for (int i = 0; i < pages.Length; i++)
        {
            pages[i] = new byte[1000];
        }
        GC.Collect();
        Tally.Forced.Add();
    }

    public static void StartSweeping() => Stage.Loop("sweeper", Sweep);

    // Often enough that GC.Collect is compiled into it.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Sweep()
    {
        GC.Collect(0);
        Tally.Forced.Add();
        Stage.Crunch(0.1);
    }

    private static Timer? s_timer;

    public static void StartSettling()
    {
        Fill();
        s_timer = new(_ => Settle(), null, 50, 150);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Settle()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
        Tally.Forced.Add(2);
    }
}

/// <summary>What has grown for a while: it grows fast until full collections have found nothing to free.</summary>
internal static class Growth
{
    private const int Enough = 2;

    public static void Rest(int milliseconds)
    {
        if (GC.CollectionCount(2) >= Enough)
        {
            Thread.Sleep(milliseconds);
        }
    }

    public static void Await()
    {
        for (int i = 0; i < 200 && GC.CollectionCount(2) < Enough; i++)
        {
            Thread.Sleep(50);
        }
    }
}

/// <summary>A table that only grows.</summary>
internal static class Sessions
{
    internal sealed class Session(int number)
    {
        public readonly byte[] State = new byte[900];
        public readonly string Name = "session " + number;
    }

    private static readonly Dictionary<int, Session> s_open = [];

    public static void Start()
    {
        Stage.Thread("opener", OpenAll);
        Growth.Await();
    }

    private static void OpenAll()
    {
        for (int number = 0; number < 1_000_000; number++)
        {
            Open(number);
            if (number % 120 == 0)
            {
                Growth.Rest(8);
            }
        }
        Thread.Sleep(Timeout.Infinite);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Open(int number)
    {
        s_open.Add(number, new Session(number));
        Tally.KeptBytes.Add(900 + 24 + 32 + 50);
    }
}

/// <summary>Callbacks of a token that is never cancelled, each with what it captured.</summary>
internal static class Trips
{
    private static readonly CancellationTokenSource s_shutdown = new();
    private static long s_ended;

    public static void Start()
    {
        Stage.Thread("dispatcher", BeginAll);
        Growth.Await();
    }

    private static void BeginAll()
    {
        for (int number = 0; number < 250_000; number++)
        {
            Begin(s_shutdown.Token);
            if (number % 30 == 0)
            {
                Growth.Rest(10);
            }
        }
        Thread.Sleep(Timeout.Infinite);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Begin(CancellationToken token)
    {
        byte[] load = new byte[4000];
        _ = token.Register(() => s_ended += load.Length);
        Tally.KeptBytes.Add(4000 + 24 + 200);
    }
}

/// <summary>Native memory that nobody frees, in large pieces.</summary>
internal static unsafe class Images
{
    public static void Start() => Stage.Thread("scaler", () =>
    {
        for (int number = 0; number < 12_000; number++)
        {
            Scale();
            Thread.Sleep(6);
        }
        Thread.Sleep(Timeout.Infinite);
    });

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Scale()
    {
        const int Size = 80_000;
        byte* image = (byte*)NativeMemory.Alloc(Size);
        new Span<byte>(image, Size).Fill(7);
        Tally.NativeBytes.Add(Size);
    }
}

/// <summary>The same in many small ones: strings handed to native code.</summary>
internal static class Labels
{
    private static readonly string s_text = new('l', 1500);

    public static void Start() => Stage.Thread("printer", () =>
    {
        for (int number = 0; number < 700_000; number++)
        {
            Print();
            if (number % 60 == 0)
            {
                Thread.Sleep(7);
            }
        }
        Thread.Sleep(Timeout.Infinite);
    });

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Print()
    {
        _ = Marshal.StringToCoTaskMemUTF8(s_text);
        Tally.NativeBytes.Add(1501);
    }
}
