using System.Collections.Concurrent;

namespace Scenarios;

/// <summary>Callbacks blocked below precompiled (ReadyToRun) framework code and its generics.</summary>
internal static class Framework
{
    private sealed class BlockingComparer<T> : IComparer<T>, IEqualityComparer<T> where T : notnull
    {
        public int Compare(T? x, T? y)
        {
            Scene.Park();
            return 0;
        }

        public bool Equals(T? x, T? y)
        {
            Scene.Park();
            return false;
        }

        public int GetHashCode(T value) => 1;
    }

    private static int Stand(int value)
    {
        Scene.Park();
        return value;
    }

    [Scenario("r2r_generics")]
    private static void Generics()
    {
        Scene.Actor("list-foreach", () => new List<int> { 1, 2 }.ForEach(value => Stand(value)));
        Scene.Actor("list-foreach-ref", () => new List<string> { "a" }.ForEach(text => Stand(text.Length)));
        Scene.Actor("array-sort", () => Array.Sort(new[] { "b", "a", "c" }, new BlockingComparer<string>()));
        Scene.Actor("array-sort-long", () => Array.Sort(new[] { 3L, 2L, 1L }, (a, b) => Stand((int)(a - b))));
        Scene.Actor("dictionary", () =>
        {
            Dictionary<string, long> map = new(new BlockingComparer<string>()) { ["a"] = 1 };
            map["b"] = 2;
        });
        Scene.Actor("dictionary-struct", () =>
        {
            Dictionary<(int, string), decimal> map = new(new BlockingComparer<(int, string)>()) { [(1, "a")] = 1 };
            map[(1, "b")] = 2;
        });
        Scene.Actor("linq", () => Enumerable.Range(0, 10).Where(x => x > 3).Select(x => (double)x).OrderBy(x => Stand((int)x)).ToList());
        Scene.Actor("linq-group", () => new[] { "a", "b" }.GroupBy(text => Stand(text.Length)).ToDictionary(group => group.Key, group => group.ToArray()));
        Scene.Actor("lazy", () => GC.KeepAlive(new Lazy<int>(() => Stand(1)).Value));
        Scene.Actor("concurrent", () => new ConcurrentDictionary<Guid, string>().GetOrAdd(Guid.Empty, key => Stand(key.GetHashCode()).ToString()));
        Scene.Actor("string-create", () => string.Create(3, 7, (span, state) => span[0] = (char)Stand(state)));
        Scene.Actor("array-convert", () => Array.ConvertAll(new[] { 1, 2 }, value => (object)Stand(value)));
        Scene.Actor("span-sort", () => new[] { 3, 1, 2 }.AsSpan().Sort((a, b) => Stand(a - b)));
        Scene.Actor("immutable", () => System.Collections.Immutable.ImmutableInterlocked.Update(ref s_immutable, list => list.Add(Stand(1))));
        Scene.Actor("regex", () => System.Text.RegularExpressions.Regex.Replace("aab", "a+", match => Stand(match.Length).ToString()));
        Scene.Actor("parallel", () => Parallel.For(0, 1, value => Stand(value)));
    }

    private static System.Collections.Immutable.ImmutableList<int> s_immutable = [];

    [Scenario("reflection")]
    private static void Reflection()
    {
        Scene.Actor("method-invoke", () => typeof(Framework).GetMethod(nameof(Stand), (System.Reflection.BindingFlags)0x28)!.Invoke(null, [5]));
        Scene.Actor("dynamic-invoke", () => new Func<int, int>(Stand).DynamicInvoke(6));
        Scene.Actor("activator", () => Activator.CreateInstance(typeof(Constructed), 7));
        Scene.Actor("activator-generic", () => Activator.CreateInstance<Constructed>());
        Scene.Actor("multicast", () =>
        {
            Func<int, int> both = value => value;
            both += Stand;
            both(8);
        });
        Scene.Actor("open-static", () => ((Func<int, int>)Delegate.CreateDelegate(typeof(Func<int, int>), typeof(Framework).GetMethod(nameof(Stand), (System.Reflection.BindingFlags)0x28)!))(9));
        Scene.Actor("closed-static", () => ((Func<int>)ClosedOverText.Create("text"))());
        Scene.Actor("virtual-generic", () => new Derived().Virtual<string, int>("a", 1));
        Scene.Actor("interface-generic", () => ((IGeneric)new Derived()).Do<long>(3));
    }

    private sealed class Constructed
    {
        public Constructed() : this(0)
        {
        }

        public Constructed(int value) => Stand(value);
    }

    private static class ClosedOverText
    {
        public static Func<int> Create(string text) => text.StandHere;

        private static void Unused()
        {
        }
    }

    private static int StandHere(this string text) => Stand(text.Length);

    private interface IGeneric
    {
        int Do<T>(T value);
    }

    private class Base
    {
        public virtual int Virtual<T, TOther>(T value, TOther other) => 0;
    }

    private sealed class Derived : Base, IGeneric
    {
        public override int Virtual<T, TOther>(T value, TOther other) => Stand(value!.GetHashCode() ^ other!.GetHashCode());

        int IGeneric.Do<T>(T value) => Stand(value!.GetHashCode());
    }
}
