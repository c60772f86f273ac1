using System.Runtime.CompilerServices;

namespace Scenarios;

internal static class Tiering
{
    private static long s_sink;

    // One method blocked three times: before, during and after its way from tier 0 to tier 1.
    [Scenario("tiers")]
    private static void Tiers()
    {
        Scene.Actor("tier0", () => Outer(1, true));
        Scene.AwaitAll();
        for (int round = 0; round < 40; round++)
        {
            for (int i = 0; i < 100; i++)
            {
                s_sink += Outer(i, false);
            }
            Thread.Sleep(10);
        }
        Scene.Actor("later", () => Outer(2, true));
        Thread.Sleep(400);
        for (int i = 0; i < 100; i++)
        {
            s_sink += Outer(i, false);
        }
        Thread.Sleep(300);
        Scene.Actor("tier1", () => Outer(3, true));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Outer(int value, bool block)
    {
        int below = Inner(value, block);
        return below + value;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Inner(int value, bool block)
    {
        if (block)
        {
            Native.Block();
        }
        return value * 3;
    }

    // On-stack replacement: the loop starts in tier 0 and is replaced while it runs.
    [Scenario("osr")]
    private static void Osr()
    {
        Scene.Actor("osr-blocked", () => LongLoop(300_000, true));
        Scene.Actor("osr-spinning", () => LongLoop(300_000, false));
        Scene.Actor("osr-nested", () => OsrCaller(300_000));
        Scene.Actor("osr-exception", () => LoopWithCatch(300_000));
    }

    private static int OsrCaller(int turns)
    {
        int below = LoopWithManyLocals(turns, 1, 2, 3, 4, 5, 6, 7);
        return below + 1;
    }

    private static int LongLoop(int turns, bool block)
    {
        int sum = 0;
        for (int i = 0; i < turns; i++)
        {
            sum += i ^ (sum >> 3);
        }
        // Still in the same activation: the body that runs now is the replacement.
        for (int i = 0; ; i++)
        {
            if (i == turns)
            {
                if (block)
                {
                    Native.Block();
                }
                Scene.InPlace();
            }
            sum += i;
            if (sum == 1 << 30)
            {
                break;
            }
        }
        return sum;
    }

    private static int LoopWithManyLocals(int turns, int a, int b, int c, int d, int e, int f, int g)
    {
        int sum = 0;
        string text = "x";
        for (int i = 0; i <= turns; i++)
        {
            (a, b, c, d, e, f, g) = (b, c, d, e, f, g, a + i);
            sum += a * b + c * d + e * f + g;
            if (i == turns)
            {
                Scene.Park();
            }
        }
        return sum + text.Length;
    }

    private static int LoopWithCatch(int turns)
    {
        int sum = 0;
        for (int i = 0; i <= turns; i++)
        {
            sum += i;
            if (i == turns)
            {
                try
                {
                    throw new InvalidOperationException("in a replaced loop");
                }
                catch (InvalidOperationException error)
                {
                    Native.Block();
                    sum += error.HResult;
                }
            }
        }
        return sum;
    }
}
