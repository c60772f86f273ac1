using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Moments;

internal sealed class Kept(Kept? next)
{
    public Kept? Next = next;
    public long Value = 1;
}

/// <summary>Dies soon.</summary>
internal sealed class Passing
{
    public byte[] Bytes = new byte[200];
}

internal static class Growth
{
    private static readonly List<IntPtr> s_blocks = [];
    private static readonly List<GCHandle> s_pins = [];
    private static Kept? s_last;
    private static Passing? s_passing;
    private static long s_count;

    public static long Count => Interlocked.Read(ref s_count);

    /// <summary>Calls <paramref name="step"/> so often a second, for ever.</summary>
    private static void Repeat(string name, int rate, Action step)
    {
        new Thread(() =>
        {
            var clock = Stopwatch.StartNew();
            long made = 0;
            while (true)
            {
                long due = (long)(clock.Elapsed.TotalSeconds * rate);
                for (; made < due; made++)
                {
                    step();
                }
                Thread.Sleep(10);
            }
        })
        { IsBackground = true, Name = name }.Start();
    }

    public static void Objects(int rate, bool isFull)
    {
        Repeat("makes objects", rate, () =>
        {
            s_last = new Kept(s_last);
            s_passing = new Passing();
            Interlocked.Increment(ref s_count);
        });
        if (isFull)
        {
            new Thread(() =>
            {
                while (true)
                {
                    Thread.Sleep(300);
                    GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: true);
                }
            })
            { IsBackground = true, Name = "collects" }.Start();
        }
        while (Count == 0)
        {
            Thread.Sleep(1);
        }
    }

    public static unsafe void Native(int rate)
    {
        const int Block = 1000;
        Repeat("allocates", rate / (Block + 8), () =>
        {
            void* block = NativeMemory.Alloc(Block);
            new Span<byte>(block, Block).Fill(1);
            s_blocks.Add((IntPtr)block);
            Interlocked.Add(ref s_count, Block + 8);
        });
        while (Count == 0)
        {
            Thread.Sleep(1);
        }
    }

    /// <summary>Every other array is pinned; the others die, and their room stays.</summary>
    public static void Fragments(int count)
    {
        const int Length = 1000;
        for (int i = 0; i < count; i++)
        {
            s_pins.Add(GCHandle.Alloc(new byte[Length], GCHandleType.Pinned));
            s_passing = new Passing { Bytes = new byte[Length] };
        }
        s_passing = null;
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: true);
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: true);
        // The object that held the array lies between, too, and its own array of 200.
        Console.WriteLine($"TRUTH gaps {count * 1272L}");
    }

    public static void Threads(int count)
    {
        using var here = new CountdownEvent(count);
        for (int i = 0; i < count; i++)
        {
            new Thread(() =>
            {
                Deep(200);
                here.Signal();
                Thread.Sleep(Timeout.Infinite);
            })
            { IsBackground = true }.Start();
        }
        here.Wait();
    }

    private static int Deep(int left)
    {
        Span<byte> room = stackalloc byte[1000];
        room.Fill((byte)left);
        return left == 0 ? room[0] : Deep(left - 1) + room[999];
    }
}
