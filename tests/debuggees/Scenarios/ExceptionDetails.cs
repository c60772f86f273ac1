using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;

namespace Scenarios;

/// <summary>What exception objects carry, each held in flight by a thread that stands in the catch block.</summary>
internal static class ExceptionDetails
{
    private class Plain(string? message, Exception? inner = null) : Exception(message, inner);

    private sealed class Generic<T>(string message, Exception? inner = null) : Exception(message, inner);

    private sealed class WithCode : Plain
    {
        public WithCode() : base("has a code of its own") => HResult = unchecked((int)0x8badf00d);
    }

    [Scenario("exception_details")]
    private static void Details()
    {
        Hold("plain", () => throw new Plain("said \"so\"\n\tin two lines"));
        Hold("no-message", () => throw new Plain(null));
        Hold("empty-message", () => throw new Plain(""));
        Hold("code", () => throw new WithCode());
        Hold("generic", () => throw new Generic<Dictionary<string, int[]>>("of a type with arguments"));
        Hold("wide", () => throw new Plain("gr\u00fc\u00df \u65e5\u672c \U0001F600 \ud800 alone \udc00"));
        Hold("long", () => throw new Plain(new string('x', 4095) + "\U0001F600" + new string('y', 5000)));
        Hold("inner", () => throw new Plain("outer", new Generic<int>("middle", new WithCode())));
        Hold("thrown-inner", () => Wrap(3));
        Hold("aggregate", () => Task.WaitAll(Task.Run(() => Throw(1)), Task.Run(() => Throw(2))));
        Hold("aggregate-empty", () => throw new AggregateException("of nothing"));
        Hold("many-inner", () => throw new AggregateException("many", Enumerable.Range(0, 40).Select(i => new Plain("part " + i))));
        Hold("deep-inner", () => throw Chain(40));
        Hold("cycle", () => throw Cycle());
        Hold("framework", () => int.Parse("no number"));
        Hold("argument", () => ArgumentNullException.ThrowIfNull((object?)null, "what"));
        Hold("out-of-range", () => GC.KeepAlive("ab"[Program.Argument(5, 7)]));
        Hold("cast", () => GC.KeepAlive((string)Boxed()));
        Hold("type-initializer", () => GC.KeepAlive(Broken.Value));
        Hold("reflection", () => typeof(ExceptionDetails).GetMethod(nameof(Throw), BindingFlags.NonPublic | BindingFlags.Static)!.Invoke(null, [1]));
        Hold("dispatch-info", Redispatch);
        Hold("dynamic-method", () => DynamicThrower()());
        Hold("deep-throw", () => Throw(3000));
        Hold("async", () => ThrowLater().GetAwaiter().GetResult());
        Scene.Actor("over", () =>
        {
            try
            {
                Throw(1);
            }
            catch (Plain)
            {
            }
            Scene.Park();
        });
        Scene.Actor("never", Scene.Park);
    }

    /// <summary>A thread that stands in a catch block.</summary>
    private static void Hold(string name, Action body) => Scene.Actor(name, () =>
    {
        try
        {
            body();
        }
        catch (Exception error)
        {
            Scene.Park();
            GC.KeepAlive(error);
        }
    }, 1024 * 1024);



    private static object Boxed() => new Generic<int>("boxed");

    private static class Broken
    {
        public static readonly object Value = Throw(1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static object Throw(int depth)
    {
        if (depth <= 0)
        {
            throw new Plain("from below");
        }
        object below = Throw(depth - 1);
        return below;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Wrap(int depth)
    {
        try
        {
            Throw(depth);
        }
        catch (Plain error)
        {
            throw new Plain("from above", error);
        }
    }

    private static Plain Chain(int length) =>
        length == 0 ? new Plain("link 0") : new Plain("link " + length, Chain(length - 1));

    private static Plain Cycle()
    {
        Plain inner = new("tail");
        Plain outer = new("head", inner);
        typeof(Exception).GetField("_innerException", BindingFlags.NonPublic | BindingFlags.Instance)!.SetValue(inner, outer);
        return outer;
    }

    private static void Redispatch()
    {
        ExceptionDispatchInfo? caught = null;
        try
        {
            Throw(2);
        }
        catch (Plain error)
        {
            caught = ExceptionDispatchInfo.Capture(error);
        }
        caught?.Throw();
    }

    private static Action DynamicThrower()
    {
        System.Reflection.Emit.DynamicMethod method = new("Thrower", null, []);
        System.Reflection.Emit.ILGenerator il = method.GetILGenerator();
        il.Emit(System.Reflection.Emit.OpCodes.Ldstr, "from dynamic code");
        il.Emit(System.Reflection.Emit.OpCodes.Newobj, typeof(InvalidOperationException).GetConstructor([typeof(string)])!);
        il.Emit(System.Reflection.Emit.OpCodes.Throw);
        return method.CreateDelegate<Action>();
    }

    private static async Task ThrowLater()
    {
        await Task.Delay(1);
        Throw(1);
    }
}
