using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Churn;

/// <summary>
/// The end of a word: what the thread does there, in slices of a fraction of a millisecond with rests between. A steady
/// thread never leaves it. Each leaf has one method of its own, which stands on the stack all the while.
/// </summary>
internal static class Leaves
{
    public const string Letters = "abcdefghijk";

    private const int Turns = 400;
    private static readonly object s_gate = new();
    private static readonly object?[] s_shared = new object?[64];
    private static long s_sink;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Run(Walk walk, char leaf)
    {
        int slices = walk.Steady ? int.MaxValue : walk.Random.Next(1, 4), sum = 0;
        for (int i = 0; i < slices; i++)
        {
            sum += leaf switch
            {
                'a' => Allocate(walk),
                'b' => Store(walk),
                'c' => Collect(walk),
                'd' => Dispatch(walk),
                'e' => Except(walk),
                'f' => Lock(walk),
                'g' => CompileCode(walk),
                'h' => CallNative(walk),
                'i' => Pool(walk),
                'j' => Instantiate(walk),
                'k' => Spin(walk),
                _ => throw new InvalidOperationException(),
            };
            walk.Count();
            walk.Rest();
        }
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Allocate(Walk walk)
    {
        for (int i = 0; i < Turns; i++)
        {
            s_shared[(walk.Number + i) & 63] = i % 50 == 0 ? new byte[100_000] : NewArray(i);
        }
        walk.Kept = string.Concat(walk.Word, walk.Number.ToString());
        return s_shared.Length;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int[] NewArray(int size)
    {
        int[] made = new int[size & 255];
        return made.Length == 3 ? [1] : made;
    }

    private sealed class Node
    {
        public Node? Next;
        public object? Value;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Store(Walk walk)
    {
        Node first = new();
        for (int i = 0; i < Turns * 5; i++)
        {
            StoreOnce(first, i);
        }
        walk.Kept = first;
        return 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int StoreOnce(Node node, int i)
    {
        node.Next = node;
        node.Value = s_gate;
        s_shared[i & 63] = node.Value;
        return i;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Collect(Walk walk)
    {
        GC.Collect(walk.Random.Next(10) == 0 ? 2 : walk.Random.Next(2), GCCollectionMode.Forced, walk.Random.Next(2) == 0);
        return 1;
    }

    private static readonly object[] s_kinds = ["text", 12, new int[1], new List<int>(), 'c'];

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Dispatch(Walk walk)
    {
        int sum = walk.Number;
        for (int i = 0; i < Turns * 2; i++)
        {
            sum += Look(s_kinds[i % s_kinds.Length]);
        }
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Look(object value)
    {
        int sum = value is IComparable comparable ? comparable.GetHashCode() : 3;
        return value is IEnumerable<int> list ? sum + list.Count() : sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Except(Walk walk)
    {
        int caught = 0;
        for (int i = 0; i < 6; i++)
        {
            try
            {
                Fail(walk, i);
            }
            catch (ArgumentException error) when (error.Message.Length > 0)
            {
                caught++;
            }
            catch (NullReferenceException)
            {
                caught++;
            }
        }
        return caught;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Fail(Walk walk, int i)
    {
        if (i % 3 == 0)
        {
            walk = null!;
        }
        return walk.Number > 0 ? throw new ArgumentException("no") : i;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Lock(Walk walk)
    {
        for (int i = 0; i < 10; i++)
        {
            lock (s_gate)
            {
                s_sink += walk.Number;
                if (i == 9)
                {
                    Monitor.Wait(s_gate, 1);
                }
                Monitor.PulseAll(s_gate);
            }
        }
        return 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int CompileCode(Walk walk)
    {
        Walk own = new(walk.Number, "k", false);
        Func<Walk, int, int> made = Making.Dynamic(own);
        walk.Kept = made;
        return made.Method.Name.Length;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static unsafe int CallNative(Walk walk)
    {
        int* values = stackalloc int[64];
        for (int i = 0; i < 64; i++)
        {
            values[i] = walk.Random.Next();
        }
        return Native.Sort(values, 64, &Compare);
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static unsafe int Compare(int* left, int* right) => left->CompareTo(*right);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Pool(Walk walk)
    {
        Task<int> task = Task.Run(async () =>
        {
            await Task.Yield();
            return walk.Number;
        });
        return task.Wait(1000) ? task.Result : 0;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Instantiate(Walk walk)
    {
        Walk own = new(walk.Number, "k", false);
        Func<Walk, int, int> made = Making.Instantiation();
        int sum = 0;
        for (int i = 0; i < 40; i++)
        {
            sum += Hot(own, made, i);
        }
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Hot(Walk walk, Func<Walk, int, int> made, int i) => made.Target is null ? i : walk.Number + made.Method.Name.Length;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Spin(Walk walk)
    {
        int x = walk.Number;
        for (int i = 0; i < Turns * 50; i++)
        {
            x = Step(x);
        }
        return x;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Step(int x) => x * 31 + 7;
}
