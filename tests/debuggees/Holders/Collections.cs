// Collections that are made of types of their own, which are not nested in theirs.
using System.Collections.Concurrent;
using System.Collections.Immutable;
using System.Runtime.CompilerServices;

namespace Holders;

internal static class Collections
{
    private static readonly LinkedList<long> s_linked = new();
    private static readonly ConcurrentQueue<Order> s_queue = new();
    private static readonly SortedDictionary<int, Order> s_sorted = [];
    private static readonly ConcurrentStack<byte[]> s_stack = new();
    private static readonly ConcurrentDictionary<int, byte[]> s_map = new();
    private static readonly SortedDictionary<int, byte[]> s_tree = [];
    private static ImmutableDictionary<int, Order> s_immutable = ImmutableDictionary<int, Order>.Empty;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Fill(int count)
    {
        for (int i = 0; i < count; i++)
        {
            s_linked.AddLast(i);
            s_queue.Enqueue(new Order(i));
            s_sorted[i] = new Order(i);
            s_stack.Push(new byte[100]);
            s_map[i] = new byte[100];
            s_tree[i] = new byte[100];
        }
        s_immutable = s_immutable.AddRange(Enumerable.Range(0, count).Select(i => KeyValuePair.Create(i, new Order(i))));
        Shapes.Truth("items", count);
    }
}
