using System.Runtime.CompilerServices;

namespace Scenarios;

internal static class Depth
{
    [Scenario("sleep")]
    private static void Sleep()
    {
        Scene.Actor("sleeper", Scene.Park);
        Scene.Actor("native-sleeper", Native.Block);
    }

    [Scenario("deep")]
    private static void Deep()
    {
        int depth = Program.Argument(0, 20_000);
        Scene.Actor("deep", () => Even(depth), 256 * 1024 * 1024);
    }

    [Scenario("big_frames")]
    private static void BigFrames()
    {
        Scene.Actor("big", () => Big(12, 1, 2, 3, 4, 5, 6, 7, 8.0, 9.0m), 8 * 1024 * 1024);
        Scene.Actor("localloc", () => Localloc(40), 8 * 1024 * 1024);
        Scene.Actor("spilled", () => Spilled(30, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 8 * 1024 * 1024);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Even(int n)
    {
        if (n <= 0)
        {
            Native.Block();
            return 0;
        }
        int below = Odd(n - 1);
        return below + n;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Odd(int n)
    {
        if (n <= 0)
        {
            Native.Block();
            return 1;
        }
        int below = Even(n - 1);
        return below ^ n;
    }

    private unsafe struct Page
    {
        public fixed byte Bytes[3 * 4096 + 17];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static unsafe int Big(int n, long a, long b, long c, long d, long e, long f, long g, double h, decimal i)
    {
        Page page;
        page.Bytes[n] = (byte)n;
        if (n <= 0)
        {
            Scene.Park();
            return page.Bytes[0];
        }
        int below = Big(n - 1, b, c, d, e, f, g, a, h + 1, i + 1);
        return below + page.Bytes[n];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static unsafe int Localloc(int n)
    {
        byte* room = stackalloc byte[100 + n * 37];
        room[n] = (byte)n;
        if (n <= 0)
        {
            Native.Block();
            return room[0];
        }
        int below = Localloc(n - 1);
        return below + room[n];
    }

    // Enough live values across the call to use every callee-saved register.
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static int Spilled(int n, int a, int b, int c, int d, int e, int f, int g, int h, int i, int j)
    {
        int p = a * b, q = c * d, r = e ^ f, s = g - h, t = i + j;
        if (n <= 0)
        {
            Native.Block();
            return p + q + r + s + t;
        }
        int below = Spilled(n - 1, b, c, d, e, f, g, h, i, j, a);
        return below + p * q + r * s + t + a + b + c + d + e + f + g + h + i + j;
    }
}
