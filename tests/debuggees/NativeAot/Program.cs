// A program without a JIT: compiled ahead of time, its runtime inside. With a number it holds so many arrays of 1000 bytes
// and, for each hundred of them, a large one, and says how many bytes these are and what its heap has (lines TRUTH).
using System.Runtime.CompilerServices;

if (args.Length > 0)
{
    Arrays.Hold(int.Parse(args[0]));
}

new Thread(() => Sleeper.Sleep(5)) { IsBackground = true, Name = "aot-sleeper" }.Start();
while (!Sleeper.Sleeps)
{
    Thread.Yield();
}
Console.WriteLine($"READY {Environment.ProcessId}");
Console.ReadLine();

internal static class Arrays
{
    private const int Small = 1000, Large = 100_000;
    private static readonly List<byte[]> s_small = [], s_large = [];

    public static void Hold(int count)
    {
        for (int i = 0; i < count; i++)
        {
            s_small.Add(new byte[Small]);
            if (i % 100 == 0)
            {
                s_large.Add(new byte[Large]);
                Array.Fill(s_large[^1], (byte)1);
            }
        }
        GC.Collect();
        GC.Collect();
        Console.WriteLine($"TRUTH small {(long)s_small.Count * Small}");
        Console.WriteLine($"TRUTH large {(long)s_large.Count * Large}");
        Console.WriteLine($"TRUTH heap {GC.GetTotalMemory(false)}");
    }
}

internal static class Sleeper
{
    public static volatile bool Sleeps;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Sleep(int n)
    {
        if (n > 0)
        {
            Sleep(n - 1);
            GC.KeepAlive(n);
            return;
        }
        Sleeps = true;
        Thread.Sleep(Timeout.Infinite);
    }
}
