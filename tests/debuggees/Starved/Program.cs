// A web service that starves: every request waits on a pool thread for something asynchronous that needs one.
using System.Net;
using System.Runtime.CompilerServices;

namespace Starved;

internal sealed class PriceService
{
    private readonly SemaphoreSlim _rows = new(0);

    // Small enough to be inlined wherever it is called.
    public decimal GetPrice(int id) => LoadAsync(id).Result;

    private async Task<decimal> LoadAsync(int id)
    {
        await Task.Yield();
        return await ReadRowAsync(id);
    }

    private async Task<decimal> ReadRowAsync(int id)
    {
        await _rows.WaitAsync();
        return id;
    }
}

internal sealed class Reports
{
    private readonly object _gate = new();

    [MethodImpl(MethodImplOptions.NoInlining)]
    public string Build(string name)
    {
        lock (_gate)
        {
            return name;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public void HoldForEver(ManualResetEventSlim held)
    {
        lock (_gate)
        {
            held.Set();
            Thread.Sleep(Timeout.Infinite);
        }
    }
}

internal static class Program
{
    private static void Main(string[] arguments)
    {
        int requests = int.Parse(arguments[0]), reports = int.Parse(arguments[1]);
        WebApplicationBuilder builder = WebApplication.CreateBuilder([]);
        builder.Logging.ClearProviders();
        builder.WebHost.ConfigureKestrel(options => options.Listen(IPAddress.Loopback, 0));
        WebApplication app = builder.Build();
        PriceService prices = new();
        Reports books = new();
        app.MapGet("/price/{id}", (int id) => prices.GetPrice(id));
        app.MapGet("/report/{name}", (string name) => books.Build(name));
        app.MapGet("/", () => "alive");
        // Each request comes the same way from here on, whether its bytes were there already or came late.
        app.Use(async (HttpContext context, RequestDelegate next) =>
        {
            await Task.Yield();
            await next(context);
        });
        ThreadPool.SetMinThreads(requests + reports + 2, 4);
        using ManualResetEventSlim held = new();
        new Thread(() => books.HoldForEver(held)) { IsBackground = true, Name = "holder" }.Start();
        held.Wait();
        app.Start();
        Console.WriteLine($"READY {new Uri(app.Urls.First()).Port}");
        app.WaitForShutdown();
    }
}
