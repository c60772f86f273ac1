using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Memory;

internal sealed class Order(int id)
{
    public int Id = id;
    public decimal Price = id;
}

internal sealed class Node(Node? next)
{
    public Node? Next = next;
    public long Value = 1;
}

internal sealed class Slice
{
    public byte[] Bytes = new byte[1000];
}

internal static class Shapes
{
    private static readonly Dictionary<int, Order> s_orders = [];
    private static readonly List<object> s_kept = [];
    private static readonly List<GCHandle> s_handles = [];
    private static readonly List<IntPtr> s_native = [];
    private static Node? s_nodes;
    private static long s_made;
    [ThreadStatic] private static object? t_garbage;

    public static long Made => Interlocked.Read(ref s_made);

    private static void Truth(string name, long value) => Console.WriteLine($"TRUTH {name} {value}");

    private static void Settle()
    {
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: true, compacting: true);
        GC.WaitForPendingFinalizers();
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: true, compacting: true);
    }

    public static void Cache(int count)
    {
        for (int i = 0; i < count; i++)
        {
            s_orders[i] = new Order(i);
        }
        Settle();
        Truth("Memory.Order", count);
    }

    public static void Strings(int count)
    {
        int before = 0;
        for (int i = 0; i < count; i++)
        {
            s_kept.Add(new string("the same text".ToCharArray()));
            s_kept.Add(i.ToString("x16"));
            before += 2;
        }
        Truth("least strings", before);
    }

    public static void Pinned(int count)
    {
        for (int i = 0; i < count; i++)
        {
            s_handles.Add(GCHandle.Alloc(new short[10 + i % 7], GCHandleType.Pinned));
            s_kept.Add(GC.AllocateArray<short>(20, pinned: true));
        }
        Settle();
        Truth("short[]", 2L * count);
    }

    public static void Large(int count)
    {
        const int Megabyte = 1 << 20;
        for (int i = 0; i < count; i++)
        {
            s_kept.Add(new long[Megabyte / 8]);
        }
        for (int i = count - 1; i > 0; i -= 2)
        {
            s_kept.RemoveAt(i);
        }
        GC.Collect();
        Truth("long[]", count - count / 2);
    }

    public static void Fragments(int count)
    {
        for (int i = 0; i < count; i++)
        {
            s_kept.Add(new Slice());
        }
        Settle();
        s_kept.RemoveAll(slice => RuntimeHelpers.GetHashCode(slice) % 2 == 0);
        Truth("Memory.Slice", s_kept.Count);
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: true, compacting: false);
    }

    [DllImport("libc", EntryPoint = "mmap")]
    private static extern unsafe void* Map(void* at, nint size, int protection, int flags, int file, nint offset);

    /// <summary>Mappings of its own, large blocks of malloc and stacks of threads in turn: neighbours are one mapping.</summary>
    public static unsafe void Between(int count)
    {
        const int Own = 1 << 20, Large = 300_000, LargeMapped = 303_104, ReadWrite = 3, PrivateAnonymous = 0x22;
        for (int i = 0; i < count; i++)
        {
            new Span<byte>(Map(null, Own, ReadWrite, PrivateAnonymous, -1, 0), Own).Fill(1);
            new Span<byte>(NativeMemory.Alloc(Large), Large).Fill(1);
            if (i % 5 == 0)
            {
                new Thread(() => Thread.Sleep(Timeout.Infinite)) { IsBackground = true }.Start();
            }
        }
        Truth("own", (long)count * Own);
        Truth("large", (long)count * LargeMapped);
    }

    /// <summary>The program's own assembly again and again, each time in a context that can be unloaded.</summary>
    public static void Contexts(int count)
    {
        for (int i = 0; i < count; i++)
        {
            var context = new System.Runtime.Loader.AssemblyLoadContext($"context {i}", isCollectible: true);
            s_kept.Add(context.LoadFromAssemblyPath(typeof(Order).Assembly.Location).GetType("Memory.Order")!);
        }
        Truth("contexts", count);
    }

    public static unsafe void Native(int megabytes)
    {
        const int Small = 1000, Large = 1 << 20;
        long used = 0, freed = 0, large = 0;
        long blocks = (long)megabytes * 1_000_000 / (Small + 8);
        for (long i = 0; i < blocks; i++)
        {
            void* block = NativeMemory.Alloc(Small);
            new Span<byte>(block, Small).Fill(1);
            s_native.Add((IntPtr)block);
        }
        for (int i = 0; i < s_native.Count; i++)
        {
            // Runs of eight, too many of them for the caches of threads.
            if (i / 8 % 4 == 0)
            {
                NativeMemory.Free((void*)s_native[i]);
                freed += Small + 8;
            }
            else
            {
                used += Small + 8;
            }
        }
        for (int i = 0; i < megabytes; i++)
        {
            void* block = NativeMemory.Alloc(Large);
            new Span<byte>(block, Large).Fill(1);
            large += Large;
        }
        Truth("used", used);
        Truth("freed", freed);
        Truth("large", large);
    }

    private static void MakeGarbage()
    {
        while (true)
        {
            for (int i = 0; i < 1000; i++)
            {
                t_garbage = i % 3 == 0 ? new byte[i] : i % 3 == 1 ? new Order(i) : i.ToString();
            }
            Interlocked.Add(ref s_made, 1000);
        }
    }

    public static void Garbage(int count)
    {
        for (int i = 0; i < count; i++)
        {
            s_nodes = new Node(s_nodes);
        }
        Settle();
        Truth("Memory.Node", count);
        for (int i = 0; i < 2; i++)
        {
            new Thread(MakeGarbage) { IsBackground = true, Name = "makes garbage" }.Start();
        }
    }
}
