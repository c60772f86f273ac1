namespace Churn;

/// <summary>
/// A program under stress whose threads say in their names which frames they may have. See tests/stress/README.md.
/// Churn [steady threads] [short-lived threads at a time] [milliseconds between bursts] [seed]
/// </summary>
internal static class Program
{
    private const int CountedSignal = 40;
    private static long s_born;

    /// <summary>A field: a property would be a frame of its own where nothing is inlined.</summary>
    public static int Tick = 30;

    private static void Main(string[] arguments)
    {
        int Argument(int index, int otherwise) => index < arguments.Length ? int.Parse(arguments[index]) : otherwise;
        int steady = Argument(0, 14), brief = Argument(1, 10), seed = Argument(3, 1);
        Tick = Argument(2, 30);
        Native.CountSignals(CountedSignal);
        Random random = new(seed);
        for (int i = 0; i < steady; i++)
        {
            Begin(Walk.New(random, true));
        }
        for (int i = 0; i < 2; i++)
        {
            Random own = new(seed * 31 + i);
            int count = (brief + i) / 2;
            new Thread(() => Mother(own, count)) { IsBackground = true, Name = "mother" + i }.Start();
        }
        while (Walk.Settled < steady || Walk.Progress < steady + brief)
        {
            Thread.Sleep(10);
        }
        Console.WriteLine($"READY {Environment.ProcessId}");
        Answer();
    }

    private static Thread Begin(Walk walk)
    {
        Thread thread = new(() => Links.Start(walk), 512 * 1024) { IsBackground = true, Name = walk.Name };
        thread.Start();
        Interlocked.Increment(ref s_born);
        return thread;
    }

    /// <summary>Keeps so many short-lived threads alive.</summary>
    private static void Mother(Random random, int count)
    {
        Queue<Thread> children = [];
        for (; ; )
        {
            while (children.Count < count)
            {
                children.Enqueue(Begin(Walk.New(random, false)));
            }
            Thread oldest = children.Dequeue();
            if (!oldest.Join(2))
            {
                children.Enqueue(oldest);
            }
        }
    }

    private static void Answer()
    {
        while (Console.ReadLine() is { } line)
        {
            switch (line)
            {
                case "signals": Console.WriteLine($"SIGNALS {Native.SignalsGot()}"); break;
                case "progress": Console.WriteLine($"PROGRESS {Walk.Progress} {Volatile.Read(ref s_born)} {GC.CollectionCount(0)}"); break;
                case "jitted": Console.WriteLine($"JITTED {System.Runtime.JitInfo.GetCompiledMethodCount()}"); break;
                case "quit": return;
            }
        }
        Thread.Sleep(Timeout.Infinite);
    }
}
