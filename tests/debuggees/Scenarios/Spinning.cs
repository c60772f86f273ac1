using System.Runtime.CompilerServices;

namespace Scenarios;

/// <summary>Threads that never leave jitted code, and loops whose helpers a stop may hit.</summary>
internal static class Spinning
{
    private sealed class Node
    {
        public Node? Next;
        public object? Payload;
    }

    private static long s_sink;
    private static object?[] s_slots = new object?[64];

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Forever()
    {
        ulong x = 88172645463325252UL;
        while (x != 42)
        {
            x = Step(x);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static ulong Step(ulong x)
    {
        for (int k = 0; k < 200; k++)
        {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        return x;
    }

    [Scenario("spin")]
    private static void Spin()
    {
        Scene.Actor("spin", () =>
        {
            Scene.InPlace();
            Forever();
        });
        Scene.Actor("spin-optimized", () =>
        {
            Scene.InPlace();
            OptimizedOuter(3);
        });
    }

    // Inside a method that has no metadata, called by one that has.
    [Scenario("spin_dynamic")]
    private static void SpinDynamic() => Scene.Actor("spin-dynamic", () =>
    {
        // It returns something of its own: a call that is the last thing done would leave no frame.
        System.Reflection.Emit.DynamicMethod method = new("spins in <here>", typeof(int), [], typeof(Spinning).Module, true);
        System.Reflection.Emit.ILGenerator il = method.GetILGenerator();
        il.Emit(System.Reflection.Emit.OpCodes.Call, typeof(Spinning).GetMethod(nameof(Forever))!);
        il.Emit(System.Reflection.Emit.OpCodes.Ldc_I4_1);
        il.Emit(System.Reflection.Emit.OpCodes.Ret);
        Func<int> spin = method.CreateDelegate<Func<int>>();
        Scene.InPlace();
        spin();
    });

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static int OptimizedOuter(int n)
    {
        if (n <= 0)
        {
            return OptimizedLeaf(1);
        }
        return OptimizedOuter(n - 1) + n;
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static int OptimizedLeaf(int seed)
    {
        int x = seed;
        while (x != 0)
        {
            x = x * 1103515245 + 12345 | 1;
        }
        return x;
    }

    private interface IShape
    {
        long Area(long x);
    }

    private sealed class Square : IShape
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public long Area(long x) => x * x;
    }

    private sealed class Line : IShape
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public long Area(long x) => x;
    }

    private sealed class Point : IShape
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public long Area(long x) => 1;
    }

    // Calls through stubs of the runtime: an interface with several implementations, methods that may not be inlined.
    [Scenario("spin_stubs")]
    private static void SpinStubs() => Scene.Actor("stubs", () =>
    {
        Scene.InPlace();
        CallThroughStubs([new Square(), new Line(), new Point()]);
    });

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void CallThroughStubs(IShape[] shapes)
    {
        for (long i = 0; ; i++)
        {
            s_sink += shapes[i % shapes.Length].Area(i);
        }
    }

    // Calls as small as they get: most stops fall into a prologue or an epilogue.
    [Scenario("tiny_calls")]
    private static void TinyCalls() => Scene.Actor("tiny", () =>
    {
        Scene.InPlace();
        TinyLoop();
    });

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static void TinyLoop()
    {
        for (long i = 0; ; i++)
        {
            s_sink += Tiny(i) + WithFrame(i, i + 1, i + 2);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static long Tiny(long x) => x + 1;

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static long WithFrame(long a, long b, long c)
    {
        long x = Tiny(a), y = Tiny(b), z = Tiny(c);
        return x * y + z + a + b + c;
    }

    // Two loops that store references; nearly every store calls the write barrier, which lies in undescribed memory.
    [Scenario("barrier_field")]
    private static void BarrierField() => Scene.Actor("barrier", () =>
    {
        Scene.InPlace();
        BarrierFieldCaller();
    });

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static int BarrierFieldCaller()
    {
        int below = StoreFields(new Node(), new Node(), new object());
        return below + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static int StoreFields(Node a, Node b, object payload)
    {
        long turns = 0;  // 32 bits are counted through in a minute
        for (; ; )
        {
            a.Next = b;
            b.Next = a;
            a.Payload = payload;
            b.Payload = payload;
            turns++;
            if (turns < 0)
            {
                return (int)turns;
            }
        }
    }

    [Scenario("barrier_array")]
    private static void BarrierArray() => Scene.Actor("barrier", () =>
    {
        Scene.InPlace();
        BarrierArrayCaller();
    });

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static int BarrierArrayCaller()
    {
        int below = StoreElements(s_slots, "one", new object());
        return below + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static int StoreElements(object?[] slots, object first, object second)
    {
        for (int turns = 0; ; turns++)
        {
            slots[turns & 63] = first;
            slots[(turns + 7) & 63] = second;
            if (slots.Length == 1)
            {
                return turns;
            }
        }
    }

    // Allocation and type-check helpers under jitted code: no Frame, cooperative mode.
    [Scenario("helpers")]
    private static void Helpers()
    {
        Scene.Actor("allocating", () =>
        {
            Scene.InPlace();
            Allocate();
        });
        Scene.Actor("casting", () =>
        {
            Scene.InPlace();
            Cast(s_slots);
        });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Allocate()
    {
        for (int i = 0; ; i++)
        {
            s_slots[i & 63] = new byte[(i & 1023) + 1];
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Cast(object value)
    {
        for (; ; )
        {
            if (value is IEnumerable<string> texts)
            {
                s_sink += texts.GetHashCode();
            }
            s_sink++;
        }
    }
}
