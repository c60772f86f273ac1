using System.Runtime.CompilerServices;

namespace Scenarios
{
    /// <summary>Every shape a method's name and signature can take.</summary>
    internal static unsafe class Names
    {
        [Scenario("generics")]
        private static void Generics()
        {
            Scene.Actor("value", () => new Shapes.Box<int>().Open(1));
            Scene.Actor("reference", () => new Shapes.Box<string>().Open("a"));
            Scene.Actor("nested-argument", () => new Shapes.Box<List<Dictionary<int, string[]>>>().Open(null!));
            Scene.Actor("struct-generic", () => new Shapes.Pair<int, string>(1, "a").Meet());
            Scene.Actor("struct-of-struct", () => new Shapes.Pair<Shapes.Pair<int, long>, KeyValuePair<byte, char>>(default, default).Meet());
            Scene.Actor("generic-method-value", () => Shapes.Static.Method<int, Guid>(1, default));
            Scene.Actor("generic-method-reference", () => Shapes.Static.Method<string, object>("a", new()));
            Scene.Actor("generic-method-mixed", () => Shapes.Static.Method<string, int>("a", 1));
            Scene.Actor("nested-generic", () => new Shapes.Outer<int>.Inner<string>().Mixed<DateTime>(1, "a", default));
            Scene.Actor("nested-plain", () => new Shapes.Outer<long>.Plain().Stay([1L]));
            Scene.Actor("static-generic", () => Shapes.Outer<string>.Shared("s"));
            Scene.Actor("default-interface", () => ((Shapes.IDefault<int>)new Shapes.Implementation()).Default(1));
            Scene.Actor("static-abstract", () => Shapes.Static.ThroughConstraint<Shapes.Implementation>());
            Scene.Actor("array-of-generic", () => Shapes.Static.Arrays<int>(new List<int>[2, 2], [[]], null!));
        }

        [Scenario("signatures")]
        private static void Signatures()
        {
            Scene.Actor("arrays", () => Arrays([1], new string[1, 1], [[1L]], new double[1, 1, 1], []));
            Scene.Actor("pointers", () => { int a = 1; int* p = &a; Pointers(p, &p, null, (Shapes.Pair<int, int>*)null); });
            Scene.Actor("byrefs", () => { int a = 1; string b = "x"; ByRefs(ref a, out _, in a, ref b); });
            Scene.Actor("function-pointers", () => FunctionPointers(null, null, null));
            Scene.Actor("primitives", () => Primitives(true, 'c', 1, 2, 3, 4, 5, 6, 7, 8, 9f, 10d, 11, 12, "s", new()));
            Scene.Actor("library-types", () => Library(1m, default, default, DayOfWeek.Friday, null, (1, "a"), new object()));
            Scene.Actor("spans", () => Spans("text".AsSpan(), stackalloc int[3]));
            Scene.Actor("nullable-params", () => Params(null, 1, 2, 3));
            Scene.Actor("overload-int", () => Overload(1));
            Scene.Actor("overload-string", () => Overload("a"));
            Scene.Actor("overload-array", () => Overload(new[] { "a" }));
            Scene.Actor("no-namespace", () => new NoNamespace.Nested().Stand(default));
            Scene.Actor("ref-return", () => GC.KeepAlive(RefReturn(new int[1])));
            Scene.Actor("typed-reference", () => { int a = 1; TypedReferences(__makeref(a)); });
            Scene.Actor("unicode", () => Größe("ü"));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Arrays(int[] a, string[,] b, long[][] c, double[,,] d, List<int>[] e) { Scene.Park(); GC.KeepAlive(a); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Pointers(int* a, int** b, void* c, Shapes.Pair<int, int>* d) { Scene.Park(); GC.KeepAlive(null); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void ByRefs(ref int a, out long b, in int c, ref string d) { b = 1; Scene.Park(); GC.KeepAlive(d); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void FunctionPointers(delegate*<int, string> a, delegate* unmanaged[Cdecl]<void*, int> b, delegate*<void> c) { Scene.Park(); GC.KeepAlive(null); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Primitives(bool a, char b, sbyte c, byte d, short e, ushort f, int g, uint h, long i, ulong j, float k, double l, nint m, nuint n, string o, object p) { Scene.Park(); GC.KeepAlive(o); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Library(decimal a, DateTime b, Guid c, DayOfWeek d, int? e, (int, string) f, dynamic g) { Scene.Park(); GC.KeepAlive(null); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Spans(ReadOnlySpan<char> a, Span<int> b) { Scene.Park(); GC.KeepAlive(null); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Params(string? text, params int[] values) { Scene.Park(); GC.KeepAlive(values); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Overload(int value) { Scene.Park(); GC.KeepAlive(null); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Overload(string value) { Scene.Park(); GC.KeepAlive(null); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Overload(string[] value) { Scene.Park(); GC.KeepAlive(null); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static ref int RefReturn(int[] values) { Scene.Park(); return ref values[0]; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void TypedReferences(TypedReference value) { Scene.Park(); GC.KeepAlive(null); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Größe(string ü) { Scene.Park(); GC.KeepAlive(ü); }

        [Scenario("members")]
        private static void Members()
        {
            Scene.Actor("operator", () => GC.KeepAlive(new Shapes.Money(1) + new Shapes.Money(2)));
            Scene.Actor("implicit", () => { Shapes.Money money = 5; GC.KeepAlive(money); });
            Scene.Actor("explicit", () => GC.KeepAlive((string)new Shapes.Money(3)));
            Scene.Actor("unary", () => GC.KeepAlive(-new Shapes.Money(3)));
            Scene.Actor("checked", () => { checked { GC.KeepAlive(new Shapes.Money(1) * new Shapes.Money(2)); } });
            Scene.Actor("property", () => GC.KeepAlive(new Shapes.Members().Property));
            Scene.Actor("indexer", () => GC.KeepAlive(new Shapes.Members()[1, "a"]));
            Scene.Actor("setter", () => new Shapes.Members().Property = 2);
            Scene.Actor("event", () => new Shapes.Members().Changed += () => { });
            Scene.Actor("constructor", () => GC.KeepAlive(new Shapes.Members(1, "a")));
            Scene.Actor("static-constructor", () => GC.KeepAlive(Shapes.BlockedType.Value));
            Scene.Actor("waits-for-static-constructor", () => { Thread.Sleep(300); Scene.InPlace(); GC.KeepAlive(Shapes.BlockedType.Value); });
            Scene.Actor("generic-static-constructor", () => Shapes.BlockedGeneric<string>.Touch());
            Scene.Actor("explicit-interface", () => ((IComparable<Shapes.Members>)new Shapes.Members()).CompareTo(null));
            Scene.Actor("explicit-generic-interface", () => ((Shapes.IDefault<string>)new Shapes.Explicit()).Required("a"));
            Scene.Actor("explicit-dispose", () => { using Shapes.Explicit value = new(); });
            Scene.Actor("virtual", () => new Shapes.Explicit().ToString());
            Scene.Actor("extension", () => "text".Extended(1));
            Scene.Expect(1);
            MakeGarbage();
            GC.Collect();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void MakeGarbage() => GC.KeepAlive(new Shapes.Finalized());

        private static int Extended(this string text, int value) { Scene.Park(); return text.Length + value; }
    }
}

internal class NoNamespace
{
    internal struct Nested
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public readonly void Stand(Nested other) { Scenarios.Scene.Park(); GC.KeepAlive(null); }
    }
}
