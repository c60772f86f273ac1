using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Holders;

internal sealed class Order(int id)
{
    public int Id = id;
    public byte[] Bytes = new byte[Shapes.Payload];
}

internal sealed class Hub
{
    public event EventHandler? Changed;
    public int Subscribers => Changed?.GetInvocationList().Length ?? 0;
}

internal sealed class View
{
    public byte[] Bytes = new byte[Shapes.Payload];
    public void OnChanged(object? sender, EventArgs e) => Bytes[0]++;
}

/// <summary>Held by its own timer alone: the queue of timers leads to it.</summary>
internal sealed class Job
{
    public byte[] Bytes = new byte[Shapes.Payload];
    public Timer Timer;
    public Job() => Timer = new Timer(Shapes.Tick, this, TimeSpan.FromHours(10), TimeSpan.FromHours(10));
}

internal sealed class Node(Node? next)
{
    public Node? Next = next;
    public long Value = 1;
}

internal sealed class Stuck
{
    public byte[] Bytes = new byte[Shapes.Payload];
    ~Stuck() => Shapes.Gate.WaitOne();
}

internal struct Settings
{
    public object? First;
    public int Second;
}

internal sealed class Cell
{
    public object? A, B, C;
}

internal static class Twelve
{
    public static object? A, B, C, D, E, F, G, H, I, J, K, L;
}

internal static class Shapes
{
    public const int Payload = 1000;
    public const int Array = 24 + Payload;  // as the heap counts it

    public static readonly ManualResetEvent Gate = new(false), Started = new(false);
    private static readonly Dictionary<int, Order> s_orders = [];
    private static readonly Hub s_hub = new();
    private static readonly TaskCompletionSource s_never = new();
    private static readonly List<object> s_keys = [];
    private static readonly ConditionalWeakTable<object, Order> s_attached = [];
    private static readonly List<Cell> s_cells = [];
    private static object? s_one, s_other;
    private static Node? s_nodes;
    private static Settings s_settings;
    private static long s_turns;
    [ThreadStatic] private static List<Order>? t_orders;
    [ThreadStatic] private static int t_number;

    public static string? Title { get; private set; }
    public static long Turns => Interlocked.Read(ref s_turns);

    public static void Truth(string name, long value) => Console.WriteLine($"TRUTH {name} {value}");

    public static void Settle()
    {
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: true, compacting: true);
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: true, compacting: true);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Cache(int count)
    {
        for (int i = 0; i < count; i++)
        {
            s_orders[i] = new Order(i);
        }
        Title = new string('x', 50);
        s_settings = new Settings { First = new Order(1), Second = 2 };
        Truth("items", count);
        Truth("least", (long)count * (Array + 32));
        Truth("most", (long)count * (Array + 32 + 2 * 40) + 4096);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Events(int count)
    {
        for (int i = 0; i < count; i++)
        {
            s_hub.Changed += new View().OnChanged;
        }
        Truth("items", s_hub.Subscribers);
        Truth("least", (long)count * (Array + 24 + 64));
        Truth("most", (long)count * (Array + 24 + 64 + 24) + 4096);
    }

    public static void Tick(object? state) => Interlocked.Increment(ref s_turns);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Timers(int count)
    {
        for (int i = 0; i < count; i++)
        {
            _ = new Job();
        }
        Truth("items", count);
        Truth("least", (long)count * (Array + 32));
        Truth("most", (long)count * (Array + 32 + 24 + 24 + 128) + 4096);
    }

    private static async Task Wait(int number)
    {
        byte[] buffer = new byte[Payload];
        await s_never.Task;
        buffer[number % Payload]++;
    }

    /// <summary>Held by a method of a generic type whose argument is a tuple, and by a lambda.</summary>
    private sealed class Kept;

    private static class Keeper<T>
    {
        public static async Task Hold(T value, Kept kept)
        {
            await s_never.Task;
            GC.KeepAlive((value, kept));
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Async(int count)
    {
        for (int i = 0; i < count; i++)
        {
            _ = Wait(i);
        }
        _ = Keeper<(int, string)>.Hold((count, ""), new Kept());
        Func<Task> lambda = async () =>
        {
            Kept kept = new();
            await s_never.Task;
            GC.KeepAlive(kept);
        };
        _ = lambda();
        Truth("items", count);
        Truth("least", (long)count * (Array + 64));
        Truth("most", (long)count * (Array + 400) + 8192);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Threads(int count)
    {
        const int Number = 3;
        using CountdownEvent ready = new(Number);
        for (int t = 0; t < Number; t++)
        {
            new Thread(() =>
            {
                Fill(count);
                ready.Signal();
                Gate.WaitOne();
            })
            { IsBackground = true }.Start();
        }
        ready.Wait();
        Truth("items", Number);
        Truth("least", (long)count * (Array + 32));
        Truth("most", (long)count * (Array + 32 + 16) + 4096);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Fill(int count)
    {
        t_number = count;
        t_orders = [];
        for (int i = 0; i < t_number; i++)
        {
            t_orders.Add(new Order(i));
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Attached(int count)
    {
        for (int i = 0; i < count; i++)
        {
            object key = new();
            s_keys.Add(key);
            s_attached.Add(key, new Order(i));
        }
        Truth("items", count);
        Truth("least", (long)count * (Array + 32 + 24));
        Truth("most", (long)count * (Array + 32 + 24 + 16) + 4096);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void MakeStuck(int count)
    {
        for (int i = 0; i < count; i++)
        {
            _ = new Stuck();
        }
    }

    public static void Finalizers(int count)
    {
        MakeStuck(count);
        GC.Collect();
        Thread.Sleep(200);
        Truth("items", count);
        Truth("least", (long)(count - 1) * (Array + 24));
        Truth("most", (long)count * (Array + 24) + 4096);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Handles(int count)
    {
        for (int i = 0; i < count; i++)
        {
            GCHandle.Alloc(new Order(i), GCHandleType.Normal);
            GCHandle.Alloc(new byte[Payload], GCHandleType.Pinned);
            GCHandle.Alloc(s_hub, GCHandleType.Weak);
            GCHandle.Alloc(s_hub, GCHandleType.WeakTrackResurrection);
        }
        Truth("items", count);
        Truth("least", (long)count * (Array + 32));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void LinkedList(int count)
    {
        for (int i = 0; i < count; i++)
        {
            s_nodes = new Node(s_nodes);
        }
        Truth("items", count);
        Truth("least", (long)count * 32);
        Truth("most", (long)count * 32);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Several(int count)
    {
        Order[] all = new Order[count];
        for (int i = 0; i < count; i++)
        {
            all[i] = new Order(i);
        }
        s_one = all;
        s_other = new object[] { all };
        Truth("items", count);
        Truth("least", (long)count * (Array + 32));
        Truth("most", (long)count * (Array + 32 + 8) + 4096);
    }

    /// <summary>Each of a dozen statics of Twelve holds the same array, and so does a handle.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Mixed(int count)
    {
        Order[] all = new Order[count];
        for (int i = 0; i < count; i++)
        {
            all[i] = new Order(i);
        }
        foreach (var field in typeof(Twelve).GetFields())
        {
            field.SetValue(null, all);
        }
        GCHandle.Alloc(all, GCHandleType.Normal);
        Truth("items", count);
        Truth("roots", typeof(Twelve).GetFields().Length + 1);
        Truth("least", (long)count * (Array + 32));
        Truth("most", (long)count * (Array + 32 + 8) + 4096);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Local(int count, Action ready)
    {
        List<Order> orders = [];
        for (int i = 0; i < count; i++)
        {
            orders.Add(new Order(i));
        }
        Settle();
        Truth("items", count);
        Truth("least", (long)count * (Array + 32));
        Truth("most", (long)count * (Array + 32 + 16) + 4096);
        ready();
        GC.KeepAlive(orders);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Graph(int count)
    {
        Random random = new(7);
        while (s_cells.Count < count / 3)
        {
            object? other = s_cells.Count == 0 ? null : s_cells[random.Next(s_cells.Count)];
            s_cells.Add(new Cell { A = new object(), B = new Node(null), C = random.Next(8) == 0 ? other : null });
        }
        Truth("items", count);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Churn(int count)
    {
        List<Order> orders = [];
        for (int i = 0; i < count; i++)
        {
            orders.Add(new Order(i));
        }
        s_one = orders;
        Truth("items", count);
        Truth("least", (long)count * (Array + 32));
        Truth("most", (long)count * (Array + 32 + 16) + 4096);
        for (int t = 0; t < 2; t++)
        {
            int seed = t;
            new Thread(() =>
            {
                Random random = new(seed);
                while (true)
                {
                    orders[random.Next(orders.Count)] = new Order(1);
                    Interlocked.Increment(ref s_turns);
                }
            })
            { IsBackground = true, Name = "replaces" }.Start();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Shuffle(int count)
    {
        Order[] all = new Order[count];
        for (int i = 0; i < count; i++)
        {
            all[i] = new Order(i);
        }
        s_one = all;
        Truth("items", count);
        Truth("most", (long)count * (Array + 32 + 8) + 4096);
        new Thread(() =>
        {
            Random random = new(5);
            Started.WaitOne();
            while (true)
            {
                int a = random.Next(count), b = random.Next(count);
                (all[a], all[b]) = (all[b], all[a]);
                if (Interlocked.Increment(ref s_turns) % 50 == 0)
                {
                    Thread.Sleep(1);
                }
            }
        })
        { IsBackground = true, Name = "shuffles" }.Start();
    }
}
