using System.Runtime.CompilerServices;

namespace Scenarios;

/// <summary>
/// The stage of a scenario. Threads count themselves in place (here or in libscen.so); when the expected number is
/// reached, the program prints READY and stays until it is killed or its standard input says "quit".
/// </summary>
internal static class Scene
{
    private static int s_inPlace;
    private static int s_expected;

    /// <summary>Starts a named thread which must count itself in place.</summary>
    public static Thread Actor(string name, Action body, int stackSize = 512 * 1024)
    {
        Interlocked.Increment(ref s_expected);
        return Extra(name, body, stackSize);
    }

    /// <summary>Starts a named thread which does not count.</summary>
    public static Thread Extra(string name, Action body, int stackSize = 512 * 1024)
    {
        Thread thread = new(() => body(), stackSize) { IsBackground = true, Name = name };
        thread.Start();
        return thread;
    }

    /// <summary>Expects more arrivals than actors (native threads, pool work).</summary>
    public static void Expect(int more) => Interlocked.Add(ref s_expected, more);

    /// <summary>The calling thread is where the scenario wants it.</summary>
    public static void InPlace() => Interlocked.Increment(ref s_inPlace);

    /// <summary>Counts in place and stands still in managed code's own waiting.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Park()
    {
        Lines.Keep();
        InPlace();
        Thread.Sleep(Timeout.Infinite);
    }

    /// <summary>Waits until everybody is in place.</summary>
    public static void AwaitAll()
    {
        long deadline = Environment.TickCount64 + 60_000;
        while (Volatile.Read(ref s_inPlace) + Native.InPlace() < Volatile.Read(ref s_expected))
        {
            if (Environment.TickCount64 > deadline)
            {
                Console.WriteLine($"FAILED {s_inPlace}+{Native.InPlace()} of {s_expected} in place");
                Environment.Exit(3);
            }
            Thread.Sleep(5);
        }
        Thread.Sleep(50);
    }
}
