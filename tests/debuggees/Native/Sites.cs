using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Native;

/// Each mode makes memory at one place, over and over, and counts what it holds.
public static unsafe class Sites
{
    private const int Small = 200, Large = 1 << 20, Page = 4096;
    private static long s_held;
    private static delegate* unmanaged<nuint, void*> s_grow;
    private static readonly List<nint> s_kept = new(1 << 20);

    public static long Held => Interlocked.Read(ref s_held);

    /// `what`: the library, or how many strings are there from the beginning, or how many arrays of a gigabyte, of which
    /// hardly a page is used.
    public static void Prepare(string mode, string what)
    {
        if (mode is "collecting" or "held")
        {
            int count = int.Parse(what);
            for (int i = 0; i < count; i++) s_strings.Add(i.ToString("x30"));
            GC.Collect();
            GC.Collect();
            return;
        }
        if (mode == "huge")
        {
            for (int i = 0; i < int.Parse(what); i++) s_arrays.Add(GC.AllocateUninitializedArray<byte>(1_000_000_000));
            return;
        }
        string library = what;
        if (mode == "library")
            s_grow = (delegate* unmanaged<nuint, void*>)NativeLibrary.GetExport(NativeLibrary.Load(library), "grow_block");
    }

    public static void Start(string mode)
    {
        Action step = mode switch
        {
            "hglobal-large" => HGlobalLarge,
            "hglobal-small" => HGlobalSmall,
            "native-memory" => NativeAlloc,
            "mmap" => Map,
            "library" => Library,
            "threads" => Threads,
            "freed" => Freed,
            "freed-small" => FreedSmall,
            "freed-mapped" => FreedMapped,
            "managed" => Managed,
            "collecting" => Collecting,
            "held" => () => Thread.Sleep(Timeout.Infinite),
            _ => throw new ArgumentException(mode),
        };
        var worker = new Thread(() =>
        {
            for (; ; Thread.Sleep(20)) step();
        });
        worker.IsBackground = true;
        worker.Name = mode;
        worker.Start();
    }

    private static void Hold(nint block, long bytes)
    {
        s_kept.Add(block);
        Interlocked.Add(ref s_held, bytes);
    }

    /// A mapping of its own each, used elsewhere.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void HGlobalLarge()
    {
        nint block = Marshal.AllocHGlobal(Large);
        Use((byte*)block, Large);
        Hold(block, Large);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Use(byte* block, long bytes)
    {
        for (long at = 0; at < bytes; at += Page) block[at] = 1;
    }

    /// Of the allocator's pool.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void HGlobalSmall()
    {
        for (int i = 0; i < 2000; i++)
        {
            nint block = Marshal.AllocHGlobal(Small);
            new Span<byte>((void*)block, Small).Fill(1);
            Hold(block, Small + 8);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void NativeAlloc()
    {
        void* block = NativeMemory.AllocZeroed(3 * Large / 2);
        Use((byte*)block, 3 * Large / 2);
        Hold((nint)block, 3 * Large / 2);
    }

    [DllImport("libc", EntryPoint = "mmap")]
    private static extern nint MapPages(nint address, nuint bytes, int rights, int flags, int file, nint offset);

    /// Half of each mapping is used.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Map()
    {
        nint pages = MapPages(0, 2 * Large, 3, 0x22, -1, 0);
        Use((byte*)pages, Large);
        Hold(pages, Large);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Library() => Hold((nint)s_grow(Large), Large);

    /// Threads that stay, each with 256 kB of its stack in use.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Threads()
    {
        if (s_kept.Count >= 400) return;
        var thread = new Thread(() =>
        {
            byte* room = stackalloc byte[Large / 4];
            Use(room, Large / 4);
            Thread.Sleep(Timeout.Infinite);
        }, Large);
        thread.IsBackground = true;
        thread.Start();
        Hold(thread.ManagedThreadId, Large / 4);
        Thread.Sleep(20);
    }

    /// Comes and goes: at most one block is there.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Freed()
    {
        nint block = Marshal.AllocHGlobal(Large);
        Use((byte*)block, Large);
        Thread.Sleep(1);
        Marshal.FreeHGlobal(block);
    }

    [DllImport("libc", EntryPoint = "munmap")]
    private static extern int UnmapPages(nint address, nuint bytes);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void FreedMapped()
    {
        nint pages = MapPages(0, Large, 3, 0x22, -1, 0);
        Use((byte*)pages, Large);
        Thread.Sleep(1);
        UnmapPages(pages, Large);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void FreedSmall()
    {
        var blocks = stackalloc nint[2000];
        for (int i = 0; i < 2000; i++)
        {
            blocks[i] = Marshal.AllocHGlobal(Small);
            new Span<byte>((void*)blocks[i], Small).Fill(1);
        }
        for (int i = 0; i < 2000; i++) Marshal.FreeHGlobal(blocks[i]);
    }

    private static readonly List<byte[]> s_arrays = [];
    private static readonly List<string> s_strings = [];

    /// Without a pause.
    private static void Collecting()
    {
        for (; ; Interlocked.Increment(ref s_held)) GC.Collect();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Managed()
    {
        s_arrays.Add(new byte[Large]);
        s_arrays[^1].AsSpan().Fill(1);
        Interlocked.Add(ref s_held, Large);
    }
}
