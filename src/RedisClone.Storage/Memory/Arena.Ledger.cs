using System.Diagnostics;
using System.Text;

namespace RedisClone.Storage.Memory;

/// <summary>
/// In Debug builds, what every live buffer was taken for: tells leaks by their owner, and a buffer freed twice at once.
/// </summary>
public sealed partial class Arena
{
    private Dictionary<uint, (string Owner, int Line)>? _ledger;

    /// <summary>Whether a handle names a live buffer; true for all in a Release build, which keeps no ledger.</summary>
    internal bool IsLive(uint handle) => _ledger is null || _ledger.ContainsKey(handle);

    /// <summary>The live buffers, but those that are expected, counted by the line that took them.</summary>
    internal string DescribeLive(IReadOnlySet<uint> expected)
    {
        var text = new StringBuilder();
        foreach (IGrouping<(string File, int Line), uint> owner in (_ledger ?? []).Where(pair => !expected.Contains(pair.Key))
            .GroupBy(pair => pair.Value, pair => pair.Key).OrderByDescending(group => group.Count()))
            text.AppendLine($"{owner.Count()} buffers of {Path.GetFileName(owner.Key.File)}, line {owner.Key.Line}");
        return text.ToString();
    }

    [Conditional("DEBUG")]
    private void Enter(uint handle, string owner, int line) => (_ledger ??= []).Add(handle, (owner, line));

    [Conditional("DEBUG")]
    private void Leave(uint handle)
    {
        if (_ledger is null || !_ledger.Remove(handle)) Refuse();
    }

    [Conditional("DEBUG")]
    private void Poison(uint handle, int length) => Bytes(handle, length).Fill(0xDD);
}
