namespace Shop;

/// <summary>Methods that keep parameters and local variables while they wait, which a thread of this name waits for.</summary>
internal sealed class Kept
{
    private readonly string _label = "kept";

    private async Task<int> GetOrder(int order, string customer, double price, Task<int> on)
    {
        int[] items = [1, 2, 3];
        long number = order * 3L;
        string note = customer + "!";
        int row = await Load("key", on);
        return items.Length + (int)number + note.Length + row + (int)price + _label.Length;
    }

    private static async Task<int> Load(string key, Task<int> on)
    {
        List<string> seen = [key];
        int sum = 0;
        for (int attempt = 3; attempt < 5; attempt++)
        {
            Guid id = Guid.NewGuid();
            sum += await on;
            seen.Add(id.ToString());
        }
        foreach (string one in seen)
        {
            int length = one.Length;
            sum += length + await on;
        }
        return sum;
    }

    public static void Begin(Task<int> never)
    {
        Thread waiter = new(() => new Kept().GetOrder(4711, "Mr. Q", 12.5, never).Wait()) { IsBackground = true, Name = "waiter" };
        waiter.Start();
        while ((waiter.ThreadState & ThreadState.WaitSleepJoin) == 0)
        {
            Thread.Sleep(1);
        }
    }
}
