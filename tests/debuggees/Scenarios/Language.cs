using System.Runtime.CompilerServices;

namespace Scenarios;

/// <summary>What the compiler makes of language features: state machines, closures, local functions.</summary>
internal static class Language
{
    [Scenario("async")]
    private static void Async()
    {
        Scene.Actor("async-synchronous", () => Outer(0).GetAwaiter().GetResult());
        Scene.Expect(1);
        _ = Task.Run(() => Outer(10));
        Scene.Actor("async-value", () => ValueOuter<string>("a", 0).AsTask().Wait());
        Scene.Actor("async-stream", () => Consume().Wait());
        Scene.Actor("async-lambda", () => ((Func<int, Task<int>>)(async n =>
        {
            await Task.CompletedTask;
            Scene.Park();
            return n;
        }))(3).Wait());
        Scene.Actor("async-catch", () => InCatch().Wait());
        Scene.Actor("async-generic", () => new Machine<DateTime>().Run<int>(1).Wait());
    }

    private static async Task<int> Outer(int delay)
    {
        int value = await Middle(delay);
        return value + 1;
    }

    private static async Task<int> Middle(int delay)
    {
        if (delay > 0)
        {
            await Task.Delay(delay).ConfigureAwait(false);
        }
        int value = await Inner();
        return value * 2;
    }

    private static async Task<int> Inner()
    {
        await Task.Yield();
        Scene.Park();
        return 1;
    }

    private static async ValueTask<T> ValueOuter<T>(T value, int turns)
    {
        await default(ValueTask);
        Scene.Park();
        return turns > 0 ? await ValueOuter(value, turns - 1) : value;
    }

    private static async IAsyncEnumerable<int> Produce([EnumeratorCancellation] CancellationToken token = default)
    {
        yield return 1;
        await Task.CompletedTask;
        Scene.Park();
        yield return 2;
    }

    private static async Task<int> Consume()
    {
        int sum = 0;
        await foreach (int value in Produce())
        {
            sum += value;
        }
        return sum;
    }

    private static async Task InCatch()
    {
        try
        {
            await Task.FromException(new InvalidOperationException("async"));
        }
        catch (InvalidOperationException)
        {
            Scene.Park();
        }
    }

    private sealed class Machine<T>
    {
        public async Task<TResult> Run<TResult>(TResult result)
        {
            await Task.CompletedTask;
            Scene.Park();
            return result;
        }
    }

    [Scenario("iterators")]
    private static void Iterators()
    {
        Scene.Actor("iterator", () => { foreach (int value in Numbers(3)) { GC.KeepAlive(value); } });
        Scene.Actor("iterator-nested", () => { foreach (string text in Texts(Numbers(2), "x")) { GC.KeepAlive(text); } });
        Scene.Actor("iterator-generic", () => GC.KeepAlive(new Sequence<long>().All<string>(5, "y").Count()));
    }

    private static IEnumerable<int> Numbers(int count)
    {
        for (int i = 0; i < count; i++)
        {
            yield return i;
        }
        Scene.Park();
    }

    private static IEnumerable<string> Texts<T>(IEnumerable<T> source, string prefix)
    {
        foreach (T value in source)
        {
            yield return prefix + value;
        }
    }

    private sealed class Sequence<T>
    {
        public IEnumerable<(T, TOther)> All<TOther>(T value, TOther other)
        {
            yield return (value, other);
            Scene.Park();
        }
    }

    [Scenario("lambdas")]
    private static void Lambdas()
    {
        int captured = Program.Argument(0, 5);
        Scene.Actor("static-lambda", () => Run(static () => Scene.Park()));
        Scene.Actor("capturing-lambda", () => Run(() => { captured++; Scene.Park(); }));
        Scene.Actor("nested-lambda", () => Run(() => Run(() => Run(() => { captured--; Scene.Park(); }))));
        Scene.Actor("local-function", () =>
        {
            int n = captured;
            Local(2);
            void Local(int depth)
            {
                if (depth > 0)
                {
                    Local(depth - 1);
                    n++;
                    return;
                }
                InnerLocal<string>("z");
            }
            static void InnerLocal<T>(T value)
            {
                Scene.Park();
                GC.KeepAlive(value);
            }
        });
        Scene.Actor("generic-lambda", () => GenericLambda(new List<int>()));
        Scene.Actor("lambda-in-generic", () => new Host<string>().Start(1.5));
        Scene.Actor("lambda-in-constructor", () => GC.KeepAlive(new WithInitializer()));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Run(Action action) => action();

    private static void GenericLambda<T>(T value) => Run(() => { GC.KeepAlive(value); Scene.Park(); });

    private sealed class Host<T>
    {
        public void Start<TOther>(TOther value) => Run(() => { GC.KeepAlive(value); GC.KeepAlive(this); Scene.Park(); });
    }

    private sealed class WithInitializer
    {
        private readonly int _value = new Func<int>(() => { Scene.Park(); return 1; })();

        public WithInitializer() => GC.KeepAlive(_value);
    }
}
