using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Scenarios;

/// <summary>
/// Work that a profiler's signals have broken in other programs, done over and over by threads that check their own
/// results. `storms [name:threads]...`; "stormed" answers how often each was done, and how often it came out wrong.
/// </summary>
internal static unsafe class Storms
{
    private sealed class Storm(Func<long, bool> work)
    {
        public readonly Func<long, bool> Work = work;
        public long Rounds;
        public long Wrong;
    }

    private static readonly SortedDictionary<string, Storm> s_storms = new()
    {
        ["null"] = new(NullReference),
        ["divide"] = new(Divide),
        ["dlopen"] = new(LoadAndFree),
        ["malloc"] = new(Allocate),
        ["thread"] = new(StartThread),
        ["spawn"] = new(Spawn),
        ["fork"] = new(_ => Native.ForkChild() == 0),
        ["throw"] = new(Throw),
        ["collect"] = new(Collect),
        ["altstack"] = new(_ => Native.VisitAlternateStack(12 * 1024) == 1),
        ["sum"] = new(Sum),
        ["rest"] = new(Rest),
        ["poll"] = new(_ => Poll(0, 0, 20) == 0),  // the time is over; -1: it was interrupted
    };

    public static string Progress => string.Join(' ', s_storms.Where(s => s.Value.Rounds != 0)
        .Select(s => $"{s.Key}:{Volatile.Read(ref s.Value.Rounds)}:{Volatile.Read(ref s.Value.Wrong)}"));

    private static readonly ManualResetEventSlim s_begin = new();

    [Scenario("storms")]
    private static void Run()
    {
        foreach (string argument in Program.Arguments)
        {
            string[] parts = argument.Split(':');
            Storm storm = s_storms[parts[0]];
            for (int i = 0; i < int.Parse(parts[1]); i++)
            {
                Scene.Actor(parts[0] + i, () =>
                {
                    Scene.InPlace();
                    s_begin.Wait();  // 500 that work leave no time for another to start
                    for (long round = 1; ; round++)
                    {
                        if (!storm.Work(round))
                        {
                            Interlocked.Increment(ref storm.Wrong);
                        }
                        Interlocked.Increment(ref storm.Rounds);
                    }
                });
            }
        }
        s_begin.Set();
    }

    [DllImport("libc", EntryPoint = "poll")]
    private static extern int Poll(nint files, nuint count, int milliseconds);

    private sealed class Box
    {
        public long Value;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Box? Nothing(long round) => round == long.MinValue ? new Box() : null;

    // The runtime's own SIGSEGV handler, and what is live across it.
    private static bool NullReference(long round)
    {
        long a = round * 3, b = round ^ 0x5555;
        double c = round * 0.5;
        try
        {
            a += Nothing(round)!.Value;
        }
        catch (NullReferenceException)
        {
            return a == round * 3 && b == (round ^ 0x5555) && c == round * 0.5;
        }
        return false;
    }

    // SIGFPE.
    private static bool Divide(long round)
    {
        long zero = round - Math.Max(round, 1), kept = round * 7;
        try
        {
            kept += round / zero;
        }
        catch (DivideByZeroException)
        {
            return kept == round * 7;
        }
        return false;
    }

    private static readonly nint s_leaf = Native.Symbol("scen_in_place");

    private static bool LoadAndFree(long round)
    {
        nint library = NativeLibrary.Load(Path.Combine(Native.Folder, (round & 1) == 0 ? "libplugin1.so" : "libplugin2.so"));
        bool isRight = NativeLibrary.TryGetExport(library, "plugin_work", out nint function);
        ((delegate* unmanaged[Cdecl]<nint, void>)function)(s_leaf);
        NativeLibrary.Free(library);
        return isRight;
    }

    private static bool Allocate(long round)
    {
        const int count = 24;
        nint* blocks = stackalloc nint[count];
        for (int i = 0; i < count; i++)
        {
            int size = (int)((round * 31 + i * 977) % 9000) + 1;
            blocks[i] = Marshal.AllocHGlobal(size);
            ((byte*)blocks[i])[0] = ((byte*)blocks[i])[size - 1] = (byte)i;
        }
        bool isRight = true;
        for (int i = 0; i < count; i++)
        {
            isRight &= ((byte*)blocks[i])[0] == (byte)i;
            Marshal.FreeHGlobal(blocks[i]);
        }
        return isRight;
    }

    private static bool StartThread(long round)
    {
        long seen = 0;
        Thread thread = new(() => seen = Fold(round, 2000), 64 * 1024);
        thread.Start();
        thread.Join();
        return seen == Fold(round, 2000);
    }

    // vfork and exec of the runtime's own.
    private static bool Spawn(long round)
    {
        using Process child = Process.Start(new ProcessStartInfo("/bin/echo", round.ToString()) { RedirectStandardOutput = true })!;
        string said = child.StandardOutput.ReadToEnd();
        child.WaitForExit();
        return child.ExitCode == 0 && said == round + "\n";
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Deep(long round, int depth)
    {
        if (depth == 0)
        {
            throw new InvalidOperationException(round.ToString());
        }
        try
        {
            return Deep(round, depth - 1) + 1;
        }
        finally
        {
            t_finallies++;
        }
    }

    [ThreadStatic] private static long t_finallies;

    private static bool Throw(long round)
    {
        long before = t_finallies;
        try
        {
            Deep(round, 12);
        }
        catch (InvalidOperationException error) when (error.Message == round.ToString())
        {
            return t_finallies == before + 12;
        }
        return false;
    }

    // Suspensions: everybody is stopped and, mostly, was in jitted code.
    private static bool Collect(long round)
    {
        List<long[]> kept = [];
        for (int i = 0; i < 2000; i++)
        {
            long[] item = new long[(i & 63) + 1];
            item[0] = i;
            if (i % 16 == 0)
            {
                kept.Add(item);
            }
        }
        if (round % 8 == 0)
        {
            GC.Collect(0);
        }
        return kept.Sum(item => item[0]) == Enumerable.Range(0, 125).Sum(i => i * 16L);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Fold(long seed, int steps)
    {
        long x = seed;
        for (int i = 0; i < steps; i++)
        {
            x = x * 6364136223846793005 + 1442695040888963407;
        }
        return x;
    }

    private static bool Rest(long round)
    {
        Thread.Sleep(20);
        return Sum(round);
    }

    private static bool Sum(long round) => Fold(round, 20_000) == Fold(Fold(round, 10_000), 10_000);
}
