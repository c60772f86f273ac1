using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Scenarios;

/// <summary>A program whose processor time is known: 60, 30 and 10 % in three methods that native code calls.</summary>
internal static unsafe class Split
{
    private struct TimeSpec
    {
        public long Seconds, Nanoseconds;
    }

    private const int ThreadCpuTime = 3;  // CLOCK_THREAD_CPUTIME_ID

    private static ulong s_sink = 88172645463325252UL;

    [DllImport("libc", EntryPoint = "clock_gettime")]
    private static extern int ClockGetTime(int clock, TimeSpec* time);

    private static long CpuTime()
    {
        TimeSpec time;
        ClockGetTime(ThreadCpuTime, &time);
        return time.Seconds * 1_000_000_000 + time.Nanoseconds;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Burn(long milliseconds)
    {
        long end = CpuTime() + milliseconds * 1_000_000;
        while (CpuTime() < end)
        {
            for (int i = 0; i < 2000; i++)
            {
                s_sink ^= s_sink << 13;
                s_sink ^= s_sink >> 7;
            }
        }
        return (int)s_sink;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Sixty() => Burn(6) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Thirty() => Burn(3) + 2;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Ten() => Burn(1) + 3;

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int Choose(nint which) => which switch { 0 => Sixty(), 1 => Thirty(), _ => Ten() };

    [Scenario("split")]
    private static void Work()
    {
        Scene.Actor("split", () =>
        {
            Scene.InPlace();
            for (; ; )
            {
                for (nint which = 0; which < 3; which++)
                {
                    Native.Call(&Choose, which);
                }
            }
        });
        Scene.Actor("waits", () => Scene.Park());
    }

    /// <summary>The same, while methods are compiled, tiered up and freed all the time.</summary>
    [Scenario("split_moving")]
    private static void WorkWhileCodeMoves()
    {
        Work();
        Scene.Actor("compiles", () =>
        {
            Scene.InPlace();
            for (int i = 0; ; i++)
            {
                System.Reflection.Emit.DynamicMethod method = new("moving" + i, typeof(int), [], typeof(Split).Module, true);
                System.Reflection.Emit.ILGenerator il = method.GetILGenerator();
                for (int k = 0; k < 100 + i % 400; k++)
                {
                    il.Emit(System.Reflection.Emit.OpCodes.Ldc_I4, k);
                    il.Emit(System.Reflection.Emit.OpCodes.Pop);
                }
                il.Emit(System.Reflection.Emit.OpCodes.Call, typeof(Split).GetMethod(nameof(Moment))!);
                il.Emit(System.Reflection.Emit.OpCodes.Ldc_I4_1);
                il.Emit(System.Reflection.Emit.OpCodes.Add);
                il.Emit(System.Reflection.Emit.OpCodes.Ret);
                method.CreateDelegate<Func<int>>()();
                if (i % 50 == 0)
                {
                    GC.Collect();
                    GC.WaitForPendingFinalizers();
                }
            }
        });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Moment() => Burn(2);
}
