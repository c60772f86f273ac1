using System.Data;
using System.Data.Common;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;

namespace Values;

/// <summary>A database whose commands never end.</summary>
internal sealed class SlowCommand(string text) : DbCommand
{
    private string _commandText = text;

    [System.Diagnostics.CodeAnalysis.AllowNull]
    public override string CommandText
    {
        get => _commandText;
        set => _commandText = value ?? "";
    }

    public override int CommandTimeout { get; set; }
    public override CommandType CommandType { get; set; }
    public override bool DesignTimeVisible { get; set; }
    public override UpdateRowSource UpdatedRowSource { get; set; }
    protected override DbConnection? DbConnection { get; set; }
    protected override DbParameterCollection DbParameterCollection => throw new NotSupportedException();
    protected override DbTransaction? DbTransaction { get; set; }

    public override void Cancel()
    {
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public override int ExecuteNonQuery()
    {
        Truth.Park();
        Keep.Objects(this);
        return 0;
    }

    public override object? ExecuteScalar() => null;

    public override void Prepare()
    {
    }

    protected override DbParameter CreateDbParameter() => throw new NotSupportedException();
    protected override DbDataReader ExecuteDbDataReader(CommandBehavior behavior) => throw new NotSupportedException();
}

/// <summary>A web service in the middle of requests, which itself waits for a server that never answers.</summary>
internal static class Requests
{
    private static readonly TaskCompletionSource s_never = new();
    private static readonly ManualResetEventSlim s_closed = new();
    private static readonly List<object> s_kept = [];

    private static string BlockedOn(string name)
    {
        Truth.InPlace();
        s_closed.Wait();
        return name;
    }

    private static async Task<string> Awaits(int id)
    {
        byte[] page = new byte[4_000_000];
        Truth.InPlace();
        await s_never.Task;
        return (id + page.Length).ToString(System.Globalization.CultureInfo.InvariantCulture);
    }

    private static async Task<string> Forwards(HttpClient client, Uri to)
    {
        Truth.InPlace();
        return await client.GetStringAsync(to);
    }

    public static void Run()
    {
        TcpListener silent = new(IPAddress.Loopback, 0);
        silent.Start();
        s_kept.Add(silent);
        int deaf = ((IPEndPoint)silent.LocalEndpoint).Port;
        WebApplicationBuilder builder = WebApplication.CreateBuilder([]);
        builder.Logging.ClearProviders();
        builder.WebHost.ConfigureKestrel(options => options.Listen(IPAddress.Loopback, 0));
        WebApplication app = builder.Build();
        HttpClient client = new() { Timeout = Timeout.InfiniteTimeSpan };
        app.MapGet("/blocked/{name}", (string name) => BlockedOn(name));
        app.MapPost("/awaits/{id}", (int id) => Awaits(id));
        app.MapGet("/forwards", () => Forwards(client, new Uri($"http://127.0.0.1:{deaf}/prices?of=everything")));
        ThreadPool.SetMinThreads(16, 4);
        app.Start();
        Uri own = new(app.Urls.First());
        // Five in all: three requests, a client on a thread, a command.
        Truth.Expect(5);
        foreach ((string method, string path) in new[] { ("GET", "/blocked/coffee?size=2"), ("POST", "/awaits/7"), ("GET", "/forwards") })
        {
            TcpClient raw = new();
            raw.Connect(IPAddress.Loopback, own.Port);
            string body = method == "POST" ? "Content-Length: 0\r\n" : "";
            raw.GetStream().Write(System.Text.Encoding.ASCII.GetBytes($"{method} {path} HTTP/1.1\r\nHost: here\r\n{body}\r\n"));
            s_kept.Add(raw);
        }
        new Thread(() =>
        {
            using HttpRequestMessage message = new(HttpMethod.Put, $"http://127.0.0.1:{deaf}/orders/12");
            Truth.InPlace();
            Keep.Objects(client.Send(message));
        }) { IsBackground = true, Name = "client" }.Start();
        new Thread(() => new SlowCommand("DELETE FROM Orders WHERE Id = 99").ExecuteNonQuery())
        {
            IsBackground = true, Name = "database"
        }.Start();
        Truth.AwaitAll();
        Console.WriteLine($"TRUTH ports {own.Port} {deaf}");
    }
}
