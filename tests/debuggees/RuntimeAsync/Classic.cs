using System.Runtime.CompilerServices;

namespace Shop;

/// <summary>Methods with a state machine, above and below those without one.</summary>
internal static class Classic
{
    [RuntimeAsyncMethodGeneration(false)]
    public static async Task<int> Above(Task<int> row) => await OrderApi.GetOrder(1, row);

    [RuntimeAsyncMethodGeneration(false)]
    public static async Task<int> Below(Task<int> row) => await row;

    public static async Task<int> Between(Task<int> row) => await Below(row) + 1;

    [RuntimeAsyncMethodGeneration(false)]
    public static async Task<int> Around(Task<int> row) => await Between(row);
}
