// The least a dump of an older runtime must cope with: threads blocked below managed code, one spinning in it.
int inPlace = 0;
Start("sleeper", () => Park(10));
Start("waiter", () =>
{
    Interlocked.Increment(ref inPlace);
    new SemaphoreSlim(0).Wait();
});
Start("spinner", () =>
{
    Interlocked.Increment(ref inPlace);
    for (ulong x = 1; x != 0; x = x * 3 | 1)
    {
    }
});
while (Volatile.Read(ref inPlace) < 3)
{
    Thread.Sleep(5);
}
Thread.Sleep(50);
Console.WriteLine($"READY {Environment.ProcessId}");
Console.In.ReadToEnd();
Thread.Sleep(Timeout.Infinite);

void Start(string name, Action body) => new Thread(() => body()) { Name = name, IsBackground = true }.Start();

void Park(int depth)
{
    if (depth > 0)
    {
        Park(depth - 1);
        return;
    }
    Interlocked.Increment(ref inPlace);
    Thread.Sleep(Timeout.Infinite);
}
