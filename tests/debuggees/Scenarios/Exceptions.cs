using System.Runtime.CompilerServices;

namespace Scenarios;

internal static class Exceptions
{
    private sealed class ScenarioException(string message, Exception? inner = null) : Exception(message, inner);

    private static readonly string? s_null = Environment.GetEnvironmentVariable("SCEN_NO_SUCH_VARIABLE");

    [Scenario("funclets")]
    private static void Funclets()
    {
        Scene.Actor("catch", () => InCatch(3, false));
        Scene.Actor("catch-native", () => InCatch(3, true));
        Scene.Actor("finally", () => InFinally(3));
        Scene.Actor("finally-normal", InNormalFinally);
        Scene.Actor("fault", () => InIteratorFault());
        Scene.Actor("filter", () => InFilter(3, false));
    }

    // The first worked example of the StackWalk contract: a filter blocked in native code.
    [Scenario("filter_native")]
    private static void FilterNative() => Scene.Actor("filter-native", () => InFilter(3, true));

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Throw(int depth)
    {
        if (depth <= 0)
        {
            throw new ScenarioException("thrown");
        }
        int below = Throw(depth - 1);
        return below + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int InCatch(int depth, bool native)
    {
        int local = depth * 7;
        try
        {
            return Throw(depth);
        }
        catch (ScenarioException error)
        {
            Stand(native);
            return error.Message.Length + local;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Stand(bool native)
    {
        if (native)
        {
            Native.Block();
        }
        Scene.Park();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int InFinally(int depth)
    {
        try
        {
            try
            {
                return Throw(depth);
            }
            finally
            {
                Stand(true);
            }
        }
        catch (ScenarioException)
        {
            return 0;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void InNormalFinally()
    {
        try
        {
            Scene.Expect(0);
        }
        finally
        {
            Stand(false);
        }
    }

    private static IEnumerable<int> Faulty()
    {
        try
        {
            yield return 1;
            Throw(2);
        }
        finally
        {
            Stand(true);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void InIteratorFault()
    {
        try
        {
            foreach (int value in Faulty())
            {
                GC.KeepAlive(value);
            }
        }
        catch (ScenarioException)
        {
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int InFilter(int depth, bool native)
    {
        try
        {
            return Throw(depth);
        }
        catch (ScenarioException error) when (Filter(error, native))
        {
            return 0;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool Filter(Exception error, bool native)
    {
        Stand(native);
        return error.Message.Length > 0;
    }

    [Scenario("nested_exceptions")]
    private static void Nested()
    {
        Scene.Actor("catch-in-catch", () => CatchInCatch());
        Scene.Actor("filter-in-finally", () => FilterInFinally());
        Scene.Actor("throw-in-filter", () => ThrowInFilter());
        Scene.Actor("three-deep", () => Recursive(3));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int CatchInCatch()
    {
        try
        {
            return Throw(2);
        }
        catch (ScenarioException first)
        {
            try
            {
                return Throw(1) + first.HResult;
            }
            catch (ScenarioException second)
            {
                Stand(false);
                return second.HResult;
            }
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int FilterInFinally()
    {
        try
        {
            try
            {
                return Throw(2);
            }
            finally
            {
                InFilter(1, true);
            }
        }
        catch (ScenarioException)
        {
            return 1;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int ThrowInFilter()
    {
        try
        {
            return Throw(1);
        }
        catch (ScenarioException) when (InCatch(2, true) > 0)
        {
            return 1;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Recursive(int level)
    {
        try
        {
            return Throw(level);
        }
        catch (ScenarioException error)
        {
            if (level > 0)
            {
                return Recursive(level - 1) + error.HResult;
            }
            Stand(true);
            return 0;
        }
    }

    [Scenario("rethrow")]
    private static void Rethrow()
    {
        Scene.Actor("rethrow", () => OuterOfRethrow(false));
        Scene.Actor("rethrow-wrapped", () => OuterOfRethrow(true));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int OuterOfRethrow(bool wrap)
    {
        try
        {
            return InnerOfRethrow(wrap);
        }
        catch (ScenarioException error)
        {
            Stand(false);
            return error.HResult;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int InnerOfRethrow(bool wrap)
    {
        try
        {
            return Throw(2);
        }
        catch (ScenarioException error)
        {
            if (wrap)
            {
                throw new ScenarioException("wrapped", error);
            }
            throw;
        }
    }

    [Scenario("hardware_exceptions")]
    private static void Hardware()
    {
        Scene.Actor("null-reference", () => NullReference());
        Scene.Actor("divide", () => Divide(1, Program.Argument(5, 0)));
        Scene.Actor("null-filter", () => NullReferenceInFilter());
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int LengthOfNull() => s_null!.Length + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int NullReference()
    {
        try
        {
            return LengthOfNull();
        }
        catch (NullReferenceException error)
        {
            Stand(false);
            return error.HResult;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Divide(int left, int right)
    {
        try
        {
            return left / right;
        }
        catch (DivideByZeroException error)
        {
            Stand(true);
            return error.HResult;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int NullReferenceInFilter()
    {
        try
        {
            return LengthOfNull();
        }
        catch (NullReferenceException error) when (Filter(error, true))
        {
            return 0;
        }
    }

    [Scenario("exception_through_native")]
    private static unsafe void ThroughNative() => Scene.Actor("unmanaged-below", () =>
    {
        try
        {
            Native.Call(&CatchAboveNative, 0);
        }
        catch (ScenarioException)
        {
        }
    });

    [System.Runtime.InteropServices.UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int CatchAboveNative(nint argument) => InCatch(2, true) + (int)argument;

    [Scenario("exception_storm")]
    private static void Storm()
    {
        for (int i = 0; i < 2; i++)
        {
            Scene.Actor("thrower" + i, () =>
            {
                Scene.InPlace();
                for (; ; )
                {
                    ThrowAndCatch(4);
                }
            });
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int ThrowAndCatch(int depth)
    {
        try
        {
            return Throw(depth);
        }
        catch (ScenarioException error)
        {
            return error.HResult;
        }
    }
}
